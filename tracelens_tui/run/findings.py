"""The finding: what a sub-agent hands in, what is ranked, rendered and exported.

Prose never holds a number.  It refers to an evidence item as ``[[id]]`` and the renderer prints the item's value with
its unit, so a number that is not evidence cannot appear.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

Tier = Literal["compute", "fusion", "system"]
Confidence = Literal["high", "medium", "low"]


class Schema(BaseModel):
    """Base of everything in a run directory: unknown fields are an error, values never change after creation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Evidence(Schema):
    """One quantity, and where in the run directory it stands."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$")]
    label: str
    value: float | int | str
    unit: str = ""  # "%", "ms", "µs", "TFLOPS", "TB/s", "GB/s", "calls", "FLOP/B", ""
    digits: int = 1  # decimals to print
    source: str  # path relative to the run directory
    key: str  # row and column in it, e.g. "ops[0].time_ms" or "row 17: Kernel Time (µs)_sum"


class Impact(Schema):
    """Share of the device's window that can be won, in %; None only where nothing can be computed."""

    low: float | None
    mid: float | None
    high: float | None


class Operation(Schema):
    """One row of a finding's data table: a distinct op with its arguments."""

    row: int  # row of Analysis.ops
    name: str
    args: str  # "(8944, 1024) bf16<br>(1024, 2816) bf16", "—" where not recorded
    dims: list[list[int]] | None = None
    dtype: str | None = None
    kernel_path: str = "—"  # module path or entry point of the call
    kernel_name: str = "—"
    count: int
    time_ms: float
    percent_of_window: float
    flops_per_byte: float | None = None
    efficiency_percent: float | None = None  # sum of roof times over sum of kernel times
    mean_efficiency_percent: float | None = None  # mean of per-call ratios, where it differs by more than 1 %
    peak: float | None = None  # the roof it is measured against
    peak_unit: Literal["TFLOPS", "TB/s"] | None = None
    bound: Literal["compute", "memory"] | None = None
    efficiency_low_percent: float | None = None  # both null unless the arguments leave open how much work there is:
    efficiency_high_percent: float | None = None  # the efficiency if it is the least, the most that can be

    @property
    def surest_percent(self) -> float | None:
        """The efficiency that is reached at least: what a gain is measured from."""
        return self.efficiency_percent if self.efficiency_low_percent is None else self.efficiency_low_percent


class Metric(Schema):
    """One row of a system finding's data table."""

    metric: str
    value: str  # prose with [[evidence]] references
    flagged: bool


class FusedKernel(Schema):
    """One kernel of a fusion candidate, one instance of it."""

    name: str
    type: str  # "gemm", "elementwise", "reduce", ...
    duration_us: float
    modelled: bool  # a perf model covers it


class Finding(Schema):
    """One thing worth fixing, with everything needed to check it."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]  # unique in the run: "<category>-<n>"
    agent: str  # skill directory name
    analyst: str  # "rules", "claude"
    tier: Tier
    category: str  # manifest name
    title: str
    library: str | None = None
    bound: Literal["compute", "memory", "unknown"] | None = None
    confidence: Confidence
    impact: Impact
    operations: list[Operation] = []
    metrics: list[Metric] = []
    kernels: list[FusedKernel] = []  # of a fusion finding
    pattern: str | None = None  # name of the fusion pattern: "RMSNorm", "SwiGLU", ...
    insight: str
    action: str
    identification: str
    reasoning: str
    resolution: str
    evidence: list[Evidence]
    caveats: list[str] = []  # when the advice would be wrong


class SetAside(Schema):
    """A finding of the rules that the analyst decided against; kept, but not ranked."""

    finding: Finding
    reason: str  # prose with [[evidence]] references
    evidence: list[Evidence] = []  # what the reason refers to


class FindingsFile(Schema):
    """``category_findings/<category>_findings.json`` and ``system_findings/<name>_findings.json``."""

    schema_version: int = SCHEMA_VERSION
    agent: str
    analyst: str
    category: str
    display_name: str
    tier: Tier
    status: Literal["ok", "no_data", "error"]
    message: str = ""  # why there are no findings, or the error
    fallback_reason: str | None = None  # why the rules analyst stood in
    findings: list[Finding]
    set_aside: list[SetAside] = []


class RankedFinding(Schema):
    """A finding's place in the run; the finding itself stands in its findings file under the same id."""

    id: str
    tier: Tier
    category: str
    category_rank: int  # from 1, within the category
    global_rank: int  # from 1, over all tiers
    title: str
    bound_type: str | None
    library: str | None
    impact_score: float | None  # mid
    impact_score_low: float | None
    impact_score_high: float | None
    member_count: int


class Priority(Schema):
    """One row of the report's Top Operations table: a category of kernels."""

    rank: int
    category: str
    display_name: str
    gpu_kernel_time_ms: float
    percent_of_compute: float
    operation_count: int  # distinct ops
    impact_score: float | None  # sums over the category's findings; None where it has none
    impact_score_low: float | None
    impact_score_high: float | None
    source: Literal["findings", "manifest"]


class PriorityData(Schema):
    """``priority_data.json``: the run's findings in global rank order and its categories by time."""

    schema_version: int = SCHEMA_VERSION
    baseline_ms: float  # the device's window
    findings: list[RankedFinding]
    priorities: list[Priority]
    dropped: list[str] = []  # "<title>: <reason>" of cards below the threshold
