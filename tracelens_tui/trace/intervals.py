"""Interval algebra on int64 nanoseconds, vectorised.

An interval is half-open, ``[start, end)``; intervals of zero or negative length hold no time.  Every function takes
plain arrays in any order and copes with overlap.
"""

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Intervals = tuple[Int64, Int64]
"""Starts and ends of disjoint intervals in ascending order that do not touch."""

_SAFE = 1 << 62


def union(start: Int64, end: Int64) -> Intervals:
    """Return the union as disjoint intervals in ascending order; touching intervals are merged."""
    start, end = _non_empty(start, end)
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start = start[order]
    reach = np.maximum.accumulate(end[order])
    opens = np.ones(len(start), bool)
    opens[1:] = start[1:] > reach[:-1]
    first = np.flatnonzero(opens)
    return start[first], reach[np.append(first[1:], len(start)) - 1]


def total(start: Int64, end: Int64) -> int:
    """Return the length of the union in ns: each instant counts once."""
    first, last = union(start, end)
    return int((last - first).sum())


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """Return the time that is in ``a`` and not in ``b``."""
    edges, in_a, in_b = _sweep(a, b)
    return _pieces(edges, in_a & ~in_b)


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """Return the time that is in both ``a`` and ``b``."""
    edges, in_a, in_b = _sweep(a, b)
    return _pieces(edges, in_a & in_b)


def gaps(start: Int64, end: Int64) -> Intervals:
    """Return the time between the first start and the last end that no interval covers."""
    first, last = union(start, end)
    return last[:-1], first[1:]


def covered(intervals: Intervals, time: Int64) -> Int64:
    """Return how many ns of disjoint ascending intervals lie before each time."""
    start, end = intervals
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(end - start)))
    place = np.searchsorted(start, time, "right")
    beyond = np.where(place > 0, np.concatenate((np.zeros(1, np.int64), end))[place] - time, 0)
    return before[place] - np.maximum(beyond, 0)


def segmented_union(group: NDArray[np.integer], start: Int64, end: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the unions of every group as ``(group, start, end)``, by group and start.

    Groups are numbers >= 0; they may own overlapping intervals.
    """
    keep = end > start
    owner, start, end = np.asarray(group)[keep].astype(np.int64), start[keep], end[keep]
    if not len(start):
        return owner, start, end
    low, high = int(start.min()), int(end.max())
    if (int(owner.max()) + 1) * (high - low + 1) < _SAFE:
        return _shifted_union(owner, start - low, end - low, high - low + 1, low)
    # too wide to lay the groups side by side in 63 bits: count in edges instead of nanoseconds
    edges = np.unique(np.concatenate((start, end)))
    labels, dense = np.unique(owner, return_inverse=True)
    found, first, last = _shifted_union(
        dense.reshape(-1), np.searchsorted(edges, start), np.searchsorted(edges, end), len(edges) + 1, 0
    )
    return labels[found], edges[first], edges[last]


def segmented_union_length(group: NDArray[np.integer], start: Int64, end: Int64, n_groups: int) -> Int64:
    """Return the length in ns of the union of each group's intervals, for the groups ``0 .. n_groups - 1``."""
    owner, first, last = segmented_union(group, start, end)
    return _sum_by(owner, last - first, n_groups)


def exposure(
    row: NDArray[np.integer], stream: NDArray[np.integer], start: Int64, end: Int64, n_rows: int
) -> NDArray[np.float64]:
    """Return for each row the ns in which no other stream is busy with another row's work.

    All events must be of one device.  ``row`` numbers the owners from 0; -1 is work of no row that still keeps its
    stream busy.  Where several rows are busy on one and the same stream, which no healthy trace has, they share that
    time equally.  The sum over all rows never exceeds the busy time.
    """
    owner = np.asarray(row).astype(np.int64)
    owner = np.where(owner < 0, n_rows, owner)
    lane = np.unique(stream, return_inverse=True)[1].reshape(-1)
    row_of, row_start, row_end = segmented_union(owner, start, end)
    _, lane_start, lane_end = segmented_union(lane, start, end)
    if not len(row_of):
        return np.zeros(n_rows)
    edges = np.unique(np.concatenate((row_start, row_end, lane_start, lane_end)))
    rows = _active(edges, row_start, row_end)
    lanes = _active(edges, lane_start, lane_end)
    weight = np.where((rows == 1) | (lanes == 1), 1.0 / np.maximum(rows, 1), 0.0)
    integral = np.concatenate(([0.0], np.cumsum(weight * np.diff(edges))))
    exposed = integral[np.searchsorted(edges, row_end)] - integral[np.searchsorted(edges, row_start)]
    return np.bincount(row_of, weights=exposed, minlength=n_rows + 1)[:n_rows].astype(np.float64)


def _non_empty(start: Int64, end: Int64) -> Intervals:
    keep = end > start
    return (start, end) if keep.all() else (start[keep], end[keep])


def _active(edges: Int64, start: Int64, end: Int64) -> Int64:
    """How many intervals cover each piece between neighbouring edges; every bound is an edge or lies outside."""
    change = np.zeros(len(edges), np.int64)
    np.add.at(change, np.searchsorted(edges, start), 1)
    np.add.at(change, np.searchsorted(edges, end), -1)
    return np.cumsum(change)[:-1]


def _sweep(a: Intervals, b: Intervals) -> tuple[Int64, NDArray[np.bool_], NDArray[np.bool_]]:
    a, b = _non_empty(*a), _non_empty(*b)
    edges = np.unique(np.concatenate((*a, *b)))
    return edges, _active(edges, *a) > 0, _active(edges, *b) > 0


def _pieces(edges: Int64, inside: NDArray[np.bool_]) -> Intervals:
    """The runs of pieces that are inside, as intervals."""
    steps = np.diff(inside.astype(np.int8), prepend=0, append=0)
    return edges[np.flatnonzero(steps == 1)], edges[np.flatnonzero(steps == -1)]


def _shifted_union(owner: Int64, start: Int64, end: Int64, width: int, low: int) -> tuple[Int64, Int64, Int64]:
    """One union over all groups, each shifted to a range of its own (``width`` apart, so that none touch)."""
    shift = owner * width
    first, last = union(start + shift, end + shift)
    group = first // width
    return group, first - group * width + low, last - group * width + low


def _sum_by(group: Int64, value: Int64, n_groups: int) -> Int64:
    out = np.zeros(n_groups, np.int64)
    np.add.at(out, group, value)
    return out
