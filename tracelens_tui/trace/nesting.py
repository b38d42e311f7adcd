"""Find the parent of every host event from the times on its thread.

Profilers write intervals, not trees.  Well-formed intervals of one thread either contain each other or do not touch;
real files also hold crossings: clock jitter, annotations that start inside the frame that announces them, frames whose
length includes a wait for the device.  No crossing event is dropped:

* an event that reaches less than ``TOLERANCE_NS`` into the next one is its elder sibling, not its parent;
* an annotation and a frame that cross by less than half of the annotation are siblings too;
* an event that ends less than ``TOLERANCE_NS`` after its parent is a child all the same;
* any other crossing event stays under the event it starts in, but takes no children: its end cannot be trusted.
  Annotations, and events whose end was never seen, do take children, up to the end of their parent.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

TOLERANCE_NS = 1_000


@dataclass(frozen=True, slots=True)
class Spans:
    """The host events of a trace, one entry each, in any order."""

    thread: NDArray[np.integer]
    start: Int64
    end: Int64
    rank: NDArray[np.uint8]  # of events with equal bounds the lower rank is the outer one
    annotation: Bool
    open: Bool  # the end was never recorded


@dataclass(frozen=True, slots=True)
class Nesting:
    """The forest over the spans in preorder: thread by thread, by start."""

    order: Int64  # preorder position -> span
    parent: Int32  # preorder position -> preorder position of the parent, -1 for roots
    depth: Int32  # preorder position -> number of ancestors


def nest(spans: Spans) -> Nesting:
    """Return the forest of the spans; equal starts put the longer span outside."""
    order = np.lexsort((spans.rank, -spans.end, spans.start, spans.thread))
    thread = spans.thread[order]
    bounds = np.append(np.flatnonzero(np.diff(thread, prepend=-1)), len(order))
    start, end = spans.start[order].tolist(), spans.end[order].tolist()
    annotation, unseen = spans.annotation[order].tolist(), spans.open[order].tolist()
    parent: list[int] = []
    depth: list[int] = []
    for low, high in pairwise(bounds.tolist()):
        stack: list[int] = []
        ends: list[int] = []
        for i in range(low, high):
            begin, stop = start[i], end[i]
            while ends and begin >= ends[-1]:
                ends.pop()
                stack.pop()
            adopts = True
            while ends and stop > ends[-1]:
                top = stack[-1]
                overlap, excess = ends[-1] - begin, stop - ends[-1]
                if (overlap < TOLERANCE_NS and overlap < excess) or _yields(annotation, end, start, i, top, overlap):
                    ends.pop()
                    stack.pop()
                    continue
                adopts = excess < TOLERANCE_NS or annotation[i] or unseen[i]
                stop = ends[-1]
            parent.append(stack[-1] if stack else -1)
            depth.append(len(stack))
            if adopts:
                stack.append(i)
                ends.append(stop)
    return Nesting(order, np.array(parent, np.int32), np.array(depth, np.int32))


def _yields(annotation: list[bool], end: list[int], start: list[int], i: int, top: int, overlap: int) -> bool:
    return any(annotation[j] and 2 * overlap < end[j] - start[j] for j in (i, top))


def subtree_sizes(nesting: Nesting) -> Int32:
    """Return the number of spans in the subtree of each preorder position, itself included."""
    size = np.ones(len(nesting.parent), np.int32)
    by_depth = np.argsort(nesting.depth, kind="stable")
    bounds = np.searchsorted(nesting.depth[by_depth], np.arange(1, nesting.depth.max(initial=0) + 2))
    for low, high in reversed(list(pairwise(bounds))):
        level = by_depth[low:high]
        np.add.at(size, nesting.parent[level], size[level])
    return size
