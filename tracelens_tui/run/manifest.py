"""Schemas of the JSON files of a run directory, beside findings and journal.

Field names are TraceLens's where it has the same file, so that tools which read its output keep working; fields that
are ours stand last in each class.  Times are in the unit of their suffix, percentages in 0..100.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from tracelens_tui.run.findings import SCHEMA_VERSION, Confidence, Impact, Schema, Tier

UNKNOWN_MODEL = "Cannot be inferred from trace"
CategoryName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
Scope = Literal["standalone", "comparative"]


class TraceRef(Schema):
    """The trace of a run: where it lay, and what it was."""

    path: str  # absolute
    relative: str  # from the run directory, for when both are moved together
    fingerprint: str
    size: int  # bytes


class RunInfo(Schema):
    """``run.json``: what the run is, written once; then the SHA-256 of each finished file."""

    schema_version: int = SCHEMA_VERSION
    run_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    created: datetime  # UTC
    trace: TraceRef
    platform: str | None
    platform_note: str = ""
    analyst: Literal["rules", "claude"]
    options: dict[str, JsonValue] = Field(default_factory=dict)  # what changes the outcome: device, steps, ...
    versions: dict[str, str] = Field(default_factory=dict)  # "tracelens-tui", "skills", ...
    files: dict[str, str] = Field(default_factory=dict)  # path relative to the run directory -> SHA-256


class GpuUtilization(Schema):
    """Time split of the device that the triage speaks of; all 0 in a trace without GPU events."""

    total_time_ms: float
    computation_time_percent: float
    exposed_comm_time_percent: float
    exposed_memcpy_time_percent: float
    idle_time_percent: float


class TimeNs(Schema):
    """The same split, exact, in ns: window = busy + idle, busy = compute + exposed_comm + exposed_memcpy."""

    window: int
    busy: int
    idle: int
    compute: int
    comm: int
    exposed_comm: int
    memcpy: int
    exposed_memcpy: int


class PartInfo(Schema):
    """The part of the trace that a run speaks of; times are after the start of the whole trace's window."""

    scope: str  # as in run.json: "steps=2-5"
    title: str  # in words, plain text
    start_ms: float  # the window of the device
    end_ms: float
    elsewhere: str = ""  # one sentence on other GPU work in the window


class ManifestCategory(Schema):
    """One category of ops, or one system analysis, and whether a sub-agent looks at it."""

    name: CategoryName
    display_name: str  # "SDPA_fwd"
    skill: str  # agent id = skill directory name
    tier: Literal["system", "compute_kernel"]
    ops_count: int  # rows of csv_file; candidates for kernel_fusion
    csv_file: str | None = None
    metadata_file: str | None = None
    data_file: str | None = None
    priority: int | None = None
    gpu_kernel_time_ms: float | None = None
    cpu_duration_ms: float | None = None
    sync_time_ms: float | None = None
    sync_ops_count: int | None = None
    has_sync_bottleneck: bool | None = None
    planned: bool = True  # False: skipped, by this rule and number
    plan_rule: str = ""
    plan_number: float | None = None
    plan_unit: str = "%"


class CategoryManifest(Schema):
    """``category_data/category_manifest.json``: the index of a run."""

    schema_version: int = SCHEMA_VERSION
    platform: str  # as the title shows it: "MI300X", else the trace's own device name, else "Unknown GPU"
    trace_path: str
    output_dir: str = "."
    comparison_scope: Scope = "standalone"
    gpu_utilization: GpuUtilization
    categories: list[ManifestCategory]
    time_metric_note: str = ""
    platform_note: str = ""
    rooflines: bool  # False: unknown platform, no efficiency anywhere
    device: int | None  # None: no GPU events
    time_ns: TimeNs | None  # None: no GPU events
    linked_percent: float | None = None  # share of GPU time that has a launch
    modelled_percent: float | None = None  # share of kernel time under an op with a perf model
    with_stack: bool = False  # Python stacks were recorded, which inflates host time
    part: PartInfo | None = None  # None: the whole trace
    steps_note: str = ""  # one sentence where steps are unequal


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


class ModelInfo(Schema):
    """``metadata/model_info.json``: what the traced model is, as far as the trace tells."""

    schema_version: int = SCHEMA_VERSION
    model: str = UNKNOWN_MODEL
    architecture: str = UNKNOWN_MODEL
    scale: str = UNKNOWN_MODEL
    precision: str = UNKNOWN_MODEL


class TimeUs(Schema):
    """The device's time split in µs."""

    window: float
    busy: float
    idle: float
    compute: float
    comm: float
    exposed_comm: float
    memcpy: float
    exposed_memcpy: float


class AnalysisOperation(Schema):
    """One op of a finding.

    ``dims`` has an entry per tensor argument: its sides, or for a list of tensors the sides of each.  Of a long list
    only the first stand there; ``dims_omitted`` counts the others, and is written only where there are some.
    """

    name: str
    dims: list[list[int] | list[list[int]]] | None
    dtype: str | None
    count: int
    time_ms: float
    efficiency_percent: float | None
    dims_omitted: int = 0

    @model_serializer(mode="wrap")
    def _without_zero(self, handler: SerializerFunctionWrapHandler) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = handler(self)
        if not self.dims_omitted:
            del found["dims_omitted"]
        return found


class AnalysisFinding(Schema):
    """One finding for machines; ``insight`` and ``action`` have their numbers filled in."""

    id: str
    tier: Tier
    category: CategoryName
    rank: int  # from 1, over all tiers
    title: str
    library: str | None
    bound: str | None
    confidence: Confidence
    impact: Impact
    operations: list[AnalysisOperation]
    insight: str
    action: str


class AnalysisJson(Schema):
    """``analysis.json``: the report for machines, findings in global rank order."""

    schema_version: int = SCHEMA_VERSION
    model: str
    platform: str
    time_us: TimeUs | None  # None: no GPU events
    findings: list[AnalysisFinding]
    warnings: list[str] = Field(default_factory=list)
    part: PartInfo | None = None  # written only where the run speaks of a part of the trace

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = handler(self)
        if self.part is None:
            del found["part"]
        return found
