"""A complete run directory made by hand: four findings on a window of 100 ms, every number easy to check.

window 100 ms = compute 80 + exposed copies 2 + idle 18
aten::mm    10 calls 50 ms at 60 % of its roof -> 20 % of the window to win (15 / 17.5 / 20)
aten::add   20 calls 20 ms at 50 %             -> 10 %                      (7.5 / 8.75 / 10)
aten::copy_  5 calls  6 ms without a roofline, aten::foo 2 calls 4 ms without one
a fusion of two kernels: 4 % (3 / 3.5 / 4);  idle: at most 18 % (0 / 15.75 / 18)
"""

import csv
from datetime import datetime, timezone
from pathlib import Path

from tracelens_tui import __version__
from tracelens_tui.run.findings import (
    Evidence,
    Finding,
    FindingsFile,
    FusedKernel,
    Impact,
    Metric,
    Operation,
    Priority,
    PriorityData,
    RankedFinding,
)
from tracelens_tui.run.manifest import (
    CategoryManifest,
    CategoryMetadata,
    CategoryMetrics,
    GpuUtilization,
    ManifestCategory,
    ModelInfo,
    OperationEfficiency,
    OperationMetrics,
    RunInfo,
    TimeNs,
    TraceRef,
)
from tracelens_tui.run.store import MANIFEST, MODEL_INFO, PRIORITY, RunDir

KERNEL = "Cijk_Alik_Bljk_BBS_BH_MT256x224x64"
UTILIZATION = GpuUtilization(
    total_time_ms=100.0,
    computation_time_percent=80.0,
    exposed_comm_time_percent=0.0,
    exposed_memcpy_time_percent=2.0,
    idle_time_percent=18.0,
)
TIME = TimeNs(
    window=100_000_000,
    busy=82_000_000,
    idle=18_000_000,
    compute=80_000_000,
    comm=0,
    exposed_comm=0,
    memcpy=2_000_000,
    exposed_memcpy=2_000_000,
)
TIMELINE = (
    ("computation_time", 80.0, 80.0),
    ("exposed_comm_time", 0.0, 0.0),
    ("exposed_memcpy_time", 2.0, 2.0),
    ("busy_time", 82.0, 82.0),
    ("idle_time", 18.0, 18.0),
    ("total_time", 100.0, 100.0),
    ("total_comm_time", 0.0, 0.0),
    ("total_memcpy_time", 2.0, 2.0),
)
UNIFIED = (
    ("aten::mm", "GEMM", 10, 50_000.0),
    ("aten::add", "elementwise", 20, 20_000.0),
    ("aten::copy_", "elementwise", 5, 6_000.0),
    ("aten::foo", "other", 2, 4_000.0),
)


def run_info(trace: Path) -> RunInfo:
    """What run.json says."""
    return RunInfo(
        run_id="fixture",
        created=datetime(2025, 1, 2, tzinfo=timezone.utc),
        trace=TraceRef(path=str(trace), relative="../trace.json.gz", fingerprint="0123456789abcdef", size=1),
        platform="MI300X",
        platform_note="device name AMD Instinct MI300X",
        analyst="rules",
        versions={"tracelens-tui": __version__},
    )


def make_run(path: Path) -> RunDir:
    """Make the run directory, everything but the report, and return it."""
    run = RunDir.create(path, run_info(path.parent / "trace.json.gz"))
    write_csv(run, "perf_report_csvs/gpu_timeline.csv", ("type", "time ms", "percent"), TIMELINE)
    write_csv(
        run,
        "perf_report_csvs/unified_perf_summary.csv",
        ("name", "op category", "operation_count", "Kernel Time (µs)_sum"),
        UNIFIED,
    )
    write_csv(run, "perf_report_csvs/quality.csv", ("code", "count", "message", "effect", "share_of_busy", "gates"), ())
    run.write_json(MANIFEST, manifest())
    run.write_json(MODEL_INFO, ModelInfo(model="Toy", architecture="Transformer", precision="bf16"))
    for name, display in (("gemm", "GEMM"), ("elementwise", "elementwise"), ("other", "other")):
        run.write_json(f"metadata/{name}_metadata.json", metadata(name, display))
    for metrics in all_metrics():
        run.write_json(f"category_data/{metrics.category}_metrics.json", metrics)
    for file in findings_files():
        folder = "category_findings" if file.tier == "compute" else "system_findings"
        run.write_json(f"{folder}/{file.category}_findings.json", file)
    run.write_json(PRIORITY, priority())
    run.finish(*every_file(run))
    return run


