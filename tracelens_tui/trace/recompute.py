"""What activation checkpointing computes a second time, inside the backward pass.

Where Python stacks were recorded, the frames of ``torch/utils/checkpoint.py`` tell: what runs below them is recomputed,
but for the backward ops that the reentrant form also runs there.

Ops tell it otherwise.  Autograd is off in a backward pass, so the ops below a node have no sequence number; only ops
that are to have gradients themselves have one, and in a backward pass these are forward ops that run again.  A pass
that computes gradients of gradients has such ops too, but then all ops of its nodes, to the last: a node that
recomputes ends with ops that have no number, its own.  What is found in this way is counted apart.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.backward_ops import BackwardOps, backward_ops
from tracelens_tui.trace.processes import processes
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]
Ranges = tuple[Int64, Int64]
"""First positions in the preorder, and the positions after the last."""

_FRAMES = r"(?:^|/)torch/utils/checkpoint\.py\(\d+\): (?:recompute_fn|unpack|backward)$"
"""The function that recomputes: in the form that is not reentrant, in that form before torch 2.0, and in the reentrant
one.  ``unpack_hook`` runs for every saved tensor; the one that recomputes calls ``recompute_fn``."""

_REENTRANT = "CheckpointFunctionBackward"
"""The node of the reentrant form, also of the copies in Megatron and DeepSpeed."""


@dataclass(frozen=True, slots=True)
class Recompute:
    """Which events are recomputation: the host events that run it and the GPU work that they launch.

    ``inferred`` marks those of them that only the ops tell of.  The times are the sums of the durations of GPU events.
    """

    events: Bool
    inferred: Bool
    gpu_ns: int
    inferred_ns: int


def recomputed(trace: Trace, tree: EventTree) -> Recompute:
    """Return what is recomputed; no event is marked where the trace does not tell."""
    found = backward_ops(trace, tree)
    told = _painted(_frames(trace, tree), tree, found)
    inferred = _painted(_inferred(trace, tree, found), tree, found) & ~told
    gpu = np.isin(trace.events["kind"].to_numpy(), GPU_KINDS)
    dur = trace.events["dur_ns"].to_numpy()
    sure_ns, inferred_ns = (int(dur[gpu & marks].sum()) for marks in (told, inferred))
    return Recompute(told | inferred, inferred, sure_ns + inferred_ns, inferred_ns)


def _frames(trace: Trace, tree: EventTree) -> Ranges:
    """The subtrees of the Python functions that recompute."""
    named = trace.names.str.contains(_FRAMES).to_numpy()[trace.events["name"].to_numpy()]
    frame = np.flatnonzero(named & (trace.events["kind"].to_numpy() == Kind.PYTHON_FUNCTION))
    first = tree.position[frame].astype(np.int64)
    return first, first + tree.size[frame]


def _painted(ranges: Ranges, tree: EventTree, found: BackwardOps) -> Bool:
    """Which events lie in the ranges, and in no backward op inside of them unless a range lies in that again."""
    first, end = ranges
    paint = np.zeros(len(tree.order), bool)
    for low, high in zip(first.tolist(), end.tolist(), strict=True):
        paint[low:high] = True
    engine = tree.position[np.flatnonzero(found.engine)]
    engine = engine[paint[engine]]
    if len(engine):
        size = tree.size[tree.order[engine]]
        start, stop = np.concatenate((first, engine)), np.concatenate((end, engine + size))
        for one in np.lexsort((-stop, start)).tolist():  # the outer ones first
            paint[start[one] : stop[one]] = one < len(first)
    marks = np.empty_like(paint)
    marks[tree.order] = paint
    return marks


def _inferred(trace: Trace, tree: EventTree, found: BackwardOps) -> Ranges:
    """What the nodes that recompute run, up to the last op with a number."""
    if not found.node.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    children = _children_of_nodes(trace, tree, found)
    forward = pl.col("sequence") >= 0
    nodes = children.group_by("node").agg(
        process=pl.col("process").first(),
        reentrant=pl.col("reentrant").first(),
        end=pl.col("end").filter(forward).max(),  # None: computes gradients and nothing else
        other=pl.col("end").filter(~forward).max(),
    )
    usual = (pl.col("end").is_null().sum() >= (pl.col("other").is_null() & ~pl.col("reentrant")).sum()).over("process")
    told = pl.col("reentrant") | ((pl.col("other") > pl.col("end")) & usual)
    chosen = nodes.filter(told & pl.col("end").is_not_null())
    first = tree.position[chosen["node"].to_numpy()].astype(np.int64) + 1
    return first, chosen["end"].to_numpy()


def _children_of_nodes(trace: Trace, tree: EventTree, found: BackwardOps) -> pl.DataFrame:
    """The ops next below the nodes: ``node``, ``process``, ``reentrant`` of the node, ``sequence``, ``end``."""
    cpu_op = trace.events["kind"].to_numpy() == Kind.CPU_OP
    within = _covered(tree, np.flatnonzero(found.node))
    op = np.flatnonzero(cpu_op & within & ~found.node & ~found.engine)
    node = _enclosing(tree, op, cpu_op)
    op, node = op[found.node[node]], node[found.node[node]]
    reentrant = trace.names.str.ends_with(_REENTRANT).to_numpy()
    return pl.DataFrame(
        {
            "node": node,
            "process": processes(trace)[node],
            "reentrant": reentrant[trace.events["name"].to_numpy()[node]],
            "sequence": trace.events["sequence"].to_numpy()[op],
            "end": tree.position[op].astype(np.int64) + tree.size[op],
        }
    )


def _covered(tree: EventTree, roots: Int64) -> Bool:
    """Which events lie below one of the roots."""
    opened = np.zeros(len(tree.order) + 1, np.int64)
    np.add.at(opened, tree.position[roots] + 1, 1)
    np.add.at(opened, tree.position[roots] + tree.size[roots], -1)
    return np.cumsum(opened)[tree.position] > 0


def _enclosing(tree: EventTree, events: Int64, wanted: Bool) -> Int64:
    """The innermost wanted event around each event, all of which have one."""
    above = tree.parent[events].astype(np.int64)
    while not (ready := wanted[above]).all():
        above[~ready] = tree.parent[above[~ready]]
    return above
