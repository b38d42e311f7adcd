"""The event tree in display order: one preorder over all threads, under one heading per thread."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.text import plain
from tracelens_tui.trace.types import Role, Trace

Int32 = NDArray[np.int32]

UNLINKED = "GPU work that no launch owns (unlinked)"
OTHER_GPU = "GPU annotations and others"


@dataclass(frozen=True, slots=True)
class Group:
    """A heading over the roots of one thread, or over what has no place on a host thread."""

    label: str
    gpu_ns: int
    gpu_count: int
    events: int


@dataclass(frozen=True, slots=True)
class TreeData:
    """Arrays over display positions; a heading's ``event`` is ``-1 - group``."""

    event: Int32
    depth: Int32
    size: Int32  # positions in the subtree, itself included
    place: Int32  # event id -> position
    parent: Int32  # event id -> event id, -1 = under a heading
    heads: Int32  # positions of the headings
    groups: tuple[Group, ...]

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.event)

    def children(self, position: int) -> Int32:
        """Return the positions of the direct children."""
        below = self.depth[position + 1 : position + int(self.size[position])]
        return (np.flatnonzero(below == self.depth[position] + 1) + position + 1).astype(np.int32)

    def ancestors(self, position: int) -> list[int]:
        """Return the positions from the heading down to the parent."""
        event = int(self.event[position])
        if event < 0:
            return []
        out: list[int] = []
        above = int(self.parent[event])
        while above >= 0:
            out.append(int(self.place[above]))
            above = int(self.parent[above])
        out.append(int(self.heads[np.searchsorted(self.heads, position, side="right") - 1]))
        return out[::-1]


def tree_data(analysis: Analysis) -> TreeData:
    """Arrange the tree's roots under headings: host threads by the GPU time they launch, then what is unlinked."""
    trace, tree = analysis.trace, analysis.tree
    roots = np.flatnonzero(tree.parent < 0).astype(np.int32)
    labels, group_of = _groups(trace, roots)
    time = np.bincount(group_of, weights=tree.gpu_ns[roots], minlength=len(labels))
    ranks = [(label in {UNLINKED, OTHER_GPU}, label == OTHER_GPU, -time[g], g) for g, label in enumerate(labels)]
    rank = np.empty(len(labels), np.int64)
    rank[[key[-1] for key in sorted(ranks)]] = np.arange(len(labels))
    shown = np.lexsort((tree.position[roots], rank[group_of]))
    roots, group_of = roots[shown], group_of[shown]
    starts, sizes = tree.position[roots].astype(np.int64), tree.size[roots].astype(np.int64)
    groups, heads = _headings(analysis, labels, roots, group_of)
    total = len(trace) + len(heads)
    offsets = np.cumsum(sizes) - sizes
    first_root = np.flatnonzero(np.diff(group_of, prepend=-1))
    position = offsets + np.cumsum(np.isin(np.arange(len(roots)), first_root))
    event = np.empty(total, np.int32)
    depth = np.zeros(total, np.int32)
    size = np.empty(total, np.int32)
    into = np.repeat(position - offsets, sizes) + np.arange(len(trace))
    taken = tree.order[np.repeat(starts - offsets, sizes) + np.arange(len(trace))]
    event[into], depth[into], size[into] = taken, tree.depth[taken] + 1, tree.size[taken]
    head_at = position[first_root] - 1
    event[head_at] = -1 - np.arange(len(heads))
    size[head_at] = heads
    place = np.empty(len(trace), np.int32)
    place[taken] = into
    return TreeData(event, depth, size, place, tree.parent, head_at.astype(np.int32), groups)


def _headings(analysis: Analysis, labels: list[str], roots: Int32, group_of: NDArray[Any]) -> tuple[Any, list[int]]:
    """The groups in display order with their subtree sizes, headings included."""
    tree = analysis.tree
    groups: list[Group] = []
    heads: list[int] = []
    for group in dict.fromkeys(group_of.tolist()):
        mine = roots[group_of == group]
        events = int(tree.size[mine].sum())
        groups.append(Group(labels[group], int(tree.gpu_ns[mine].sum()), int(tree.gpu_count[mine].sum()), events))
        heads.append(events + 1)
    return tuple(groups), heads


def _groups(trace: Trace, roots: Int32) -> tuple[list[str], NDArray[np.int64]]:
    """Label of each group and the group of each root."""
    events = trace.events
    thread = events["thread"].to_numpy()[roots].astype(np.int64)
    role = events["role"].to_numpy()[roots]
    on_gpu = trace.threads["is_gpu"].to_numpy()[thread] | (role != Role.NONE)
    count = trace.threads.height
    code = np.where(role != Role.NONE, count, np.where(on_gpu, count + 1, thread))
    used, group_of = np.unique(code, return_inverse=True)
    labels = [_label(trace, int(one)) for one in used]
    return labels, group_of.astype(np.int64)


def _label(trace: Trace, code: int) -> str:
    """The words of a heading."""
    if code >= trace.threads.height:
        return UNLINKED if code == trace.threads.height else OTHER_GPU
    row = trace.threads.row(code, named=True)
    name = row["thread_name"] or f"thread {row['tid']}"
    process = row["process_name"] or ""
    return plain(f"{name} · {process} pid {row['pid']}" if process else f"{name} · pid {row['pid']}")
