"""The idle time of the device: how much, why, and which functions kept the host."""

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.idle_files import CpuIdleMetrics, IdleCause, IdleUtilization, KernelAnalysis
from tracelens_tui.text import plain
from tracelens_tui.trace.types import Kind
from tracelens_tui.triage.impact import impact_of
from tracelens_tui.triage.metrics import NS_PER_MS
from tracelens_tui.triage.origins import NAME_LIMIT, is_user_frame

SHORT_NS = 10_000
IDLE_PERCENT = 15.0
"""The sub-agent runs where more of the window is idle."""

_FRAMEWORK_FRAME = re.compile(r"(^|/)torch/(nn|functional|_tensor|_ops|_jit|utils/_|overrides|amp|autograd|_refs)")


@dataclass(frozen=True, slots=True)
class CauseFacts:
    """The idle time of one cause; names are plain text, None where nothing was recorded."""

    cause: str
    idle_ns: int
    gaps: int
    longest_ns: int
    function: str | None  # responsible for most of it
    function_ns: int
    call: str | None  # innermost host event that takes most of it
    call_ns: int


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """How the host feeds the device: medians in ns, None without launches."""

    launches: int
    interval_ns: float | None  # between launches of the busiest launching thread
    delay_ns: float | None  # from the launch call to the start, as in launch_stats
    kernel_ns: float | None  # kernel duration


def idle_metrics(analysis: Analysis, split: TimeSplit, causes: list[CauseFacts]) -> CpuIdleMetrics:
    """Return ``cpu_idle_metrics.json``: the causes are those of the gaps inside steps."""
    gaps = analysis.gaps
    inside = sum(cause.idle_ns for cause in causes)
    idle = 100 * split.idle / split.window if split.window else 0.0
    return CpuIdleMetrics(
        status="OK",
        idle_flagged=idle > IDLE_PERCENT,
        gpu_utilization=IdleUtilization(
            total_time_ms=split.window / NS_PER_MS,
            idle_time_ms=split.idle / NS_PER_MS,
            idle_time_percent=idle,
            computation_percent=_percent(split.compute, split.window),
            communication_percent=_percent(split.exposed_comm, split.window),
            memcpy_percent=_percent(split.exposed_memcpy, split.window),
        ),
        kernel_analysis=_kernels(analysis),
        impact_estimates=[_estimate(cause, split, stacks=has_stacks(analysis)) for cause in causes],
        idle_in_steps_ms=inside / NS_PER_MS,
        gap_count=gaps.height,
        longest_gap_ms=int(gaps["dur_ns"][0]) / NS_PER_MS if gaps.height else None,
        median_gap_us=_median(gaps["dur_ns"].to_numpy(), 1e3),
        causes=[
            IdleCause(
                cause=one.cause,
                count=one.gaps,
                time_ms=one.idle_ns / NS_PER_MS,
                percent_of_total=_percent(one.idle_ns, split.window),
            )
            for one in causes
        ],
    )


def idle_causes(analysis: Analysis) -> list[CauseFacts]:
    """Return the causes of the gaps inside steps, most time first."""
    gaps = analysis.gaps.filter(pl.col("in_step"))
    if not gaps.height:
        return []
    named = gaps.with_columns(
        pl.Series("function", _responsible(analysis, gaps["host_event"])),
        pl.Series("call", _names(analysis, gaps["host_event"])),
    )
    out = [_cause(cause[0], part) for cause, part in named.group_by("cause", maintain_order=True)]
    return sorted(out, key=lambda one: (-one.idle_ns, one.cause))


def launch_facts(analysis: Analysis) -> LaunchFacts:
    """Return how launches and kernels of the device follow each other."""
    events, tree = analysis.trace.events, analysis.tree
    gpu = _of_device(analysis)
    kernel_ns = _median(events["dur_ns"].to_numpy()[gpu])
    launch = tree.launch[gpu]
    calls = np.unique(launch[launch >= 0])
    if not len(calls):
        return LaunchFacts(0, None, None, kernel_ns)
    thread = events["thread"].to_numpy()[calls]
    busiest = np.sort(events["start_ns"].to_numpy()[calls[thread == np.bincount(thread).argmax()]])
    whole = analysis.launches.filter((pl.col("device") == analysis.device) & pl.col("stream").is_null())
    return LaunchFacts(len(calls), _median(np.diff(busiest)), whole["latency_p50"].item(), kernel_ns)


def has_stacks(analysis: Analysis) -> bool:
    """True where Python functions were recorded, which slows the host down."""
    return analysis.trace.metadata.with_stack or bool((analysis.trace.events["kind"] == Kind.PYTHON_FUNCTION).any())


