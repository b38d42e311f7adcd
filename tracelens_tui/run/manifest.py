"""Schemas of what a run is: ``run.json``, the manifest of its categories, the model.

Field names are TraceLens's where it has the same file, so that tools which read its output keep working; fields that
are ours stand last in each class.  Times are in the unit of their suffix, percentages in 0..100.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from tracelens_tui.run.findings import SCHEMA_VERSION, Schema

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


class ModelInfo(Schema):
    """``metadata/model_info.json``: what the traced model is, as far as the trace tells."""

    schema_version: int = SCHEMA_VERSION
    model: str = UNKNOWN_MODEL
    architecture: str = UNKNOWN_MODEL
    scale: str = UNKNOWN_MODEL
    precision: str = UNKNOWN_MODEL
    family: str = UNKNOWN_MODEL
    mode: str = UNKNOWN_MODEL  # "training", "inference, decode", ...
    parallelism: str = UNKNOWN_MODEL
