"""Schemas of a compute category's files: metrics and metadata.  Units and names as in ``manifest``."""

from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field, JsonValue

from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.manifest import CategoryName, GpuUtilization, Scope


class OperationEfficiency(Schema):
    """How close an op comes to its roof."""

    tflops_achieved: float | None = None
    tb_s_achieved: float | None = None
    efficiency_percent: float | None = None  # sum of roof times / sum of kernel times
    bound_type: Literal["compute", "memory"] | None = None
    flops_per_byte: float | None = None
    compute_spec: str | None = None
    resolved_peak_maf: float | None = None  # TFLOPS
    resolved_peak_hbm_bw: float | None = None  # TB/s
    warning: str | None = None
    is_anomaly: bool = False  # above the roof: the measurement or the model is off
    mean_efficiency_percent: float | None = None  # mean of per-call ratios
    efficiency_low_percent: float | None = None  # both null unless the arguments leave open how much work there is:
    efficiency_high_percent: float | None = None  # the efficiency if it is the least, the most that can be

    @property
    def surest_percent(self) -> float | None:
        """The efficiency that is reached at least: what a gain is measured from."""
        return self.efficiency_percent if self.efficiency_low_percent is None else self.efficiency_low_percent


class OperationMetrics(Schema):
    """One distinct op (name and arguments) of a category."""

    model_config = ConfigDict(serialize_by_alias=True)

    row: int  # row of Analysis.ops
    name: str
    count: int
    time_ms: float
    percent_of_category: float
    percent_of_total: float | None  # of the device's window
    efficiency: OperationEfficiency
    efficiency_warning: str | None = None
    input_dims: str = Field(
        default="", validation_alias=AliasChoices("Input Dims", "input_dims"), serialization_alias="Input Dims"
    )
    input_type: str = Field(
        default="", validation_alias=AliasChoices("Input type", "input_type"), serialization_alias="Input type"
    )
    has_perf_model: bool = False
    args: str  # "(8192,2432) bf16<br>(2432,9728) bf16", "—" where not recorded
    cov: float | None = None  # standard deviation / mean of the calls' kernel time
    high_variance: bool = False
    classification: dict[str, JsonValue] = Field(default_factory=dict)
    library: str | None = None
    fusion_flagged: bool = False
    fusion_candidate_name: str | None = None
    launcher_path: str = "—"
    kernel_name: str = "—"
    kernel_name_trunc: str = "—"
    module_chain: list[str] = Field(default_factory=list)
    call_chain: list[str] = Field(default_factory=list)
    dims: list[list[int]] | None = None
    dtype: str | None = None
    exposed_ms: float | None = None  # part of time_ms in which no other stream is busy with another op


class ImpactEstimate(Schema):
    """What one op could win, in % of the device's window."""

    operation: str
    category: str
    type: str  # "kernel_tuning", "kernel_fusion", ...
    estimate_method: Literal["quantified", "heuristic"] = "quantified"
    impact_score: float  # mid
    impact_score_low: float
    impact_score_high: float
    efficiency_pct: float | None = None
    bound_type: str | None = None
    library: str | None = None
    time_ms: float
    percent_of_total: float | None = None
    row: int | None = None


class CategoryFinding(Schema):
    """Ops of a category that share bound, library and efficiency band: what becomes one finding."""

    bound_type: Literal["compute", "memory", "unknown", "unmodeled"]
    library: str
    eff_bucket: Literal["0-30", "30-60", "60-100", "unknown", "all"]
    estimate_method: Literal["quantified", "heuristic"] = "quantified"
    impact_score: float
    impact_score_low: float
    impact_score_high: float
    member_count: int
    members: list[ImpactEstimate]
    rank: int
    percent_of_total: float | None = None
    id: str | None = None  # Finding.id


class CategoryMetrics(Schema):
    """``category_data/<category>_metrics.json``."""

    schema_version: int = SCHEMA_VERSION
    category: CategoryName
    status: Literal["OK", "ERROR", "NO_DATA"]
    message: str = ""
    comparison_scope: Scope = "standalone"
    total_time_ms: float
    percent_of_compute: float  # TraceLens's name; it is the share of the device's window
    operation_count: int  # calls
    operations: list[OperationMetrics]
    category_specific: dict[str, JsonValue] = Field(default_factory=dict)
    impact_estimates: list[ImpactEstimate] = Field(default_factory=list)
    category_findings: list[CategoryFinding] = Field(default_factory=list)


class TimeBreakdown(Schema):
    """Device and host time of a category."""

    gpu_kernel_time_ms: float
    cpu_duration_ms: float
    sync_time_ms: float
    sync_ops_count: int
    has_sync_bottleneck: bool
    note: str = ""


class CategoryMetadata(Schema):
    """``metadata/<category>_metadata.json``."""

    schema_version: int = SCHEMA_VERSION
    platform: str
    peak_hbm_bw_tbs: float | None  # None: unknown platform
    max_achievable_tflops: dict[str, float]
    memory_gb: float | None
    trace_path: str
    output_dir: str = "."
    category: str  # display name
    category_name: CategoryName
    gpu_utilization: GpuUtilization
    trace_loading_policy: str = "Read the tables of this run directory; the trace itself is not needed."
    time_breakdown: TimeBreakdown | None = None
    tier: Literal["system", "compute_kernel"] = "compute_kernel"
    measured_hbm_bw_tbs: float | None = None
    platform_source: str = ""
