"""Schemas of the analysis of copies and collectives.  Units and names as in ``manifest``."""

from pydantic import Field

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
