"""Build the EventTree: host events nest by time, GPU events hang under the calls that launched them."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.links import last_at_or_before, launch_of
from tracelens_tui.trace.nesting import Nesting, Spans, nest
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, LAUNCH_KINDS, Kind, Trace

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

_OUTER_FIRST = (Kind.USER_ANNOTATION, Kind.PYTHON_FUNCTION, Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)
"""Which kind is the outer one of two events with the same bounds."""

_UNFINISHED_CODES = ("missing_duration", "negative_duration", "duration_overflow")
"""Repairs of host events whose end was never seen."""


@dataclass(frozen=True, slots=True)
class _Columns:
    kind: NDArray[np.uint8]
    start: Int64
    dur: Int64


@dataclass(frozen=True, slots=True)
class _Forest:
    """The host events in preorder, each entry a host position, and the GPU events that hang under them."""

    event: Int64  # host position -> event id
    parent: Int32
    depth: Int32
    size: Int32
    gpu: Int64  # linked GPU event ids, in preorder of the whole tree
    owner: Int64  # host position of the launch of each of them
    after: Int64  # host position that each of them follows in the whole preorder


def build_tree(trace: Trace) -> EventTree:
    """Return the tree of a repaired trace.  Every event has a place: what nothing owns is a root.

    Roots are the outermost host events, thread by thread, then unlinked GPU events and all other events by start.
    """
    n = len(trace)
    columns = _Columns(*(trace.events[name].to_numpy() for name in ("kind", "start_ns", "dur_ns")))
    launch = launch_of(trace)
    forest = _forest(trace, columns, launch)
    rest = _by_start(np.flatnonzero(_unplaced(n, forest)), columns)
    order = _order(n, forest, rest)
    position = np.empty(n, np.int32)
    position[order] = np.arange(n, dtype=np.int32)
    parent = launch.copy()
    parent[forest.event] = np.where(forest.parent >= 0, forest.event[forest.parent], -1)
    depth = np.zeros(n, np.int32)
    depth[forest.event] = forest.depth
    depth[forest.gpu] = forest.depth[forest.owner] + 1
    size, gpu_ns, gpu_count = _sums(n, forest, columns)
    first_child, next_sibling = child_links(order, position, size, parent)
    return EventTree(
        parent=parent,
        first_child=first_child,
        next_sibling=next_sibling,
        order=order,
        position=position,
        size=size,
        depth=depth,
        launch=launch,
        op=_ops(forest, columns, launch),
        gpu_ns=gpu_ns,
        gpu_count=gpu_count,
    )


def _forest(trace: Trace, columns: _Columns, launch: Int32) -> _Forest:
    host = np.flatnonzero(np.isin(columns.kind, HOST_KINDS))
    nesting = nest(_spans(trace, host, columns))
    event = host[nesting.order]
    position = np.full(len(trace), -1, np.int64)
    position[event] = np.arange(len(event))
    gpu = np.flatnonzero(launch >= 0)
    owner = position[launch[gpu]]
    after = _followed(nesting, columns.start[event], owner, columns.start[gpu])
    # under one position the deeper launch comes first: it closes before the launch around it goes on
    order = np.lexsort((-columns.dur[gpu], columns.start[gpu], -nesting.depth[owner], after))
    return _Forest(event, nesting.parent, nesting.depth, nesting.size, gpu[order], owner[order], after[order])


def _spans(trace: Trace, host: Int64, columns: _Columns) -> Spans:
    rank_of_kind = np.zeros(max(Kind) + 1, np.uint8)
    rank_of_kind[list(_OUTER_FIRST)] = np.arange(len(_OUTER_FIRST))
    kind, start = columns.kind[host], columns.start[host]
    unseen = trace.repairs.filter(pl.col("code").is_in(_UNFINISHED_CODES))["event"].to_numpy()
    return Spans(
        thread=trace.events["thread"].to_numpy()[host],
        start=start,
        end=start + columns.dur[host],
        rank=rank_of_kind[kind],
        annotation=kind == Kind.USER_ANNOTATION,
        unfinished=np.isin(host, unseen),
    )


def _followed(nesting: Nesting, start: Int64, owner: Int64, gpu_start: Int64) -> Int64:
    """The host position that each GPU event comes after: its launch, or the last host event below it that is earlier.

    Calls that launch and also hold other host events are rare; their children are sorted by start like all others.
    """
    after = owner.copy()
    wide = np.flatnonzero(nesting.size[owner] > 1)
    if not len(wide):
        return after
    children = np.flatnonzero(np.isin(nesting.parent, owner[wide]))
    found = last_at_or_before(nesting.parent[children].astype(np.int64), start[children], owner[wide], gpu_start[wide])
    child = children[found[found >= 0]]
    after[wide[found >= 0]] = child + nesting.size[child] - 1
    return after


def _unplaced(n: int, forest: _Forest) -> NDArray[np.bool_]:
    unplaced = np.ones(n, bool)
    unplaced[forest.event] = False
    unplaced[forest.gpu] = False
    return unplaced


def _by_start(events: Int64, columns: _Columns) -> Int64:
    return events[np.lexsort((-columns.dur[events], columns.start[events]))]


def _order(n: int, forest: _Forest, rest: Int64) -> Int32:
    """Whole preorder: host positions move up by the GPU events before them."""
    order = np.empty(n, np.int32)
    place = np.arange(len(forest.event))
    order[place + np.searchsorted(forest.after, place, "left")] = forest.event
    order[forest.after + 1 + np.arange(len(forest.gpu))] = forest.gpu
    order[n - len(rest) :] = rest
    return order


def _sums(n: int, forest: _Forest, columns: _Columns) -> tuple[Int32, Int64, Int32]:
    """Subtree size, GPU time and GPU events of every event."""
    n_host = len(forest.event)
    count, time = np.zeros(n_host + 1, np.int64), np.zeros(n_host + 1, np.int64)  # of the host positions before
    np.add.at(count, forest.owner + 1, 1)
    np.add.at(time, forest.owner + 1, columns.dur[forest.gpu])
    count, time = np.cumsum(count), np.cumsum(time)
    first, last = np.arange(n_host), np.arange(n_host) + forest.size
    is_gpu = np.isin(columns.kind, GPU_KINDS)
    gpu_ns, gpu_count = np.where(is_gpu, columns.dur, 0), is_gpu.astype(np.int32)
    size = np.ones(n, np.int32)
    size[forest.event] = forest.size + count[last] - count[first]
    gpu_ns[forest.event] = time[last] - time[first]
    gpu_count[forest.event] = count[last] - count[first]
    return size, gpu_ns, gpu_count


def child_links(order: Int32, position: Int32, size: Int32, parent: Int32) -> tuple[Int32, Int32]:
    """Return first child and next sibling of every event, -1 none; roots have no siblings."""
    n = len(order)
    first_child, next_sibling = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    owners = np.flatnonzero(size > 1)
    first_child[owners] = order[position[owners] + 1]
    children = np.flatnonzero(parent >= 0)
    above = parent[children]
    following = position[children] + size[children]
    has_next = following < position[above] + size[above]
    next_sibling[children[has_next]] = order[following[has_next]]
    return first_child, next_sibling


def _ops(forest: _Forest, columns: _Columns, launch: Int32) -> Int32:
    """The innermost cpu_op around every launch and, through it, every GPU event."""
    kind = columns.kind[forest.event]
    op = np.full(len(launch), -1, np.int32)
    waiting = np.flatnonzero(np.isin(kind, LAUNCH_KINDS))
    above = forest.parent[waiting]
    while len(waiting):
        found = (above >= 0) & (kind[above] == Kind.CPU_OP)
        op[forest.event[waiting[found]]] = forest.event[above[found]]
        going = (above >= 0) & ~found
        waiting, above = waiting[going], forest.parent[above[going]]
    linked = launch >= 0
    op[linked] = op[launch[linked]]
    return op
