"""Find the intervals of a thread that cross, and decide how each crossing nests.

Two intervals cross where the later one starts inside the earlier one and ends after it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

TOLERANCE_NS = 1_000
_SHORT_RANGE = 64
_SCANS = 64
"""How many times the length of the file may be read to find the events that cross an earlier one."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What became of the intervals that take part in crossings, in their order."""

    end: Int64  # where the interval ends in the tree
    close: Int64  # position of the event that put an earlier end to it, else beyond all positions
    adopts: Bool  # whether it may have children


def crossing(end: Int64, close: Int64) -> Int64:
    """Return the positions, ascending, of all intervals that cross another one.

    ``end`` and ``close`` are in the order thread, start, longer first; an interval's range of positions is
    ``[its own, close)``.  Where most of a large file crosses, all positions are returned, which is as good to
    :func:`resolve` and bounds the work.
    """
    own = np.arange(len(end))
    outer = np.flatnonzero(close > own + 1)
    crossed = outer[range_max(end, outer + 1, close[outer]) > end[outer]]
    if not len(crossed):
        return crossed
    length = close[crossed] - crossed
    if int(length.sum()) > _SCANS * len(end):
        return own
    later = [_later_short(crossed[length <= _SHORT_RANGE], end, close)]
    later += [p + 1 + np.flatnonzero(end[p + 1 : close[p]] > end[p]) for p in crossed[length > _SHORT_RANGE].tolist()]
    return np.unique(np.concatenate((crossed, *later)))


def _later_short(outer: Int64, end: Int64, close: Int64) -> Int64:
    """The positions in the ranges of ``outer``, which are short, that end after them."""
    length = close[outer] - outer - 1
    owner = np.repeat(outer, length)
    inner = owner + 1 + np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return inner[end[inner] > end[owner]]


def range_max(values: Int64, low: Int64, high: Int64) -> Int64:
    """Return ``max(values[low:high])`` for each pair of bounds; no range may be empty.

    One level of a sparse table is held at a time: level k has the maximum of 2**k values from each position on.
    """
    out = np.empty(len(low), values.dtype)
    level_of = np.frexp((high - low).astype(np.float64))[1] - 1
    by_level = np.argsort(level_of.astype(np.uint8), kind="stable")
    table = values
    done = 0
    for level, count in enumerate(np.bincount(level_of)):
        if level:
            half = 1 << (level - 1)
            table = np.maximum(table[:-half], table[half:])
        asked = by_level[done : done + count]
        out[asked] = np.maximum(table[low[asked]], table[high[asked] - (1 << level)])
        done += int(count)
    return out


def resolve(position: Int64, thread: Int64, start: Int64, end: Int64, annotation: Bool, unfinished: Bool) -> Decisions:
    """Return the decisions for all intervals that cross, given in the order thread, start, longer first.

    Of two crossing intervals:

    * the later one is the younger sibling if it starts less than ``TOLERANCE_NS`` before the earlier one's end and
      ends farther after it; or if one of them is an annotation and they share less than half of it;
    * else the later one is a child, cut at its parent's end.  It has children of its own if it ends less than
      ``TOLERANCE_NS`` after the parent, is an annotation, or never finished; any other end is not to be trusted.

    Intervals that cross nothing never decide anything, so they need not be here.
    """
    cut, adopts = end.tolist(), np.ones(len(position), bool)
    close = np.full(len(position), np.iinfo(np.int64).max)
    starts, length, threads = start.tolist(), (end - start).tolist(), thread.tolist()
    marks, endless = annotation.tolist(), unfinished.tolist()
    stack: list[int] = []
    for i, begin in enumerate(starts):
        if stack and threads[stack[-1]] != threads[i]:
            stack = []
        while stack and begin >= cut[stack[-1]]:
            stack.pop()
        while stack and cut[i] > cut[stack[-1]]:
            top = stack[-1]
            overlap, excess = cut[top] - begin, cut[i] - cut[top]
            shares_little = any(marks[j] and 2 * overlap < length[j] for j in (i, top))
            if shares_little or overlap < min(TOLERANCE_NS, excess):
                close[stack.pop()] = position[i]
            else:
                cut[i] = cut[top]
                adopts[i] = excess < TOLERANCE_NS or marks[i] or endless[i]
        if adopts[i]:
            stack.append(i)
    return Decisions(np.array(cut, np.int64), close, adopts)
