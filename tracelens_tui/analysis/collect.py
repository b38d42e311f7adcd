"""Which op calls make rows: the topmost modelled op, else the op that launches.

The selection is the one of TraceLens's unified table, made over the tree's preorder arrays: a node's subtree is a
range of positions, so "inside" is a comparison and "has below it" a binary search.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.tree import EventTree, Int32
from tracelens_tui.trace.types import GPU_KINDS, Kind, Role, Trace

Bools = NDArray[np.bool_]
IsModelled = Callable[[str], bool]
"""Whether ops of this name have a perf model."""

_PREPARATION = frozenset({"aten::fill_", "aten::zero_"})
"""Ops that many others call to clear their output: no reason to look into an op that launches its own kernels."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The calls that make rows, and the GPU events that they own.

    ``calls`` are event ids: cpu_ops, or for a synthetic call the GPU event itself.  ``gpu`` are the ids of all GPU
    events of the trace by start; ``gpu_call`` is the index into ``calls`` for each, -1 where it belongs to no call
    (collectives and unlinked events).
    """

    calls: Int32
    synthetic: Bools
    gpu: Int32
    gpu_call: Int32


def select_calls(trace: Trace, tree: EventTree, is_modelled: IsModelled) -> Selection:
    """Return the op calls that make rows.

    From the roots down, a cpu_op that owns GPU work is a call where a perf model knows it; is looked into where one
    is known below it; is a call where it launches GPU work itself and holds no collective; else is looked into.  GPU
    events left over become a call of their own (synthetic).  Collectives and unlinked events belong to no call.
    """
    columns = _Columns.of(trace)
    gpu = columns.gpu_by_start()
    counted = gpu[(columns.role[gpu] != Role.COMM) & (tree.launch[gpu] >= 0)]
    chosen = _topmost(tree, _candidates(columns, trace.names, tree, counted, is_modelled))
    owner = _owner(tree, chosen, gpu)
    owner[~_mask(len(trace), counted)[gpu]] = -1
    left = _mask(len(trace), counted)[gpu] & (owner < 0)
    owner[left] = len(chosen) + np.arange(int(left.sum()), dtype=np.int32)
    calls = np.concatenate([chosen, gpu[left]]).astype(np.int32)
    return Selection(calls, np.arange(len(calls)) >= len(chosen), gpu, owner)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The event columns that the selection reads."""

    kind: NDArray[np.uint8]
    role: NDArray[np.uint8]
    name: NDArray[np.uint32]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, trace: Trace) -> "_Columns":
        events = trace.events
        return cls(*(events[name].to_numpy() for name in ("kind", "role", "name", "start_ns")))

    def gpu_by_start(self) -> Int32:
        ids = np.flatnonzero(np.isin(self.kind, GPU_KINDS)).astype(np.int32)
        return ids[np.argsort(self.start[ids], kind="stable")]


def _candidates(columns: _Columns, names: pl.Series, tree: EventTree, counted: Int32, is_modelled: IsModelled) -> Int32:
    """The cpu_ops that would make a row if nothing above them does, by position."""
    ops = np.flatnonzero(columns.kind == Kind.CPU_OP).astype(np.int32)
    ops = ops[np.argsort(tree.position[ops])]
    ops = ops[_count_below(tree, ops, counted) > 0]
    modelled = _named(columns.name[ops], names, is_modelled)
    launching = _mask(len(columns.kind), tree.op[counted])[ops]
    comm = np.flatnonzero((columns.role == Role.COMM) & (tree.launch >= 0)).astype(np.int32)
    work = modelled & ~_named(columns.name[ops], names, _PREPARATION.__contains__)
    leaf = launching & (_count_below(tree, ops, ops[work]) == 0) & (_count_below(tree, ops, comm) == 0)
    return ops[modelled | leaf]


def _named(codes: NDArray[np.uint32], names: pl.Series, is_modelled: IsModelled) -> Bools:
    """Ask once per distinct name: the name alone decides, so that a row without recorded arguments is kept too."""
    distinct, index = np.unique(codes, return_inverse=True)
    return np.array([is_modelled(str(names[int(code)])) for code in distinct], dtype=np.bool_)[index]


def _count_below(tree: EventTree, ops: Int32, events: Int32) -> NDArray[np.int64]:
    """For each op the number of ``events`` strictly below it."""
    positions = np.sort(tree.position[events])
    start = tree.position[ops]
    return np.searchsorted(positions, start + tree.size[ops]) - np.searchsorted(positions, start, side="right")


def _topmost(tree: EventTree, candidates: Int32) -> Int32:
    """Drop every candidate that lies inside an earlier one; candidates come by position."""
    if len(candidates) == 0:
        return candidates
    start = tree.position[candidates]
    reach = np.maximum.accumulate(start + tree.size[candidates])
    return candidates[np.concatenate([[True], start[1:] >= reach[:-1]])]


def _owner(tree: EventTree, calls: Int32, gpu: Int32) -> Int32:
    """For each GPU event the index of the call whose subtree holds it, -1 none; calls are disjoint, by position."""
    if len(calls) == 0:
        return np.full(len(gpu), -1, dtype=np.int32)
    start = tree.position[calls]
    at = tree.position[gpu]
    index = np.searchsorted(start, at, side="right") - 1
    inside = (index >= 0) & (at < (start + tree.size[calls])[index])
    return np.where(inside, index, -1).astype(np.int32)


def _mask(length: int, ids: Int32) -> Bools:
    """True at ``ids``; negative ids are left out."""
    out = np.zeros(length, dtype=np.bool_)
    out[ids[ids >= 0]] = True
    return out
