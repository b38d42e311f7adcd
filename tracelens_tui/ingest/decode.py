"""The fast decoder: one stretch of the event list, as JSON text, into a batch.

msgspec splits the events and reads their few fixed keys, whatever the layout; the argument objects stay text, which
:mod:`tracelens_tui.ingest.arguments` reads.  Both are strict: a stretch that is no list of events with numbers where
numbers belong is refused, never guessed at.  Imports neither polars nor the Trace, so that a process starts quickly.
"""

from collections import Counter
from itertools import compress
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracelens_tui.ingest.arguments import ArgumentReader, Found, nothing_found
from tracelens_tui.ingest.batch import Batch, Coder, Codes, Flows, Int64, filled, place_codes
from tracelens_tui.ingest.exact import floats_do, ns_of_floats, ns_of_texts
from tracelens_tui.ingest.keys import (
    ARGS_KEYS,
    AUTOGRAD_FLOW,
    COLLECTIVE_OP,
    FLOW_CATEGORIES,
    LABELS,
    args_group,
)
from tracelens_tui.ingest.numbers import identifier
from tracelens_tui.ingest.texts import Unreadable, text_of, value_of

_ABSENT = msgspec.Raw(b"")
_GROUPS = tuple(group for group, keys in ARGS_KEYS.items() if keys)
_Text = bytes | memoryview


class _Event(msgspec.Struct, gc=False):
    """The fixed keys of an event; times as text, so that no digit is lost."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: msgspec.Raw = _ABSENT
    dur: msgspec.Raw = _ABSENT
    id: int | str | None = None
    args: msgspec.Raw = _ABSENT


class _FloatEvent(msgspec.Struct, gc=False):
    """The same with times as floats: faster, and right where :func:`ns_of_floats` gives an answer."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    id: int | str | None = None
    args: msgspec.Raw = _ABSENT


class Refused(Exception):
    """The text is not what the fast decoder reads; the tolerant decoder takes over."""


class FastDecoder:
    """Decodes stretch after stretch.

    The first one is read by its digits.  If it shows times of at most ns resolution, near enough to their zero, later
    ones are read as floats, which is checked value by value.
    """

    def __init__(self, *, floats: bool = False) -> None:
        """With ``floats``, a first stretch has been seen, and floats do."""
        self.floats = floats
        self._first = not floats
        self._by_digits = msgspec.json.Decoder(list[_Event])
        self._by_floats = msgspec.json.Decoder(list[_FloatEvent])
        self._arguments = ArgumentReader()

    def decode(self, text: _Text) -> Batch:
        """Return the batch of a stretch, the text of an array of events; raises :class:`Refused`."""
        try:
            batch = self._batch(text, floats=True) if self.floats else None
            if batch is None:
                batch = self._batch(text, floats=False)
        except Unreadable as error:
            raise Refused from error
        assert batch is not None
        if self._first:
            self._first = False
            self.floats = not batch.rounded and floats_do(batch.start_ns)
        return batch

    def _batch(self, text: _Text, *, floats: bool) -> Batch | None:
        """The batch; None where its times must be read by their digits."""
        try:
            _check_utf8(text)
            events = (self._by_floats if floats else self._by_digits).decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused from error
        spans, others, uid, phases = _parted(events)
        arrows = [event for event in others if event.ph in {"s", "f"} and event.cat in FLOW_CATEGORIES]
        times = [
            _ns([event.ts for event in spans], floats=floats),
            _ns([event.dur for event in spans], floats=floats),
            _ns([event.ts for event in arrows], floats=floats),
        ]
        start, duration, arrow_start = times
        if start is None or duration is None or arrow_start is None:
            return None
        categories: Coder[str] = Coder()
        names: Coder[str] = Coder()
        places: Coder[tuple[str, str]] = Coder()
        category = categories.codes([event.cat or "" for event in spans], len(spans))
        name = names.codes([event.name or "" for event in spans], len(spans))
        found = self._found(spans, _groups(categories, category, names.get(COLLECTIVE_OP), name))
        return Batch(
            phases=phases,
            uid=uid,
            place=place_codes(places, [event.pid for event in spans], [event.tid for event in spans]),
            category=category,
            name=name,
            start_ns=start[0],
            dur_ns=duration[0],
            numbers=found.numbers,
            args=found.args,
            details=found.details,
            flows=_flows(arrows, arrow_start[0], places),
            labels=_labels(others),
            categories=list(categories),
            names=list(names),
            places=list(places),
            rounded=sum(rounded for _, rounded in (start, duration, arrow_start)),
        )

    def _found(self, spans: list[Any], groups: NDArray[np.int8]) -> Found:
        """What the arguments hold that are wanted of each event's group."""
        found = nothing_found(len(spans))
        for number, group in enumerate(_GROUPS):
            rows = [row for row in np.flatnonzero(groups == number).tolist() if spans[row].args is not _ABSENT]
            if rows:
                self._arguments.read(group, [spans[row].args for row in rows], np.array(rows), found)
        return found