def every_file(run: RunDir) -> list[str]:
    """All files of the run that can be finished."""
    names = (path.relative_to(run.path) for path in run.path.rglob("*") if path.suffix in {".json", ".csv", ".md"})
    return sorted(str(name) for name in names if str(name) != "run.json")


def write_csv(run: RunDir, relative: str, header: tuple[str, ...], rows: tuple[tuple[object, ...], ...]) -> None:
    """Write a table."""
    with run.absolute(relative).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def manifest() -> CategoryManifest:
    """The index of the run."""
    return CategoryManifest(
        platform="MI300X",
        trace_path="trace.json.gz",
        gpu_utilization=UTILIZATION,
        categories=[
            ManifestCategory(
                name="cpu_idle",
                display_name="CPU/Idle Analysis",
                skill="cpu-idle",
                tier="system",
                ops_count=0,
                priority=0,
            ),
            _category("gemm", "GEMM", "gemm", 1, 50.0),
            _category("elementwise", "elementwise", "elementwise", 2, 26.0),
            _category("other", "other", "generic", 1, 4.0),
            ManifestCategory(
                name="kernel_fusion", display_name="Kernel Fusion", skill="kernel-fusion", tier="system", ops_count=1
            ),
        ],
        rooflines=True,
        device=0,
        time_ns=TIME,
        linked_percent=100.0,
        modelled_percent=87.5,
    )


def _category(name: str, display: str, skill: str, ops: int, ms: float) -> ManifestCategory:
    return ManifestCategory(
        name=name,
        display_name=display,
        skill=skill,
        tier="compute_kernel",
        ops_count=ops,
        csv_file=f"category_data/{name}_ops.csv",
        metadata_file=f"metadata/{name}_metadata.json",
        gpu_kernel_time_ms=ms,
        cpu_duration_ms=1.0,
        sync_time_ms=0.0,
        sync_ops_count=0,
        has_sync_bottleneck=False,
    )


def metadata(name: str, display: str) -> CategoryMetadata:
    """Platform figures of a category."""
    return CategoryMetadata(
        platform="MI300X",
        peak_hbm_bw_tbs=5.3,
        max_achievable_tflops={"matrix_bf16": 708.0, "matrix_fp8": 1273.0},
        memory_gb=192.0,
        trace_path="trace.json.gz",
        category=display,
        category_name=name,
        gpu_utilization=UTILIZATION,
    )


def all_metrics() -> list[CategoryMetrics]:
    """Metrics of the three compute categories."""
    mm = _metrics(0, "aten::mm", 10, 50.0, 100.0, 60.0, "compute", "(8192,2432) bf16<br>(2432,9728) bf16")
    add = _metrics(1, "aten::add", 20, 20.0, 20 / 26 * 100, 50.0, "memory", "(8192,8192) fp32")
    copy = _metrics(2, "aten::copy_", 5, 6.0, 6 / 26 * 100, None, None, "—")
    foo = _metrics(3, "aten::foo", 2, 4.0, 100.0, None, None, "—")
    return [
        _category_metrics("gemm", 50.0, [mm]),
        _category_metrics("elementwise", 26.0, [add, copy]),
        _category_metrics("other", 4.0, [foo]),
    ]


def _category_metrics(name: str, ms: float, operations: list[OperationMetrics]) -> CategoryMetrics:
    return CategoryMetrics(
        category=name,
        status="OK",
        total_time_ms=ms,
        percent_of_compute=ms,
        operation_count=sum(operation.count for operation in operations),
        operations=operations,
    )


def _metrics(
    row: int, name: str, count: int, ms: float, share: float, efficiency: float | None, bound: str | None, args: str
) -> OperationMetrics:
    rated = efficiency is not None
    return OperationMetrics(
        row=row,
        name=name,
        count=count,
        time_ms=ms,
        percent_of_category=share,
        percent_of_total=ms,
        efficiency=OperationEfficiency.model_validate(
            {
                "efficiency_percent": efficiency,
                "bound_type": bound,
                "flops_per_byte": 1572.2 if bound == "compute" else 0.25 if rated else None,
                "compute_spec": "matrix_bf16" if rated else None,
                "resolved_peak_maf": 708.0 if rated else None,
                "resolved_peak_hbm_bw": 5.3 if rated else None,
            }
        ),
        args=args,
        library="Tensile" if row == 0 else None,
        launcher_path="model.py(12): forward" if row == 0 else "—",
        kernel_name=KERNEL if row == 0 else "—",
        kernel_name_trunc=KERNEL if row == 0 else "—",
        dims=[[8192, 2432], [2432, 9728]] if row == 0 else None,
        dtype="bf16" if row == 0 else None,
        exposed_ms=ms,
    )


