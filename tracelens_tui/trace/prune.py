"""Take events out of a trace and its tree; what stays keeps its place under its parents."""

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.build import child_links
from tracelens_tui.trace.tree import EventTree, Int32, Int64
from tracelens_tui.trace.types import GPU_KINDS, Trace

Bool = NDArray[np.bool_]


def with_ancestors(tree: EventTree, members: Bool) -> Bool:
    """Return which events are members or have a member below them."""
    return _below(tree, members.astype(np.int64)) > 0


def pruned(trace: Trace, tree: EventTree, keep: Bool) -> tuple[Trace, EventTree]:
    """Return the trace with the kept events alone, renumbered, and its tree; repairs of the others go.

    Every kept event's parent must be kept.  Links and nesting are those of the whole: nothing is found anew.
    """
    number = np.cumsum(keep, dtype=np.int32) - np.int32(1)
    repaired = keep[trace.repairs["event"].to_numpy()]
    repairs = trace.repairs.filter(repaired)
    repairs = repairs.with_columns(pl.Series("event", number[repairs["event"].to_numpy()], dtype=pl.UInt32))
    rest = replace(trace, events=trace.events.filter(keep), repairs=repairs)
    return rest, _pruned_tree(trace, tree, keep, number)


def _pruned_tree(trace: Trace, tree: EventTree, keep: Bool, number: Int32) -> EventTree:
    def renumbered(events: Int32) -> Int32:
        kept = events[keep]
        return np.where(kept >= 0, number[kept], np.int32(-1))

    order = number[tree.order[keep[tree.order]]]
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    size = _below(tree, keep.astype(np.int64))[keep].astype(np.int32)
    parent = renumbered(tree.parent)
    gpu = keep & np.isin(trace.events["kind"].to_numpy(), GPU_KINDS)
    first_child, next_sibling = child_links(order, position, size, parent)
    return EventTree(
        parent=parent,
        first_child=first_child,
        next_sibling=next_sibling,
        order=order,
        position=position,
        size=size,
        depth=tree.depth[keep],
        launch=renumbered(tree.launch),
        op=renumbered(tree.op),
        gpu_ns=_below(tree, np.where(gpu, trace.events["dur_ns"].to_numpy(), 0))[keep],
        gpu_count=_below(tree, gpu.astype(np.int64))[keep].astype(np.int32),
    )


def _below(tree: EventTree, weight: Int64) -> Int64:
    """The sum of the weights in the subtree of each event, itself included."""
    before = np.concatenate(([0], np.cumsum(weight[tree.order])))
    start = tree.position.astype(np.int64)
    return before[start + tree.size] - before[start]