def _estimate(cause: CauseFacts, split: TimeSplit, *, stacks: bool) -> ImpactEstimate:
    impact = impact_of(_percent(cause.idle_ns, split.window), low=0.0 if stacks else None)
    return ImpactEstimate(
        operation=cause.cause,
        category="cpu_idle",
        type="idle",
        impact_score=impact.mid or 0.0,
        impact_score_low=impact.low or 0.0,
        impact_score_high=impact.high or 0.0,
        time_ms=cause.idle_ns / NS_PER_MS,
    )


def _cause(cause: object, part: pl.DataFrame) -> CauseFacts:
    function, function_ns = _largest(part, "function")
    call, call_ns = _largest(part, "call")
    return CauseFacts(
        cause=str(cause),
        idle_ns=int(part["dur_ns"].sum()),
        gaps=part.height,
        longest_ns=int(part["dur_ns"].cast(pl.Int64).to_numpy().max()),
        function=function,
        function_ns=function_ns,
        call=call,
        call_ns=call_ns,
    )


def _largest(part: pl.DataFrame, column: str) -> tuple[str | None, int]:
    """The name that takes most of the time, and how much."""
    groups = part.drop_nulls(column).group_by(column).agg(pl.col("dur_ns").sum())
    if not groups.height:
        return None, 0
    name, ns = groups.sort(["dur_ns", column], descending=[True, False]).row(0)
    return plain(name, NAME_LIMIT), int(ns)


def _responsible(analysis: Analysis, events: pl.Series) -> list[str | None]:
    """For each host event the nearest function around it that is not the framework's, else the outermost op."""
    ranks, tree = _ranks(analysis), analysis.tree
    here = events.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)
    best, rank = here.copy(), np.where(here >= 0, ranks[np.maximum(here, 0)], 0)
    while (open_ := (here >= 0) & (rank < _OWN)).any():  # one level up at a time, all gaps at once
        here = np.where(open_, tree.parent[np.maximum(here, 0)], -1)
        found = np.where(here >= 0, ranks[np.maximum(here, 0)], 0)
        better = (found > rank) | ((found == rank) & (found == _OP))
        best, rank = np.where(better, here, best), np.maximum(found, rank)
    codes = analysis.trace.events["name"].to_numpy()[np.maximum(best, 0)]
    names = analysis.trace.names.gather(codes).to_list()
    return [name if event >= 0 else None for name, event in zip(names, best.tolist(), strict=True)]


_OP, _FRAMEWORK, _OWN = 1, 2, 3
"""What an event tells of who is responsible: an op, a function of the framework, any other function."""


def _ranks(analysis: Analysis) -> NDArray[np.int8]:
    """The rank of each event; 0 for what says nothing."""
    kind, code = (analysis.trace.events[name].to_numpy() for name in ("kind", "name"))
    out = np.where(kind == Kind.CPU_OP, _OP, 0).astype(np.int8)
    python = kind == Kind.PYTHON_FUNCTION
    used = np.unique(code[python])
    of_name = np.zeros(len(analysis.trace.names) + 1, np.int8)
    of_name[used] = [_frame_rank(name) for name in analysis.trace.names.gather(used).to_list()]
    out[python] = of_name[code[python]]
    return out


def _frame_rank(name: str) -> int:
    if not is_user_frame(name):
        return 0
    return _FRAMEWORK if _FRAMEWORK_FRAME.search(name) else _OWN


def _names(analysis: Analysis, events: pl.Series) -> pl.Series:
    """The names of host events, null where there is none."""
    return analysis.trace.names.gather(analysis.trace.events["name"].gather(events))


def _kernels(analysis: Analysis) -> KernelAnalysis:
    gpu = analysis.gpu.filter(pl.Series(_is_kernel(analysis)))
    dur = analysis.trace.events["dur_ns"].gather(gpu["event"]).to_numpy()
    by_category = gpu.group_by("category").len().sort("len", "category", descending=[True, False])
    return KernelAnalysis(
        short_kernel_count=int((dur < SHORT_NS).sum()),
        total_kernel_count=len(dur),
        avg_kernel_time_us=float(dur.mean()) / 1e3 if len(dur) else 0.0,
        kernel_count_by_category={str(name): int(count) for name, count in by_category.iter_rows() if name},
    )


def _is_kernel(analysis: Analysis) -> NDArray[np.bool_]:
    """Which rows of ``Analysis.gpu`` are kernels of the device."""
    events, ids = analysis.trace.events, analysis.gpu["event"].to_numpy()
    kind, device = events["kind"].to_numpy()[ids], events["device"].to_numpy()[ids]
    return (kind == Kind.KERNEL) & (device == analysis.device)


def _of_device(analysis: Analysis) -> NDArray[np.int64]:
    """The kernels of the device, by start."""
    return analysis.gpu["event"].to_numpy()[_is_kernel(analysis)].astype(np.int64)


def _median(values: NDArray[np.int64], scale: float = 1.0) -> float | None:
    return float(np.median(values)) / scale if len(values) else None


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
