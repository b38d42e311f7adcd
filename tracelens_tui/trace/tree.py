"""The EventTree: host nesting, launches and the GPU work they own, as arrays over event ids."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EventTree:
    """Arrays of one entry per event (row of ``Trace.events``); -1 means none.

    A GPU event's parent is the launch that owns it; a launch's parent is the innermost host event around it on its
    thread.  Events that have no place (unlinked GPU events, GPU annotations) are roots.  Children sort by start, equal
    starts put the longer event first.
    """

    parent: Int32
    first_child: Int32
    next_sibling: Int32
    order: Int32  # preorder position -> event id
    position: Int32  # event id -> preorder position
    size: Int32  # events in the subtree, itself included: its ids are order[position : position + size]
    depth: Int32
    launch: Int32  # GPU event -> launch event, -1 for unlinked and host events
    op: Int32  # GPU event or launch -> nearest enclosing cpu_op, -1 none
    gpu_ns: Int64  # sum of the durations of GPU events in the subtree, itself included
    gpu_count: Int32  # number of them

    def subtree(self, event: int) -> Int32:
        """Return the ids of the event and everything below it, in preorder."""
        start = int(self.position[event])
        return self.order[start : start + int(self.size[event])]

    def children(self, event: int) -> list[int]:
        """Return the ids of the direct children, by start."""
        out: list[int] = []
        child = int(self.first_child[event])
        while child >= 0:
            out.append(child)
            child = int(self.next_sibling[child])
        return out

    def ancestors(self, event: int) -> list[int]:
        """Return the ids from the event's parent to its root."""
        out: list[int] = []
        above = int(self.parent[event])
        while above >= 0:
            out.append(above)
            above = int(self.parent[above])
        return out
