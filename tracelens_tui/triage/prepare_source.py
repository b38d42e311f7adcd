"""What the prepare stage knows, and what a system sub-agent adds to the run directory from it."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.run.category_files import CategoryMetadata, TimeBreakdown
from tracelens_tui.run.findings import Schema
from tracelens_tui.run.manifest import GpuUtilization, ManifestCategory
from tracelens_tui.text import plain
from tracelens_tui.triage.context import ContextFile
from tracelens_tui.triage.origins import Origin


@dataclass(frozen=True, slots=True)
class PrepareSource:
    """The analysis with what several files need of it."""

    analysis: Analysis
    split: TimeSplit  # of the chosen device
    context: ContextFile
    unified: pl.DataFrame  # the table unified_perf_summary
    ops: pl.DataFrame  # rows of the chosen device, without those that copy: multi-kernel speaks of them
    kernels: Mapping[int, list[str]]  # names by row, most time first
    origins: Mapping[int, Origin]  # by row
    utilization: GpuUtilization
    platform: str
    trace: str


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A system sub-agent's entry in the manifest, with its decision, and its files by path in the run directory."""

    entry: ManifestCategory
    files: Mapping[str, Schema]


def category_metadata(
    source: PrepareSource, name: str, display: str, times: TimeBreakdown | None = None
) -> CategoryMetadata:
    """Return ``metadata/<name>_metadata.json``; a system category has no ``times``."""
    platform = source.analysis.platform
    peaks = {spec: platform.roof_tflops(spec) for spec in platform.peaks} if platform else {}
    return CategoryMetadata(
        platform=source.platform,
        peak_hbm_bw_tbs=platform.mem_bw_gbps / 1e3 if platform else None,
        max_achievable_tflops={spec: peak for spec, peak in peaks.items() if peak is not None},
        memory_gb=platform.memory_gb if platform else None,
        trace_path=source.trace,
        category=display,
        category_name=name,
        gpu_utilization=source.utilization,
        time_breakdown=times,
        tier="system" if times is None else "compute_kernel",
        measured_hbm_bw_tbs=(
            platform.measured_bw_gbps / 1e3 if platform and platform.measured_bw_gbps is not None else None
        ),
        platform_source=plain(source.analysis.platform_note),
    )
