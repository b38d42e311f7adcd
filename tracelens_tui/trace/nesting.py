"""Find the parent of every host event from the times on its thread.

Profilers write intervals, not trees.  Well-formed intervals of one thread either contain each other or do not touch;
real files also hold crossings: clock jitter, annotations that start inside the frame that announces them, frames whose
length includes a wait for the device.  No crossing event is dropped; :func:`resolve` decides what becomes of it.

Everything but the few crossings is vectorised.  In the order thread, start, longer first, an event owns the positions
from its own up to the first later start that is not before its end; that range is its subtree, the ranges that are
open at a position are its ancestors, and their number is its depth.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.trace.crossings import crossing, resolve

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Spans:
    """The host events of a trace, one entry each, in any order."""

    thread: NDArray[np.integer]
    start: Int64
    end: Int64  # >= start
    rank: NDArray[np.uint8]  # of events with equal bounds the lower rank is the outer one
    annotation: Bool
    unfinished: Bool  # the end was never recorded


@dataclass(frozen=True, slots=True)
class Nesting:
    """The forest over the spans in preorder: thread by thread, by start."""

    order: Int64  # preorder position -> span
    parent: Int32  # preorder position -> preorder position of the parent, -1 for roots
    depth: Int32  # preorder position -> number of ancestors
    size: Int32  # preorder position -> spans in the subtree, itself included


def nest(spans: Spans) -> Nesting:
    """Return the forest of the spans; equal starts put the longer span outside."""
    order = np.lexsort((spans.rank, -spans.end, spans.start, spans.thread))
    start, end = spans.start[order], spans.end[order]
    bounds = np.append(np.flatnonzero(np.diff(spans.thread[order], prepend=-1)), len(order))
    close = _closes(start, end, bounds)
    adopts = np.ones(len(order), bool)
    crossers = crossing(end, close)
    if len(crossers):
        decided = resolve(
            crossers,
            np.searchsorted(bounds, crossers, "right"),
            start[crossers],
            end[crossers],
            spans.annotation[order[crossers]],
            spans.unfinished[order[crossers]],
        )
        close[crossers] = np.minimum(_closes_of(crossers, start, decided.end, bounds), decided.close)
        adopts[crossers] = decided.adopts
        close[crossers[~decided.adopts]] = crossers[~decided.adopts] + 1
    depth = _depths(close, adopts)
    size = close - np.arange(len(order))
    return Nesting(order, _parents(depth), depth, size.astype(np.int32))


def _closes(start: Int64, end: Int64, bounds: Int64) -> Int64:
    """For each position the first later one of its thread that starts at or after its end, or the thread's end."""
    close = np.empty(len(start), np.int64)
    for low, high in pairwise(bounds.tolist()):
        close[low:high] = low + np.searchsorted(start[low:high], end[low:high])
    return np.maximum(close, np.arange(1, len(start) + 1))


def _closes_of(positions: Int64, start: Int64, end: Int64, bounds: Int64) -> Int64:
    """The same for a few ascending positions with ends of their own."""
    close = np.empty(len(positions), np.int64)
    thread = np.searchsorted(bounds, positions, "right") - 1
    runs = np.append(np.flatnonzero(np.diff(thread, prepend=-1)), len(positions))
    for first, last in pairwise(runs.tolist()):
        low, high = bounds[thread[first]], bounds[thread[first] + 1]
        close[first:last] = low + np.searchsorted(start[low:high], end[first:last])
    return np.maximum(close, positions + 1)


def _depths(close: Int64, adopts: Bool) -> Int32:
    """How many of the earlier ranges that take children are open at each position."""
    n = len(close)
    closed = np.bincount(close[adopts], minlength=n + 1)[:n]
    opened = np.cumsum(adopts) - adopts
    return (opened - np.cumsum(closed)).astype(np.int32)


def _parents(depth: Int32) -> Int32:
    """The parents in preorder: one level deeper than the position before is its child, else a sibling.

    A sibling has the parent of the nearest earlier position of its depth, because whatever is less deep in between
    would have begun a new run of children.
    """
    first_child = np.diff(depth, prepend=-1) == 1
    key = depth.astype(np.uint16) if depth.max(initial=0) < 1 << 16 else depth  # 16 bits sort by radix
    by_depth = np.argsort(key, kind="stable")
    run = np.maximum.accumulate(np.where(first_child[by_depth], np.arange(len(depth)), 0))
    parent = np.empty(len(depth), np.int32)
    parent[by_depth] = by_depth[run] - 1
    parent[depth == 0] = -1
    return parent