def operation(metrics: OperationMetrics) -> Operation:
    """The row that a finding shows of an operation."""
    efficiency = metrics.efficiency
    compute = efficiency.bound_type == "compute"
    rated = efficiency.efficiency_percent is not None
    return Operation(
        row=metrics.row,
        name=metrics.name,
        args=metrics.args,
        dims=metrics.dims,
        dtype=metrics.dtype,
        kernel_path=metrics.launcher_path,
        kernel_name=metrics.kernel_name_trunc,
        count=metrics.count,
        time_ms=metrics.time_ms,
        percent_of_window=metrics.percent_of_total or 0.0,
        flops_per_byte=efficiency.flops_per_byte,
        efficiency_percent=efficiency.efficiency_percent,
        peak=(efficiency.resolved_peak_maf if compute else efficiency.resolved_peak_hbm_bw) if rated else None,
        peak_unit=("TFLOPS" if compute else "TB/s") if rated else None,
        bound=efficiency.bound_type,
    )


def findings_files() -> list[FindingsFile]:
    """Findings of every category."""
    gemm, elementwise, _ = all_metrics()
    return [
        _file("gemm", "gemm", "GEMM", "compute", [gemm_finding(gemm)]),
        _file("elementwise", "elementwise", "elementwise", "compute", [_add_finding(elementwise)]),
        FindingsFile(
            agent="generic",
            analyst="rules",
            category="other",
            display_name="other",
            tier="compute",
            status="no_data",
            message="no operation has a roofline",
            findings=[],
        ),
        _file("kernel-fusion", "kernel_fusion", "Kernel Fusion", "fusion", [_fusion_finding()]),
        _file("cpu-idle", "cpu_idle", "CPU/Idle Analysis", "system", [_idle_finding()]),
    ]


def _file(agent: str, category: str, display: str, tier: str, findings: list[Finding]) -> FindingsFile:
    return FindingsFile.model_validate(
        {
            "agent": agent,
            "analyst": "rules",
            "category": category,
            "display_name": display,
            "tier": tier,
            "status": "ok",
            "findings": findings,
        }
    )


def gemm_finding(metrics: CategoryMetrics) -> Finding:
    """The first finding of the run."""
    return Finding(
        id="gemm-1",
        agent="gemm",
        analyst="rules",
        tier="compute",
        category="gemm",
        title="Tune the long bf16 products",
        library="Tensile",
        bound="compute",
        confidence="medium",
        impact=Impact(low=15.0, mid=17.5, high=20.0),
        operations=[operation(one) for one in metrics.operations],
        insight="[[op]] takes [[time]] at [[efficiency]] of its roof.",
        action="Pass `torch.backends.cuda.preferred_blas_library(1)` or pad the inner dimension.",
        identification="Compute-bound products below the roof.",
        reasoning="One call runs for long, so launches do not matter; [[op]] is called [[calls]].",
        resolution="A longer inner dimension lets each tile load wider rows.",
        evidence=[
            _evidence("op", "operation", "aten::mm", "", "category_data/gemm_metrics.json", "operations[row=0].name"),
            _evidence("time", "kernel time", 50.0, "ms", *UNIFIED_TIME),
            _evidence(
                "efficiency",
                "share of the roof",
                60.0,
                "%",
                "category_data/gemm_metrics.json",
                "operations[row=0].efficiency.efficiency_percent",
            ),
            _evidence(
                "calls",
                "calls",
                10,
                "times",
                "perf_report_csvs/unified_perf_summary.csv",
                "row=0,column=operation_count",
            ),
        ],
        caveats=["The model's shapes are fixed by its weights."],
    )


UNIFIED_TIME = (
    "perf_report_csvs/unified_perf_summary.csv",
    "row=0,column=Kernel Time (µs)_sum,scale=0.001",
)


def _evidence(name: str, label: str, value: float | str, unit: str, source: str, key: str) -> Evidence:
    return Evidence(id=name, label=label, value=value, unit=unit, source=source, key=key)


def _add_finding(metrics: CategoryMetrics) -> Finding:
    return Finding(
        id="elementwise-1",
        agent="elementwise",
        analyst="rules",
        tier="compute",
        category="elementwise",
        title="Merge the additions",
        bound="memory",
        confidence="low",
        impact=Impact(low=7.5, mid=8.75, high=10.0),
        operations=[operation(metrics.operations[0])],
        insight="The additions take [[time]].",
        action="Compile the region.",
        identification="Memory-bound elementwise ops below the roof.",
        reasoning="Each addition moves its tensors once.",
        resolution="A compiled region keeps the values in registers.",
        evidence=[
            _evidence(
                "time",
                "kernel time",
                20.0,
                "ms",
                "category_data/elementwise_metrics.json",
                "operations[0].time_ms",
            )
        ],
    )


