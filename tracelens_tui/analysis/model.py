"""The Analysis: everything the tables, the triage and the app read, computed once from a trace.

Frames are keyed by ``row`` (a distinct op: name, category, thread and arguments) and ``event`` (row of
``Trace.events``).
"""

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tracelens_tui.errors import UserError
from tracelens_tui.perf.platforms import Platform
from tracelens_tui.perf.registry import Registry, default_registry
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """Time of one device in ns: window = busy + idle, busy = compute + exposed_comm + exposed_memcpy."""

    window: int  # first GPU start to last GPU end
    busy: int  # union of all GPU intervals
    idle: int
    compute: int  # union of kernels and sets that are neither collectives nor copies
    comm: int
    exposed_comm: int  # comm minus compute
    memcpy: int
    exposed_memcpy: int  # memcpy minus compute minus comm
    start_ns: int  # where the window begins


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """GPU work outside of a part in the window of the part, on one device; in ns."""

    idle: int  # while nothing of the part runs: the split counts it as idle
    beside: int  # at the same time as the part's own


@dataclass(frozen=True, slots=True)
class Part:
    """What an analysis of a part of a trace speaks of."""

    scope: Scope
    title: str  # one line of plain text
    events: int  # of the part, with what surrounds it on the host
    all_events: int  # of the trace
    origin_ns: int  # where the first GPU work of the whole trace begins, in the time of ``Trace.events``
    elsewhere: dict[int, Elsewhere]  # by device


OPS_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per distinct op of one thread: the base of unified_perf_summary, by kernel_ns_sum descending
    "row": pl.UInt32,
    "name": pl.String,
    "category": pl.String,  # display name as TraceLens spells it: GEMM, SDPA_fwd, elementwise, other, ...
    "process_name": pl.String,
    "process_label": pl.String,
    "thread_name": pl.String,
    "dims": pl.String,  # JSON lists, "" = not recorded
    "types": pl.String,
    "strides": pl.String,
    "concrete": pl.String,
    "first_event": pl.UInt32,  # id of the first call
    "count": pl.UInt32,
    "host_ns_sum": pl.Int64,
    "kernel_ns_sum": pl.Int64,  # sum over calls of the union of the call's GPU intervals
    "exposed_ns": pl.Float64,  # part of it in which no other stream of the device is busy with another op
    "device": pl.Int32,
    "flops": pl.Float64,  # of one call; null = unknown
    "bytes": pl.Float64,
    "spec": pl.String,  # "matrix_bf16"; null = unknown
    "precision": pl.String,
    "bound": pl.String,  # "compute" | "memory"; null without a roofline
    "roof_ns": pl.Float64,  # least time of one call; null without a roofline
    "efficiency": pl.Float64,  # sum of roof times / kernel_ns_sum, a ratio; null without a roofline; may exceed 1
    "efficiency_low": pl.Float64,  # both null unless the arguments leave work open (experts hit, packed sequences):
    "efficiency_high": pl.Float64,  # the efficiency if it is the least, the most that can be
    "pct_roofline_mean": pl.Float64,  # mean over calls of 100 * roof / kernel time
    "library": pl.String,  # "Tensile", "cuBLAS", "PyTorch", ...; null = unknown
    "modelled": pl.Boolean,  # a perf model gave FLOPs or bytes
    "params": pl.String,  # JSON object of the model's parameters
    "kernel_time_cov": pl.Float64,  # standard deviation / mean of the calls' kernel time
}

CALLS_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per call, by start
    "event": pl.UInt32,  # the cpu_op; for synthetic rows the GPU event itself
    "row": pl.UInt32,
    "kernel_ns": pl.Int64,
    "host_ns": pl.Int64,
}

GPU_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per GPU event of the trace, by start
    "event": pl.UInt32,
    "row": pl.UInt32,  # the op row that it is counted under; null = under none (collectives, unlinked)
    "category": pl.String,
    "library": pl.String,
}

KERNELS_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per (op row, kernel name, stream), by sum_ns descending; row is null for kernels under no op
    "row": pl.UInt32,
    "kernel": pl.String,
    "device": pl.Int32,
    "stream": pl.Int64,
    "kind": pl.UInt8,
    "role": pl.UInt8,
    "category": pl.String,
    "library": pl.String,
    "count": pl.UInt32,
    "sum_ns": pl.Int64,
    "mean_ns": pl.Float64,
    "min_ns": pl.Int64,
    "max_ns": pl.Int64,
    "first_event": pl.UInt32,
}

