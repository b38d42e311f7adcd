"""The findings of the hand-made run and their ranking; see ``fixture_run``."""

from tests.report.fixture_metrics import all_metrics
from tracelens_tui.run.category_files import CategoryMetrics, OperationMetrics
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

FUSED_KERNEL = "vectorized_elementwise_kernel<4, at::native::AddFunctor>"


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
            FusedKernel(name=FUSED_KERNEL, type="elementwise", duration_us=12.5, modelled=True),
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
    findings = {finding.id: finding for file in findings_files() for finding in file.findings}
    order = ("gemm-1", "cpu_idle-1", "elementwise-1", "kernel_fusion-1")
    return PriorityData(
        baseline_ms=100.0,
        findings=[ranked(rank, findings[name]) for rank, name in enumerate(order, 1)],
        priorities=[
            _row(1, "gemm", "GEMM", 50.0, 62.5, 1, (15.0, 17.5, 20.0)),
            _row(2, "elementwise", "elementwise", 26.0, 32.5, 2, (7.5, 8.75, 10.0)),
            _row(3, "other", "other", 4.0, 5.0, 1, None),
        ],
    )


def ranked(rank: int, finding: Finding) -> RankedFinding:
    """A finding's place."""
    return RankedFinding(
        id=finding.id,
        tier=finding.tier,
        category=finding.category,
        category_rank=1,
        global_rank=rank,
        title=finding.title,
        bound_type=finding.bound,
        library=finding.library,
        impact_score=finding.impact.mid,
        impact_score_low=finding.impact.low,
        impact_score_high=finding.impact.high,
        member_count=len(finding.operations),
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
