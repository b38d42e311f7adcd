"""Schema of the idle analysis's metrics.  Units and names as in ``manifest``."""

from typing import Literal

from pydantic import Field

from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema


class IdleUtilization(Schema):
    """The device's window as the idle analysis shows it."""

    total_time_ms: float
    idle_time_ms: float
    idle_time_percent: float
    computation_percent: float
    communication_percent: float
    memcpy_percent: float


class KernelAnalysis(Schema):
    """How short the kernels are."""

    short_kernel_count: int  # below 10 µs
    total_kernel_count: int
    avg_kernel_time_us: float
    kernel_count_by_category: dict[str, int] = Field(default_factory=dict)


class IdleCause(Schema):
    """Idle time by what the host did in the gap."""

    cause: str  # as in idle_gaps.csv
    count: int
    time_ms: float
    percent_of_total: float


class CpuIdleMetrics(Schema):
    """``category_data/cpu_idle_metrics.json``."""

    schema_version: int = SCHEMA_VERSION
    status: Literal["OK", "ERROR", "NO_DATA"]
    idle_flagged: bool
    gpu_utilization: IdleUtilization
    kernel_analysis: KernelAnalysis
    impact_estimates: list[ImpactEstimate] = Field(default_factory=list)
    idle_in_steps_ms: float | None = None
    gap_count: int = 0
    longest_gap_ms: float | None = None
    median_gap_us: float | None = None
    causes: list[IdleCause] = Field(default_factory=list)
