"""The fast decoder: one stretch of the event list, as JSON text, into a batch of columns.

msgspec splits the events and reads their few fixed keys, whatever the layout; the argument objects stay text, which
:mod:`tracelens_tui.ingest.arguments` reads.  Both are strict: a stretch that is no list of events with numbers where
numbers belong is refused, never guessed at.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.arguments import SEPARATOR, RawArgs, arguments_of, object_of
from tracelens_tui.ingest.dictionary import codes_by_appearance
from tracelens_tui.ingest.document import Stretch
from tracelens_tui.ingest.exact import floats_do, ns_of_floats, ns_of_texts
from tracelens_tui.ingest.numbers import integer
from tracelens_tui.ingest.objects import text_of
from tracelens_tui.ingest.records import (
    ARGS_KEYS,
    FLOW_CATEGORIES,
    LABEL_RECORD,
    LABELS,
    Batch,
    args_group,
)

_ABSENT = msgspec.Raw(b"")
_GROUPS = tuple(group for group, keys in ARGS_KEYS.items() if keys)
_BARE = "python_function"  # most events of a trace; of its kind no arguments are read


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


@dataclass(frozen=True, slots=True)
class Split:
    """Events whose fixed keys are columns while their arguments are text; :func:`batch_of_split` reads those."""

    phases: Counter[str]
    categories: list[str]
    events: pl.DataFrame
    args: list[RawArgs]
    flows: pl.DataFrame
    labels: pl.DataFrame
    rounded: int
    repaired: int


@dataclass(slots=True)
class _Pile:
    """The fixed keys of events as they come, stretch after stretch, each list turned into a column while it is hot."""

    exact: bool  # times are kept as text
    texts: list[Stretch] = field(default_factory=list)
    size: int = 0  # bytes of the texts
    objects: int = 0
    uids: list[NDArray[np.int64]] = field(default_factory=list)
    categories: list[pl.Series] = field(default_factory=list)
    names: list[pl.Series] = field(default_factory=list)
    pids: list[pl.Series] = field(default_factory=list)
    tids: list[pl.Series] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)
    durations: list[Any] = field(default_factory=list)
    args: dict[str, list[bytes]] = field(default_factory=lambda: {group: [] for group in _GROUPS})
    args_of: dict[str, list[NDArray[np.int64]]] = field(default_factory=lambda: {group: [] for group in _GROUPS})
    spans: int = 0  # events of phase "X"
    others: list[Any] = field(default_factory=list)  # events of other phases than "X"

    def add(self, stretch: Stretch, events: list[Any]) -> None:
        phases = [event.ph for event in events]
        if None in phases:
            events = [event for event in events if event.ph is not None]
            phases = [event.ph for event in events]
        spans = [event for event in events if event.ph == "X"]
        if len(spans) == len(events):
            self.uids.append(np.arange(self.objects, self.objects + len(events)))
        else:
            positions = [at for at, phase in enumerate(phases, self.objects) if phase == "X"]
            self.uids.append(np.array(positions, np.int64))
            self.others += [event for event in events if event.ph != "X"]
        times = _texts if self.exact else _floats
        categories = [event.cat for event in spans]
        self._add_args(spans, categories)
        self.categories.append(pl.Series(categories, dtype=pl.String))
        self.names.append(pl.Series([event.name for event in spans], dtype=pl.String))
        self.pids.append(_place([event.pid for event in spans]))
        self.tids.append(_place([event.tid for event in spans]))
        self.starts.append(times([event.ts for event in spans]))
        self.durations.append(times([event.dur for event in spans]))
        self.spans += len(spans)
        self.objects += len(events)
        self.texts.append(stretch)
        self.size += len(stretch.text)

    def _add_args(self, spans: list[Any], categories: list[str | None]) -> None:
        """Keep the argument objects by the group of keys that is wanted of them."""
        rows: dict[str, list[int]] = {group: [] for group in ARGS_KEYS}
        for row in [row for row, category in enumerate(categories) if category != _BARE]:
            event = spans[row]
            if event.args is not _ABSENT:
                rows[args_group(event.cat or "", event.name)].append(row)
        for group in _GROUPS:
            if rows[group]:
                self.args[group].append(SEPARATOR.join([spans[row].args for row in rows[group]]))
                self.args_of[group].append(np.array(rows[group], np.int64) + self.spans)


class FastDecoder:
    """Splits the events of stretch after stretch of one file and piles them up until it is worth making columns.

    Small stretches are split at once, since their objects fit the processor's caches; large piles are turned into
    columns, since every call costs.  The file's first stretch is read by its digits.  If it shows times of at most ns
    resolution, near enough to their zero, later ones are read as floats, which is checked value by value.
    """

    def __init__(self, enough: int) -> None:
        """A pile of ``enough`` bytes is :attr:`full`."""
        self._by_digits = msgspec.json.Decoder(list[_Event])
        self._by_floats = msgspec.json.Decoder(list[_FloatEvent])
        self._enough = enough
        self._first = True
        self._floats = False
        self._pile = _Pile(exact=True)

    @property
    def full(self) -> bool:
        """Whether the pile should be taken: it is large, or it is the first one, from which the reader learns."""
        return self._first or self._pile.size >= self._enough

    def add(self, stretch: Stretch) -> None:
        """Split a stretch and put its events on the pile; raises :class:`Refused` and leaves the pile as it was."""
        self._put(self._pile, stretch)

    def take(self) -> Split | None:
        """Return what was piled up, if anything, and begin anew."""
        pile = self._pile
        if not pile.texts:
            return None
        split = _split(pile)
        if split is None:
            pile = _Pile(exact=True)
            for stretch in self._pile.texts:
                self._put(pile, stretch)
            split = _split(pile)
        assert split is not None
        self._first = False
        unsafe = pile.exact and (split.rounded or not floats_do(split.events["start_ns"]))
        self._pile = _Pile(exact=bool(unsafe))
        return split

    def _put(self, pile: _Pile, stretch: Stretch) -> None:
        try:
            events = (self._by_digits if pile.exact else self._by_floats).decode(stretch.text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused from error
        pile.add(stretch, events)


def batch_of_split(split: Split) -> Batch:
    """Return the batch with the arguments read."""
    parts = [part for raw in split.args for part in arguments_of(raw)]
    return Batch(
        phases=split.phases,
        categories=split.categories,
        events=split.events,
        args=[arguments for arguments, _ in parts],
        flows=split.flows,
        labels=split.labels,
        rounded=split.rounded,
        repaired=split.repaired + sum(repaired for _, repaired in parts),
    )


def _floats(values: list[float | None]) -> NDArray[np.float64]:
    return np.array(values, np.float64)


def _texts(values: list[msgspec.Raw]) -> bytes:
    """The values with a line break after each."""
    return b"\n".join([*values, b""])


def _times(pile: _Pile, parts: list[Any]) -> tuple[pl.Series, int] | None:
    """The times in ns and how many were rounded; None where floats cannot tell."""
    if not pile.exact:
        times = ns_of_floats(np.concatenate(parts))
        return None if times is None else (times, 0)
    lines = b"".join(parts).decode("utf-8", "replace").removesuffix("\n")
    texts = pl.Series([lines]).str.split("\n").explode() if any(parts) else pl.Series([], dtype=pl.String)
    return ns_of_texts(texts)


def _split(pile: _Pile) -> Split | None:
    """The pile as columns; None where its times must be read by their digits."""
    arrows = [event for event in pile.others if event.ph in {"s", "f"} and event.cat in FLOW_CATEGORIES]
    read = _texts if pile.exact else _floats
    start, duration = _times(pile, pile.starts), _times(pile, pile.durations)
    arrow_start = _times(pile, [read([event.ts for event in arrows])])
    if start is None or duration is None or arrow_start is None:
        return None
    category = pl.concat(pile.categories).fill_null("")
    codes, first = codes_by_appearance(category)
    categories = category[first].to_list()
    names = pl.concat(pile.names)
    labels, repaired = _labels(pile.others)
    return Split(
        phases=Counter(event.ph for event in pile.others) + Counter(X=len(names)),
        categories=categories,
        events=pl.DataFrame(
            {
                "uid": np.concatenate(pile.uids),
                "category": codes,
                "name": names,
                "pid": _joined(pile.pids),
                "tid": _joined(pile.tids),
                "start_ns": start[0],
                "dur_ns": duration[0],
            }
        ),
        args=_raw_args(pile),
        flows=pl.DataFrame(
            {
                "id": pl.Series([integer(event.id) for event in arrows], dtype=pl.Int64),
                "finish": pl.Series([event.ph == "f" for event in arrows], dtype=pl.Boolean),
                "pid": _place([event.pid for event in arrows]),
                "tid": _place([event.tid for event in arrows]),
                "start_ns": arrow_start[0],
            }
        ),
        labels=labels,
        rounded=start[1] + duration[1] + arrow_start[1],
        repaired=repaired,
    )


def _joined(parts: list[pl.Series]) -> pl.Series:
    """The parts after another; as text if one is."""
    if any(part.dtype == pl.String for part in parts):
        parts = [part.cast(pl.String) for part in parts]
    return pl.concat(parts)


def _raw_args(pile: _Pile) -> list[RawArgs]:
    return [
        RawArgs(group, bytearray(SEPARATOR).join(texts), np.concatenate(pile.args_of[group]))
        for group, texts in pile.args.items()
        if texts
    ]


def _place(values: list[Any]) -> pl.Series:
    """Process or thread ids as whole numbers, or as text where one is text."""
    try:
        return pl.Series(values, dtype=pl.Int64)
    except (TypeError, OverflowError):
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)


def _labels(events: list[Any]) -> tuple[pl.DataFrame, int]:
    """The names of processes and threads, and how many had bytes that are no UTF-8."""
    rows, repaired = [], 0
    for event in events:
        if event.ph == "M" and event.name in LABELS and event.args is not _ABSENT:
            args, replaced = object_of(bytes(event.args))
            repaired += replaced
            rows.append((event.name, event.pid, event.tid, args.get(LABELS[event.name])))
    texts = [tuple(text_of(value) for value in row) for row in rows]
    return pl.DataFrame(texts, schema=LABEL_RECORD, orient="row"), repaired
