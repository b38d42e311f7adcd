"""Schemas of the analysis of copies and collectives.  Units and names as in ``manifest``."""

from typing import Literal

from pydantic import Field

from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema


class CopyDirection(Schema):
    """Copies of one direction."""

    count: int
    total_time_us: float
    avg_time_us: float
    max_time_us: float
    total_bytes: int
    avg_bytes: float


class MemcpySummary(Schema):
    """All copies by direction: D2H, H2D, D2D, other."""

    total_count: int
    total_time_us: float
    by_direction: dict[str, CopyDirection] = Field(default_factory=dict)


class LongCollective(Schema):
    """One of the longest collectives."""

    name: str
    duration_us: float
    stream: int


class NcclSummary(Schema):
    """All collective kernels."""

    total_count: int
    total_time_us: float
    avg_time_us: float | None = None
    max_time_us: float | None = None
    top_ops: list[LongCollective] = Field(default_factory=list)


class OverlapAnalysis(Schema):
    """How much of communication and copies hides under computation."""

    total_time_us: float
    computation_time_us: float
    total_comm_time_us: float
    exposed_comm_time_us: float
    total_memcpy_time_us: float
    exposed_memcpy_time_us: float
    comm_overlap_ratio: float | None
    memcpy_overlap_ratio: float | None
    comm_percent_of_total: float
    memcpy_percent_of_total: float


class MultiKernelData(Schema):
    """``category_data/multi_kernel_data.json``."""

    schema_version: int = SCHEMA_VERSION
    memcpy_summary: MemcpySummary
    nccl_summary: NcclSummary
    overlap_analysis: OverlapAnalysis


class TransferGroup(Schema):
    """Copies of one direction and kind of memory, or collectives of one kind and process group; of one device."""

    kind: Literal["copy", "collective"]
    name: str  # "H2D", "D2H", "D2D", "P2P", "other"; else the collective's kind: "allreduce", "unnamed"
    memory: Literal["pageable", "pinned"] | None = None  # of the host's side, where the name tells it
    group: str | None = None  # the process group's name
    group_size: int | None = None  # ranks
    count: int
    time_ms: float  # summed durations
    exposed_ms: float  # the part that nothing hides; of overlapping transfers each instant counts for the first
    exposed_percent: float  # of the window
    winnable_percent: float  # of the window: of collectives what the compute that now runs alone has room to hide
    hidden_percent: float | None  # of the time, what runs beside other work; null without time
    mean_us: float
    longest_us: float
    median_bytes: float | None = None  # of those with recorded sizes
    total_bytes: int | None = None
    rate_gbps: float | None = None  # bytes over time of those with recorded sizes; 1e9 B/s
    bus_gbps: float | None = None  # of collectives: the rate that the links carry, where kind and ranks are known
    waiter: str | None = None  # the op or kernel that most often begins when an exposed one ends
    same_stream_percent: float = 0.0  # of the time, on a stream that also computes


class MemcpyIssue(Schema):
    """Copies of one direction that take long or are many."""

    direction: str
    count: int
    time_ms: float
    percent_of_total: float
    avg_bytes: float
    description: str


class MemcpyAssessment(Schema):
    """Whether copies between host and device stand out."""

    flagged: bool
    total_count: int
    total_time_ms: float
    percent_of_total: float
    issues: list[MemcpyIssue] = Field(default_factory=list)


class BlockingAssessment(Schema):
    """Whether communication keeps the device from computing."""

    flagged: bool
    exposed_comm_time_ms: float
    total_comm_time_ms: float
    exposed_percent_of_total: float
    description: str


class OverlapAssessment(Schema):
    """Whether communication runs beside computation."""

    flagged: bool
    overlap_ratio: float | None
    overlap_percent: float | None
    target_percent: float
    description: str


class MultiKernelMetrics(Schema):
    """``category_data/multi_kernel_metrics.json``."""

    schema_version: int = SCHEMA_VERSION
    status: Literal["SUCCESS", "ERROR"]
    total_time_ms: float
    memcpy_summary: MemcpySummary
    nccl_summary: NcclSummary
    overlap_analysis: OverlapAnalysis
    memcpy_assessment: MemcpyAssessment
    nccl_blocking_assessment: BlockingAssessment
    overlap_assessment: OverlapAssessment
    impact_estimates: list[ImpactEstimate] = Field(default_factory=list)
    transfers: list[TransferGroup] = Field(default_factory=list)  # most exposed time first