def _fusion_finding() -> Finding:
    return Finding(
        id="kernel_fusion-1",
        agent="kernel-fusion",
        analyst="rules",
        tier="fusion",
        category="kernel_fusion",
        title="Fuse the activation with the addition",
        confidence="medium",
        impact=Impact(low=3.0, mid=3.5, high=4.0),
        kernels=[
            FusedKernel(name="vectorized_elementwise_kernel<4, at::native::AddFunctor>", type="elementwise", duration_us=12.5, modelled=True),
            FusedKernel(name="softmax_warp_forward", type="softmax", duration_us=7.25, modelled=False),
        ],
        pattern="activation",
        insight="Two neighbouring kernels work on the same shape.",
        action="Compile the module.",
        identification="Adjacent kernels of one module.",
        reasoning="If the second kernel reads what the first writes, the intermediate need not be stored.",
        resolution="One kernel keeps the intermediate on chip.",
        evidence=[],
    )  # fmt: skip


def _idle_finding() -> Finding:
    return Finding(
        id="cpu_idle-1",
        agent="cpu-idle",
        analyst="rules",
        tier="system",
        category="cpu_idle",
        title="Keep the queue filled",
        confidence="high",
        impact=Impact(low=0.0, mid=15.75, high=18.0),
        metrics=[
            Metric(metric="Idle share", value="[[idle]]", flagged=True),
            Metric(metric="Exposed copies", value="[[copies]]", flagged=False),
        ],
        insight="The GPU is idle for [[idle]] of the window.",
        action="Capture the step in a graph.",
        identification="Idle time above the threshold.",
        reasoning="Kernels start as soon as they are launched.",
        resolution="A graph submits the step with one call.",
        evidence=[
            _evidence(
                "idle", "idle share", 18.0, "%", "perf_report_csvs/gpu_timeline.csv", "row=idle_time,column=percent"
            ),
            _evidence(
                "copies", "exposed copies", 2.0, "%", "perf_report_csvs/gpu_timeline.csv", "row=2,column=percent"
            ),
        ],
    )


def priority() -> PriorityData:
    """The ranking: 17.5, 15.75, 8.75, 3.5."""
    return PriorityData(
        baseline_ms=100.0,
        findings=[
            _ranked(1, "gemm-1", "compute", "gemm", "Tune the long bf16 products", (15.0, 17.5, 20.0), 1, "compute", "Tensile"),
            _ranked(2, "cpu_idle-1", "system", "cpu_idle", "Keep the queue filled", (0.0, 15.75, 18.0), 0),
            _ranked(3, "elementwise-1", "compute", "elementwise", "Merge the additions", (7.5, 8.75, 10.0), 1, "memory"),
            _ranked(4, "kernel_fusion-1", "fusion", "kernel_fusion", "Fuse the activation with the addition", (3.0, 3.5, 4.0), 2),
        ],
        priorities=[
            _row(1, "gemm", "GEMM", 50.0, 62.5, 1, (15.0, 17.5, 20.0)),
            _row(2, "elementwise", "elementwise", 26.0, 32.5, 2, (7.5, 8.75, 10.0)),
            _row(3, "other", "other", 4.0, 5.0, 1, None),
        ],
    )  # fmt: skip


def _ranked(
    rank: int,
    name: str,
    tier: str,
    category: str,
    title: str,
    scores: tuple[float, float, float],
    members: int,
    bound: str | None = None,
    library: str | None = None,
) -> RankedFinding:
    return RankedFinding.model_validate(
        {
            "id": name,
            "tier": tier,
            "category": category,
            "category_rank": 1,
            "global_rank": rank,
            "title": title,
            "bound_type": bound,
            "library": library,
            "impact_score": scores[1],
            "impact_score_low": scores[0],
            "impact_score_high": scores[2],
            "member_count": members,
        }
    )


def _row(
    rank: int,
    category: str,
    display: str,
    ms: float,
    percent: float,
    ops: int,
    scores: tuple[float, float, float] | None,
) -> Priority:
    low, mid, high = scores or (None, None, None)
    return Priority(
        rank=rank,
        category=category,
        display_name=display,
        gpu_kernel_time_ms=ms,
        percent_of_compute=percent,
        operation_count=ops,
        impact_score=mid,
        impact_score_low=low,
        impact_score_high=high,
        source="findings" if scores else "manifest",
    )