def _check_utf8(text: _Text) -> None:
    """Raise UnicodeDecodeError where the text is no UTF-8: msgspec looks only at what it reads."""
    content = bytes(text)
    if not content.isascii():
        content.decode("utf-8")


def _ns(values: list[Any], *, floats: bool) -> tuple[Int64, int] | None:
    """The times in ns and how many were rounded; None where floats cannot tell."""
    if not floats:
        return ns_of_texts(values)
    times = ns_of_floats(values)
    return None if times is None else (times, 0)


def _parted(events: list[Any]) -> tuple[list[Any], list[Any], Int64, Counter[str]]:
    """The events of phase "X", the others, where the first are among all, and how many there are of each phase."""
    phases = [event.ph for event in events]
    spans = phases.count("X")
    if spans == len(events):
        return events, [], np.arange(spans), Counter(X=spans)
    if None in phases:  # no event at all
        events = [event for event, phase in zip(events, phases, strict=True) if phase is not None]
        phases = [phase for phase in phases if phase is not None]
    timed = [phase == "X" for phase in phases]
    others = [event for event, is_timed in zip(events, timed, strict=True) if not is_timed]
    return list(compress(events, timed)), others, np.flatnonzero(timed), Counter(phases)


def _groups(categories: Coder[str], category: Codes, collective: int | None, name: Codes) -> NDArray[np.int8]:
    """The group of argument keys wanted of each event, as a position in ``_GROUPS``; -1 for none."""
    wanted = [args_group(text, None) for text in categories]
    groups = np.array([_GROUPS.index(group) if group in _GROUPS else -1 for group in wanted], np.int8)[category]
    if collective is not None:
        groups[(groups == _GROUPS.index("op")) & (name == collective)] = _GROUPS.index("all")
    return groups


def _flows(arrows: list[Any], start_ns: Int64, places: Coder[tuple[str, str]]) -> Flows:
    return Flows(
        id=_ids([event.id for event in arrows]),
        finish=np.array([event.ph == "f" for event in arrows], bool),
        autograd=np.array([event.cat == AUTOGRAD_FLOW for event in arrows], bool),
        place=place_codes(places, [event.pid for event in arrows], [event.tid for event in arrows]),
        start_ns=start_ns,
    )


def _ids(values: list[int | str | None]) -> Int64:
    ids = np.array(values)
    return ids if ids.dtype == np.int64 else filled(map(identifier, values), len(values))


def _labels(events: list[Any]) -> list[tuple[str, str, str, str]]:
    """The names of processes and threads."""
    labels: list[tuple[str, str, str, str]] = []
    for event in events:
        if event.ph == "M" and event.name in LABELS and event.args is not _ABSENT:
            args = value_of(bytes(event.args))
            value = args.get(LABELS[event.name]) if isinstance(args, dict) else None
            labels.append((event.name, text_of(event.pid) or "", text_of(event.tid) or "", text_of(value) or ""))
    return labels
