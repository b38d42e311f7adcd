"""What every reader hands over: the events of one stretch of a file, as arrays and local dictionaries."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint32]
Int64 = NDArray[np.int64]
Texts = tuple[str, ...]
K = TypeVar("K", bound=Hashable)

ABSENT: int = int(np.iinfo(np.int64).min)
"""Stands for a number that an event does not have."""


class Coder(dict[K, int]):
    """Numbers distinct keys in the order of their first appearance."""

    def __missing__(self, key: K) -> int:
        number = self[key] = len(self)
        return number

    def codes(self, keys: Iterable[K], count: int) -> Codes:
        """Return the numbers of ``count`` keys."""
        return np.fromiter(map(self.__getitem__, keys), np.uint32, count)


@dataclass(frozen=True, slots=True)
class Rows:
    """Distinct rows of texts, and which events have them."""

    distinct: list[Texts]
    events: Int64  # of the batch
    codes: Codes  # row of ``distinct``, one per entry of ``events``


@dataclass(frozen=True, slots=True)
class Flows:
    """Ends of arrows from launches to GPU work, and from forward to backward ops."""

    id: Int64  # ABSENT: no readable one
    finish: NDArray[np.bool_]
    autograd: NDArray[np.bool_]  # from a forward to a backward op
    place: Codes  # row of Batch.places
    start_ns: Int64  # ABSENT: no readable one


@dataclass(frozen=True, slots=True)
class Batch:
    """The events of one stretch of the event list, without an object per event, so that processes can pass it on."""

    phases: Counter[str]  # "ph" -> objects; their sum is the number of objects that are events
    categories: list[str]
    names: list[str]
    places: list[tuple[str, str]]  # pid and tid
    uid: Int64  # position among the batch's objects
    category: Codes  # row of ``categories``
    name: Codes  # row of ``names``
    place: Codes  # row of ``places``
    start_ns: Int64  # ABSENT: no readable time
    dur_ns: Int64  # ABSENT: none given
    numbers: dict[str, Int64]  # columns of keys.NUMBER_COLUMNS, ABSENT where an event has none
    args: list[Rows]  # columns of keys.ARGS_COLUMNS
    details: list[Rows]  # columns of keys.DETAIL_COLUMNS
    flows: Flows
    labels: list[tuple[str, str, str, str]]  # kind of label, pid, tid, text
    rounded: int = 0  # times that had digits below the nanosecond
    repaired: int = 0  # events with text that had to be mended


def filled(numbers: Iterable[int | None], count: int) -> Int64:
    """Return whole numbers as an array, ABSENT for None."""
    return np.fromiter((ABSENT if number is None else number for number in numbers), np.int64, count)


def place_codes(coder: Coder[tuple[str, str]], pids: list[Any], tids: list[Any]) -> Codes:
    """Return the code of each event's process and thread, which stay the same for long runs of events."""
    count = len(pids)
    pid, tid = np.array(pids), np.array(tids)
    if pid.dtype != np.int64 or tid.dtype != np.int64:  # text, or nothing
        return coder.codes(zip(map(_text, pids), map(_text, tids), strict=True), count)
    starts = np.flatnonzero(np.append(True, (pid[1:] != pid[:-1]) | (tid[1:] != tid[:-1]))[:count])
    first = coder.codes(_int_places(pid[starts].tolist(), tid[starts].tolist()), len(starts))
    return np.repeat(first, np.diff(np.append(starts, count)))


def _int_places(pids: list[int], tids: list[int]) -> Iterator[tuple[str, str]]:
    return ((str(pid), str(tid)) for pid, tid in zip(pids, tids, strict=True))


def _text(value: int | str | None) -> str:
    return "" if value is None else str(value)
