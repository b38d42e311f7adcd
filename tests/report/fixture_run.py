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

from tests.report.fixture_findings import findings_files, priority
from tests.report.fixture_metrics import all_metrics
from tracelens_tui import __version__
from tracelens_tui.run.category_files import CategoryMetadata
from tracelens_tui.run.manifest import (
    CategoryManifest,
    GpuUtilization,
    ManifestCategory,
    ModelInfo,
    RunInfo,
    TimeNs,
    TraceRef,
)
from tracelens_tui.run.store import MANIFEST, MODEL_INFO, PRIORITY, RunDir

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
