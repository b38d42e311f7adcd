"""A part of a trace for an analysis, and what of the rest touches its numbers."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Elsewhere, Part
from tracelens_tui.analysis.timesplit import time_split
from tracelens_tui.text import duration, plain
from tracelens_tui.trace.intervals import Intervals, intersect, subtract, union
from tracelens_tui.trace.navigate import name_of, origin_ns
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.scoping import annotations_of, scoped
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Trace

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a trace as a trace of its own, and when each device works outside of it and not for it."""

    trace: Trace
    tree: EventTree
    part: Part
    elsewhere: dict[int, Intervals]  # in the window of the part


def excerpt(trace: Trace, tree: EventTree, scope: Scope) -> Excerpt:
    """Return a part of a trace; UserError where it is not in the trace or has no GPU work."""
    own, own_tree = scoped(trace, tree, scope)
    idle, beside = _elsewhere(trace, own)
    part = Part(
        scope=scope,
        title=_title(trace, scope),
        events=len(own),
        all_events=len(trace),
        origin_ns=origin_ns(trace),
        elsewhere={device: Elsewhere(_length(idle[device]), _length(beside[device])) for device in idle},
    )
    return Excerpt(own, own_tree, part, idle)


def elsewhere_sentence(device: int, other: Elsewhere) -> str:
    """Return one sentence on the work outside of the part in its window; "" where there is none."""
    told: list[str] = []
    if other.idle:
        told.append(f"keeps GPU {device} busy for {duration(other.idle)} of its idle time")
    if other.beside:
        told.append(f"overlaps {duration(other.beside)} of its own work on GPU {device}")
    return f"Work outside of the part {' and '.join(told)}." if told else ""


def _title(trace: Trace, scope: Scope) -> str:
    """The part in words, with what only the trace can tell: how many annotations, the name of a node."""
    words = scope.describe()
    if scope.kind == "node":
        event = int(np.flatnonzero(trace.events["uid"].to_numpy() == scope.first)[0])
        return f"{words}, {plain(name_of(trace, event), 80)}"
    count = len(annotations_of(trace, scope))
    return f"{words} ({count:,} annotations)" if count > 1 else words


def _elsewhere(trace: Trace, own: Trace) -> tuple[dict[int, Intervals], dict[int, Intervals]]:
    """When each device works outside of the part in its window: while the part rests, and beside its work."""
    rest = trace.events.filter(pl.col("kind").is_in(GPU_KINDS) & ~pl.col("uid").is_in(own.events["uid"].implode()))
    idle: dict[int, Intervals] = {}
    beside: dict[int, Intervals] = {}
    for device, split in time_split(own).items():
        window = (np.array([split.start_ns]), np.array([split.start_ns + split.window]))
        others = intersect(_busy(rest, device), window)
        mine = _busy(own.events.filter(pl.col("kind").is_in(GPU_KINDS)), device)
        idle[device], beside[device] = subtract(others, mine), intersect(others, mine)
    return idle, beside


def _busy(gpu: pl.DataFrame, device: int) -> Intervals:
    work = gpu.filter(pl.col("device") == device)
    start = work["start_ns"].to_numpy()
    return union(start, start + work["dur_ns"].to_numpy())


def _length(intervals: Intervals) -> int:
    start, end = intervals
    return int((end - start).sum())
