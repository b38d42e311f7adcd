"""Trace and tree → Analysis: everything that tables, triage and app read, computed once."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import polars as pl

from tracelens_tui.analysis.calls import call_frame, gpu_frame
from tracelens_tui.analysis.collect import select_calls
from tracelens_tui.analysis.costs import CostBook
from tracelens_tui.analysis.gaps import idle_gaps
from tracelens_tui.analysis.iterations import with_iterations
from tracelens_tui.analysis.kernels import kernel_frames
from tracelens_tui.analysis.launches import launch_stats
from tracelens_tui.analysis.model import CALLS_SCHEMA, OPS_SCHEMA, Analysis, Part, TimeSplit, conform
from tracelens_tui.analysis.rows import complete_rows, group_calls
from tracelens_tui.analysis.stepsplit import step_split
from tracelens_tui.analysis.timesplit import time_split
from tracelens_tui.errors import UserError
from tracelens_tui.perf.platforms import Platform
from tracelens_tui.perf.registry import Registry
from tracelens_tui.trace.intervals import Intervals, exposure
from tracelens_tui.trace.progress import Progress
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

_STEPS = 5


@dataclass(frozen=True, slots=True)
class _Steps:
    """Reports one step of the analysis at a time."""

    progress: Progress | None

    def __call__(self, done: int) -> None:
        if self.progress is not None:
            self.progress("analyse", done, _STEPS)


def analyse(
    trace: Trace,
    tree: EventTree,
    platform: Platform | None = None,
    platform_note: str = "",
    *,
    registry: Registry | None = None,
    device: int | None = None,
    part: Part | None = None,
    elsewhere: Mapping[int, Intervals] = MappingProxyType({}),
    progress: Progress | None = None,
) -> Analysis:
    """Return the analysis of a trace; without a platform every frame is there, but for rooflines.

    ``registry`` has the perf models, None = the built-in ones.  ``device`` is the one the triage speaks of: that of
    most busy time unless chosen.  Frames hold all devices.  ``part`` says of what the trace is a part, ``elsewhere``
    when each device does work outside of it: no idle gap.
    Raises UserError if the chosen device is not in the trace.
    """
    step = _Steps(progress)
    step(0)
    splits = time_split(trace)
    chosen = _device(splits, device, trace)
    costs = CostBook(trace, registry)
    selection = select_calls(trace, tree, costs.is_modelled)
    step(1)
    gpu = gpu_frame(trace, selection)
    rows, calls = group_calls(
        with_iterations(trace, call_frame(trace, tree, selection, gpu, costs.registry), costs.per_iteration)
    )
    step(2)
    gpu = gpu.join(calls.select("call", "row"), on="call", how="left", maintain_order="left")
    rows = complete_rows(trace, rows, costs, platform)
    ops = conform(rows.with_columns(_exposed(gpu, rows.height)), OPS_SCHEMA)
    step(3)
    kernels, events = kernel_frames(trace, gpu, ops)
    step(4)
    gaps = idle_gaps(trace, tree, chosen, elsewhere.get(chosen))
    step(_STEPS)
    return Analysis(
        trace=trace,
        tree=tree,
        platform=platform,
        platform_note=platform_note,
        device=chosen,
        splits=splits,
        ops=ops,
        calls=conform(calls, CALLS_SCHEMA),
        gpu=events,
        kernels=kernels,
        gaps=gaps,
        steps=step_split(trace, tree),
        launches=launch_stats(trace, tree, splits),
        part=part,
        registry=costs.registry,
    )


def _device(splits: dict[int, TimeSplit], wanted: int | None, trace: Trace) -> int:
    """The device to speak of; -1 in a trace without GPU events."""
    if wanted is None:
        return max(splits, key=lambda device: (splits[device].busy, -device), default=-1)
    if wanted not in splits:
        known = ", ".join(map(str, splits)) or "none"
        raise UserError(
            f"{trace.metadata.source.path}: no GPU events of device {wanted}; choose with --device from: {known}."
        )
    return wanted


def _exposed(gpu: pl.DataFrame, rows: int) -> pl.Series:
    """``exposed_ns`` of each row, device by device; work under no row keeps its stream busy."""
    out = np.zeros(rows)
    for part in gpu.partition_by("device"):
        start, end = part["start_ns"], part["start_ns"] + part["dur_ns"]
        row = part["row"].cast(pl.Int64).fill_null(-1)
        out += exposure(row.to_numpy(), part["stream"].to_numpy(), start.to_numpy(), end.to_numpy(), rows)
    return pl.Series("exposed_ns", out)
