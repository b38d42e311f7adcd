"""The tolerant decoder: one Python object per event, any spelling of a number, nothing assumed.

It is an order of magnitude slower than :mod:`tracelens_tui.ingest.decode`; tests use it, and the stretches of a file
that the fast path refuses.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from tracelens_tui.ingest.assemble import Assembler
from tracelens_tui.ingest.metadata import metadata_of
from tracelens_tui.ingest.numbers import integer, nanoseconds
from tracelens_tui.ingest.records import (
    ARGS_KEYS,
    ARGS_RECORD,
    EVENT_RECORD,
    FLOW_CATEGORIES,
    FLOW_RECORD,
    ID_ARGS,
    LABEL_RECORD,
    LABELS,
    TEXT_ARGS,
    Arguments,
    Batch,
    args_group,
)
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
    return Batch(
        phases=collected.phases,
        categories=list(collected.categories),
        events=_frame(collected.events, EVENT_RECORD),
        args=[Arguments(_frame(collected.args, ARGS_RECORD), np.array(collected.args_of, np.int64))],
        flows=_frame(collected.flows, FLOW_RECORD),
        labels=_frame(collected.labels, LABEL_RECORD),
        rounded=collected.rounded,
    )


def _frame(rows: list[tuple[Any, ...]], schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


class _Collected:
    """The rows of a batch as they come."""

    def __init__(self) -> None:
        self.phases: Counter[str] = Counter()
        self.categories: dict[str, int] = {}
        self.events: list[tuple[Any, ...]] = []
        self.args: list[tuple[Any, ...]] = []
        self.args_of: list[int] = []
        self.flows: list[tuple[Any, ...]] = []
        self.labels: list[tuple[Any, ...]] = []
        self.rounded = 0
        self._taken = 0

    def take(self, event: Mapping[str, Any]) -> None:
        phase = text_of(event["ph"]) or ""
        self.phases[phase] += 1
        args = event.get("args")
        args = args if isinstance(args, Mapping) else {}
        if phase == "X":
            self._take_event(event, args)
        elif phase in {"s", "f"}:
            self._take_flow(event, finish=phase == "f")
        elif phase == "M":
            self._take_label(event, args)
        self._taken += 1

    def _take_event(self, event: Mapping[str, Any], args: Mapping[str, Any]) -> None:
        category, name = text_of(event.get("cat")) or "", text_of(event.get("name"))
        group = args_group(category, name)
        if args and ARGS_KEYS[group]:
            self.args_of.append(len(self.events))
            self.args.append(args_row(args, group))
        start, duration = self._time(event.get("ts")), self._time(event.get("dur"))
        place = text_of(event.get("pid")), text_of(event.get("tid"))
        code = self.categories.setdefault(category, len(self.categories))
        self.events.append((self._taken, code, name, *place, start, duration))

    def _take_flow(self, event: Mapping[str, Any], *, finish: bool) -> None:
        if text_of(event.get("cat")) in FLOW_CATEGORIES:
            place = text_of(event.get("pid")), text_of(event.get("tid"))
            self.flows.append((integer(event.get("id")), finish, *place, self._time(event.get("ts"))))

    def _take_label(self, event: Mapping[str, Any], args: Mapping[str, Any]) -> None:
        name = text_of(event.get("name"))
        if name in LABELS:
            place = text_of(event.get("pid")), text_of(event.get("tid"))
            self.labels.append((name, *place, text_of(args.get(LABELS[name]))))

    def _time(self, value: Any) -> int | None:  # noqa: ANN401 - decoded JSON
        time, rounded = nanoseconds(value)
        self.rounded += rounded
        return time


def args_row(args: Mapping[str, Any], group: str) -> tuple[Any, ...]:
    """Return the row of ``ARGS_RECORD`` of an argument object, of which the keys of that group are read."""
    keys = ARGS_KEYS[group]
    numbers = (integer(args.get(key)) if key in keys else None for key in ID_ARGS)
    return (*numbers, *(text_of(args.get(key)) if key in keys else None for key in TEXT_ARGS))


def text_of(value: Any) -> str | None:  # noqa: ANN401 - decoded JSON
    """Return a value as text: strings as they are, whole numbers without a point, lists and objects as JSON text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return _encodable(json.dumps(value, ensure_ascii=False, default=_number))
    return str(value) if isinstance(value, int) else str(_number(value))


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, so that it has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> int | float:  # noqa: ANN401 - decoded JSON
    """A Decimal inside a list, as JSON writes it."""
    whole = integer(value)
    return whole if whole is not None else float(value)
