"""The tolerant decoder: one Python object per event, any spelling of a number, nothing assumed.

It is an order of magnitude slower than :mod:`tracelens_tui.ingest.decode`; tests use it, and the stretches of a file
that the fast path refuses.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from tracelens_tui.ingest.arguments import add_objects, nothing_found
from tracelens_tui.ingest.assemble import Assembler
from tracelens_tui.ingest.batch import Batch, Coder, Flows, filled
from tracelens_tui.ingest.keys import ARGS_KEYS, AUTOGRAD_FLOW, FLOW_CATEGORIES, LABELS, args_group
from tracelens_tui.ingest.metadata import metadata_of
from tracelens_tui.ingest.numbers import identifier, nanoseconds
from tracelens_tui.ingest.texts import text_of
from tracelens_tui.trace.types import Source, Trace

_BATCH = 50_000


def trace_from_objects(objects: Iterable[Any], *, metadata: Mapping[str, Any] | None = None) -> Trace:
    """Return the Trace of an iterable of Chrome trace events; ``metadata`` holds the other top-level keys of the file.

    Times are exact if the numbers are ints, ``Decimal`` or text.  Objects without a ``ph`` are skipped, events without
    a readable time counted in the quality record; nothing is repaired.
    """
    assembler = Assembler()
    rest: Iterator[Any] = iter(objects)
    while batch := list(islice(rest, _BATCH)):
        assembler.add(batch_of(batch))
    return assembler.finish(metadata_of(metadata or {}, Source(path="", format="kineto", size=0)))


def batch_of(objects: Iterable[Any]) -> Batch:
    """Return the records of the objects that are events; whatever else is among them is skipped."""
    collected = _Collected()
    for item in objects:
        if isinstance(item, Mapping) and item.get("ph") is not None:
            collected.take(item)
    return collected.batch()


class _Collected:
    """The columns of a batch as they come."""

    def __init__(self) -> None:
        self._phases: Counter[str] = Counter()
        self._categories: Coder[str] = Coder()
        self._names: Coder[str] = Coder()
        self._places: Coder[tuple[str, str]] = Coder()
        self._spans: list[tuple[int, int, int, int]] = []  # uid, and codes of category, name and place
        self._starts: list[int | None] = []
        self._durations: list[int | None] = []
        self._args: dict[str, list[Mapping[str, Any]]] = {}
        self._args_of: dict[str, list[int]] = {}
        self._flows: list[tuple[bool, bool, int]] = []  # finish, autograd, place
        self._flow_ids: list[int | None] = []
        self._flow_starts: list[int | None] = []
        self._labels: list[tuple[str, str, str, str]] = []
        self._rounded = 0
        self._taken = 0

    def take(self, event: Mapping[str, Any]) -> None:
        phase = text_of(event["ph"]) or ""
        self._phases[phase] += 1
        if phase == "X":
            self._take_span(event)
        elif phase in {"s", "f"}:
            self._take_flow(event, finish=phase == "f")
        elif phase == "M":
            self._take_label(event)
        self._taken += 1

    def batch(self) -> Batch:
        columns = np.array(self._spans, np.int64).reshape(-1, 4)
        found = nothing_found(len(columns))
        for group, objects in self._args.items():
            add_objects(group, objects, np.array(self._args_of[group], np.int64), found)
        arrows = np.array(self._flows, np.int64).reshape(-1, 3)
        return Batch(
            phases=self._phases,
            categories=list(self._categories),
            names=list(self._names),
            places=list(self._places),
            uid=columns[:, 0].copy(),
            category=columns[:, 1].astype(np.uint32),
            name=columns[:, 2].astype(np.uint32),
            place=columns[:, 3].astype(np.uint32),
            start_ns=filled(self._starts, len(columns)),
            dur_ns=filled(self._durations, len(columns)),
            numbers=found.numbers,
            args=found.args,
            details=found.details,
            flows=Flows(
                id=filled(self._flow_ids, len(arrows)),
                finish=arrows[:, 0].astype(bool),
                autograd=arrows[:, 1].astype(bool),
                place=arrows[:, 2].astype(np.uint32),
                start_ns=filled(self._flow_starts, len(arrows)),
            ),
            labels=self._labels,
            rounded=self._rounded,
        )

    def _take_span(self, event: Mapping[str, Any]) -> None:
        category, name = text_of(event.get("cat")) or "", text_of(event.get("name")) or ""
        group, args = args_group(category, name), event.get("args")
        if isinstance(args, Mapping) and args and ARGS_KEYS[group]:
            self._args_of.setdefault(group, []).append(len(self._spans))
            self._args.setdefault(group, []).append(args)
        self._spans.append((self._taken, self._categories[category], self._names[name], self._place(event)))
        self._starts.append(self._time(event.get("ts")))
        self._durations.append(self._time(event.get("dur")))

    def _take_flow(self, event: Mapping[str, Any], *, finish: bool) -> None:
        category = text_of(event.get("cat"))
        if category in FLOW_CATEGORIES:
            self._flows.append((finish, category == AUTOGRAD_FLOW, self._place(event)))
            self._flow_ids.append(identifier(event.get("id")))
            self._flow_starts.append(self._time(event.get("ts")))

    def _take_label(self, event: Mapping[str, Any]) -> None:
        name, args = text_of(event.get("name")), event.get("args")
        if name in LABELS:
            text = text_of(args.get(LABELS[name])) if isinstance(args, Mapping) else None
            self._labels.append((name, *_pid_and_tid(event), text or ""))

    def _place(self, event: Mapping[str, Any]) -> int:
        return self._places[_pid_and_tid(event)]

    def _time(self, value: Any) -> int | None:  # noqa: ANN401 - decoded JSON
        time, rounded = nanoseconds(value)
        self._rounded += rounded
        return time


def _pid_and_tid(event: Mapping[str, Any]) -> tuple[str, str]:
    return text_of(event.get("pid")) or "", text_of(event.get("tid")) or ""
