"""Batches of events, in file order, into the raw columns of a whole file."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.ingest.batch import Batch, Coder, Codes, Rows, Texts
from tracelens_tui.ingest.columns import Raw, trace_of
from tracelens_tui.ingest.keys import ARGS_COLUMNS, DETAIL_COLUMNS, NUMBER_COLUMNS
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.trace.types import Trace, TraceMetadata

K = TypeVar("K", bound=Hashable)
_Parts = defaultdict[str, list[NDArray[np.generic]]]

_EVENTS = {
    "uid": np.int64,
    "start_ns": np.int64,
    "dur_ns": np.int64,
    **dict.fromkeys(("category", "name", "place", "args", "detail"), np.uint32),
    **dict.fromkeys(NUMBER_COLUMNS, np.int64),
}
_FLOWS = {"id": np.int64, "finish": np.bool_, "autograd": np.bool_, "place": np.uint32, "start_ns": np.int64}


class Assembler:
    """Takes batches in file order and gives the Trace of all of them."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.objects = 0  # objects with a "ph" taken so far
        self._phases: Counter[str] = Counter()
        self._categories: Coder[str] = Coder()
        self._names: Coder[str] = Coder()
        self._places: Coder[tuple[str, str]] = Coder()
        self._args: Coder[Texts] = Coder({("",) * len(ARGS_COLUMNS): 0})
        self._details: Coder[Texts] = Coder({("",) * len(DETAIL_COLUMNS): 0})
        self._events: _Parts = defaultdict(list)
        self._flows: _Parts = defaultdict(list)
        self._labels: list[tuple[str, str, str, str]] = []

    def add(self, batch: Batch) -> None:
        """Take the events of one stretch of the event list."""
        places = _numbers_of(batch.places, self._places)
        events = {
            "uid": batch.uid + self.objects,
            "start_ns": batch.start_ns,
            "dur_ns": batch.dur_ns,
            "category": _numbers_of(batch.categories, self._categories)[batch.category],
            "name": _numbers_of(batch.names, self._names)[batch.name],
            "place": places[batch.place],
            "args": _row_codes(batch.args, self._args, len(batch.uid)),
            "detail": _row_codes(batch.details, self._details, len(batch.uid)),
            **batch.numbers,
        }
        arrows = batch.flows
        flows = {
            "id": arrows.id,
            "finish": arrows.finish,
            "autograd": arrows.autograd,
            "place": places[arrows.place],
            "start_ns": arrows.start_ns,
        }
        for parts, columns in ((self._events, events), (self._flows, flows)):
            for name, column in columns.items():
                parts[name].append(column)
        self._labels += batch.labels
        self._phases.update(batch.phases)
        self.tally.counts["rounded_time"] += batch.rounded
        self.tally.counts["repaired_text"] += batch.repaired
        self.objects += batch.phases.total()

    def finish(self, metadata: TraceMetadata) -> Trace:
        """Return the Trace of all batches; ``metadata`` gets the counts of phases and categories."""
        raw = Raw(
            events=_joined(self._events, _EVENTS),
            categories=list(self._categories),
            names=list(self._names),
            places=list(self._places),
            args=list(self._args),
            details=list(self._details),
            flows=_joined(self._flows, _FLOWS),
            labels=self._labels,
            phases=self._phases,
        )
        return trace_of(raw, metadata, self.tally)


def _numbers_of(keys: Sequence[K], coder: Coder[K]) -> Codes:
    """The whole file's number of each key of a batch."""
    return coder.codes(keys, len(keys))


def _row_codes(rows: list[Rows], coder: Coder[Texts], count: int) -> Codes:
    """The code of each event's row of texts; 0, the empty row, where it has none."""
    codes = np.zeros(count, np.uint32)
    for part in rows:
        codes[part.events] = _numbers_of(part.distinct, coder)[part.codes]
    return codes


def _joined(parts: _Parts, dtypes: dict[str, type[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """Each column in one piece; its parts are let go at once."""
    return {name: np.concatenate([np.empty(0, dtype), *parts.pop(name, [])]) for name, dtype in dtypes.items()}