GAPS_SCHEMA: dict[str, type[pl.DataType]] = {
    # gaps between busy intervals of the device, longest first
    "device": pl.Int32,
    "start_ns": pl.Int64,
    "dur_ns": pl.Int64,
    "before_event": pl.UInt32,  # GPU event that ends at the gap's start
    "after_event": pl.UInt32,  # GPU event that starts at its end
    "cause": pl.String,  # one of gap_causes.CAUSES
    # where a wait decided, the call that waited; else the innermost host event at the gap's middle on the thread that
    # explains the gap (the one that launches next, or another where that one is silent); null = none
    "host_event": pl.UInt32,
    "in_step": pl.Boolean,  # inside a ProfilerStep annotation, or the trace has none
    # the numbers that decide the cause, see gap_causes.Verdict
    "queue_empty": pl.Boolean,
    "launch_lag_ns": pl.Int64,
    "host_busy_ns": pl.Int64,  # how long the thread that explains the gap was in ops and runtime calls
    "awaited": pl.Float64,
}

STEPS_SCHEMA: dict[str, type[pl.DataType]] = {
    # the GPU work launched in each ProfilerStep: one row per step and device that its process drives, by start
    "event": pl.UInt32,  # the mark
    "step": pl.Int64,  # its number
    "device": pl.Int32,  # null: the process drives none
    "start_ns": pl.Int64,
    "host_ns": pl.Int64,  # length of the mark; null where only the GPU's rows have marks
    "gpu_start_ns": pl.Int64,  # this and the times below are null without GPU work of known times
    "window_ns": pl.Int64,  # first start to last end = busy + idle
    "busy_ns": pl.Int64,
    "idle_ns": pl.Int64,
    "compute_ns": pl.Int64,
    "comm_ns": pl.Int64,
    "exposed_comm_ns": pl.Int64,
    "memcpy_ns": pl.Int64,
    "exposed_memcpy_ns": pl.Int64,
    "elsewhere_ns": pl.Int64,  # part of idle_ns in which the device works on what the step did not launch
    "kernels": pl.UInt32,
    "gpu_events": pl.UInt32,  # kernels, copies and sets
}

LAUNCHES_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per device and, below it, per stream, by device and stream: how kernels follow their launches.
    # Statistics are null without kernels to compute them from.
    "device": pl.Int32,
    "stream": pl.Int64,  # null: all of the device
    "kernels": pl.UInt32,  # launched by calls of their own, not before their launch: those the statistics are of
    **{
        f"{name}_{stat}": pl.Float64  # ns
        for name in ("latency", "delay", "queued")
        for stat in ("mean", "p50", "p90", "p99", "max")
    },
    "starved": pl.UInt32,  # kernels that start at most STARVED_NS after their launch call has returned
    "depth_mean": pl.Float64,  # launches whose kernels have not finished, over the device's window
    "depth_median": pl.UInt32,  # for half of the window there are no more
    "depth_max": pl.UInt32,
    "graph_launches": pl.UInt32,
    "graph_kernels": pl.UInt32,  # launched by these
    "early": pl.UInt32,  # kernels that start before their launch, or without a known time
    "unlinked": pl.UInt32,  # kernels without a launch
}


def conform(frame: pl.DataFrame, schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    """Return the columns of a schema above, in its order and types."""
    return frame.select(*schema).cast(pl.Schema(schema))


@dataclass(frozen=True, slots=True)
class Analysis:
    """A trace, its tree and the frames above.  ``device`` is the one the triage speaks of (most busy time)."""

    trace: Trace
    tree: EventTree
    platform: Platform | None  # None: unknown device, every table without rooflines
    platform_note: str  # how the platform was found, or why not
    device: int
    splits: dict[int, TimeSplit]
    ops: pl.DataFrame
    calls: pl.DataFrame
    gpu: pl.DataFrame
    kernels: pl.DataFrame
    gaps: pl.DataFrame
    steps: pl.DataFrame
    launches: pl.DataFrame
    part: Part | None = None  # None: the whole trace
    registry: Registry = field(default_factory=default_registry)  # the models it was made with; not stored

    @property
    def split(self) -> TimeSplit | None:
        """The time split of the chosen device; None in a trace without GPU events."""
        return self.splits.get(self.device)

    def gpu_split(self, path: Path) -> TimeSplit:
        """Return the time split of the chosen device; UserError in a trace without GPU events."""
        if self.split is None:
            raise UserError(f"{path} holds no GPU events: profile with the CUDA activity switched on, then try again")
        return self.split
