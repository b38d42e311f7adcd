"""The prepare stage: from the analysis to the files that everything after it reads.

After this stage the trace is not needed any more: a resumed run goes on from the run directory.
"""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from tracelens_tui.analysis.info import trace_info
from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.analysis.part import elsewhere_sentence
from tracelens_tui.analysis.steady import steps_note
from tracelens_tui.analysis.tables import all_tables
from tracelens_tui.analysis.tables.write import csv_bytes, write_frames
from tracelens_tui.analysis.transfers import copying_rows
from tracelens_tui.run.category_files import TimeBreakdown
from tracelens_tui.run.findings import Schema
from tracelens_tui.run.manifest import CategoryManifest, GpuUtilization, ManifestCategory, PartInfo, TimeNs
from tracelens_tui.run.store import (
    MANIFEST,
    TABLES,
    RunDir,
    metadata_file,
    metrics_file,
    ops_file,
)
from tracelens_tui.text import plain
from tracelens_tui.triage.agents import agent_of, category_name
from tracelens_tui.triage.context import CONTEXT, context_file
from tracelens_tui.triage.derivation import derivations
from tracelens_tui.triage.fusion_stage import prepare_fusion
from tracelens_tui.triage.idle_stage import prepare_idle
from tracelens_tui.triage.metrics import NS_PER_MS, Roofs, category_metrics
from tracelens_tui.triage.model_evidence import EVIDENCE, model_evidence
from tracelens_tui.triage.multi_kernel_stage import prepare_multi_kernel
from tracelens_tui.triage.origins import origins
from tracelens_tui.triage.pack import evidence_file
from tracelens_tui.triage.plan import planned
from tracelens_tui.triage.prepare_source import PrepareSource, SystemPart, category_metadata

UNKNOWN_GPU = "Unknown GPU"
KERNELS_SHOWN = 12
SYNC_FACTOR = 5
_SYSTEM: tuple[Callable[[PrepareSource], SystemPart], ...] = (prepare_idle, prepare_multi_kernel, prepare_fusion)
_NOTE = "gpu_kernel_time_ms is the sum over calls of the union of a call's GPU intervals, on the chosen device."


def prepare(run: RunDir, analysis: Analysis, split: TimeSplit, trace: Path) -> list[str]:
    """Write tables, metrics, metadata, manifest and contexts; return their paths relative to the run directory."""
    tables = all_tables(analysis)
    paths = [f"{TABLES}/{path.name}" for path in write_frames(tables, run.tables, "csv")]
    source = _source(analysis, split, tables["unified_perf_summary"], trace)
    models: dict[str, Schema] = {
        CONTEXT: source.context,
        EVIDENCE: model_evidence(analysis, training=source.context.training),
    }
    entries: list[ManifestCategory] = []
    for display in _categories(source.ops):
        entry = _write_category(run, source, display, models)
        paths.append(ops_file(entry.name))
        entries.append(entry)
    systems = [prepare_system(source) for prepare_system in _SYSTEM]
    for part in systems:
        models |= _with_metrics(part)
    models[MANIFEST] = _manifest(source, [*(part.entry for part in systems), *entries])
    for name, model in models.items():
        run.write_json(name, model)
    return [*paths, *models]


def _with_metrics(part: SystemPart) -> dict[str, Schema]:
    """The files of a system sub-agent; its pack holds the metrics once more, so that neither can change unnoticed."""
    pack, metrics = part.files[evidence_file(part.entry.skill)], part.files[metrics_file(part.entry.name)]
    told = pack.model_copy(update={"metrics": metrics.model_dump(mode="json", by_alias=True)})
    return {**part.files, evidence_file(part.entry.skill): told}


def _source(analysis: Analysis, split: TimeSplit, unified: pl.DataFrame, trace: Path) -> PrepareSource:
    ops = analysis.ops.filter(pl.col("device") == analysis.device)
    ops = ops.filter(~pl.col("row").is_in(copying_rows(analysis).implode()))
    found = origins(analysis.trace, analysis.tree, ops["first_event"].to_list())
    use = GpuUtilization(
        total_time_ms=split.window / NS_PER_MS,
        computation_time_percent=_percent(split.compute, split.window),
        exposed_comm_time_percent=_percent(split.exposed_comm, split.window),
        exposed_memcpy_time_percent=_percent(split.exposed_memcpy, split.window),
        idle_time_percent=_percent(split.idle, split.window),
    )
    return PrepareSource(
        analysis=analysis,
        split=split,
        context=context_file(analysis, split),
        unified=unified,
        ops=ops,
        kernels=_kernels(analysis),
        origins=dict(zip(ops["row"].to_list(), found, strict=True)),
        utilization=use,
        platform=_platform_name(analysis),
        trace=str(trace.absolute()),
    )


def _categories(ops: pl.DataFrame) -> list[str]:
    """The display names of the categories, most kernel time first."""
    groups = ops.group_by("category").agg(pl.col("kernel_ns_sum").sum())
    return groups.sort(["kernel_ns_sum", "category"], descending=[True, False])["category"].to_list()


def _write_category(run: RunDir, source: PrepareSource, display: str, models: dict[str, Schema]) -> ManifestCategory:
    """Write the ops table of a category, add its JSON files to ``models`` and return its entry in the manifest."""
    name = category_name(display)
    ops = source.ops.filter(pl.col("category") == display)
    times = _breakdown(ops)
    metadata = category_metadata(source, name, display, times)
    rows = source.unified[ops["row"].to_list()].with_columns(
        ops["row"], derivations(ops, source.kernels, source.origins)
    )
    run.write_bytes(ops_file(name), csv_bytes(rows))
    models[metadata_file(name)] = metadata
    models[metrics_file(name)] = category_metrics(
        name, ops, source.kernels, source.origins, Roofs.of(metadata), source.split.window
    )
    return ManifestCategory(
        name=name,
        display_name=display,
        skill=agent_of(name).id,
        tier="compute_kernel",
        ops_count=ops.height,
        csv_file=ops_file(name),
        metadata_file=metadata_file(name),
        gpu_kernel_time_ms=times.gpu_kernel_time_ms,
        cpu_duration_ms=times.cpu_duration_ms,
        sync_time_ms=times.sync_time_ms,
        sync_ops_count=times.sync_ops_count,
        has_sync_bottleneck=times.has_sync_bottleneck,
    )


def _manifest(source: PrepareSource, categories: list[ManifestCategory]) -> CategoryManifest:
    analysis, split = source.analysis, source.split
    info = trace_info(analysis)
    return planned(
        CategoryManifest(
            platform=source.platform,
            trace_path=source.trace,
            gpu_utilization=source.utilization,
            categories=categories,
            time_metric_note=_NOTE,
            platform_note=plain(analysis.platform_note),
            rooflines=analysis.platform is not None,
            device=analysis.device,
            time_ns=TimeNs(
                window=split.window,
                busy=split.busy,
                idle=split.idle,
                compute=split.compute,
                comm=split.comm,
                exposed_comm=split.exposed_comm,
                memcpy=split.memcpy,
                exposed_memcpy=split.exposed_memcpy,
            ),
            linked_percent=info["linked_percent"],
            modelled_percent=info["modelled_percent"],
            with_stack=source.context.with_stack,
            part=_part(analysis, split),
            steps_note=steps_note(analysis),
        )
    )


def _part(analysis: Analysis, split: TimeSplit) -> PartInfo | None:
    part = analysis.part
    if part is None:
        return None
    start = split.start_ns - part.origin_ns
    other = part.elsewhere.get(analysis.device)
    return PartInfo(
        scope=part.scope.text,
        title=part.title,
        start_ms=start / NS_PER_MS,
        end_ms=(start + split.window) / NS_PER_MS,
        elsewhere="" if other is None else elsewhere_sentence(analysis.device, other),
    )


def _breakdown(ops: pl.DataFrame) -> TimeBreakdown:
    """Device and host time of a category; an op with over five times more host than kernel time counts as waiting."""
    kernel, host = pl.col("kernel_ns_sum"), pl.col("host_ns_sum")
    waiting = ops.filter((kernel > 0) & (host > SYNC_FACTOR * kernel))
    kernel_ms = int(ops["kernel_ns_sum"].sum()) / NS_PER_MS
    sync_ms = int((waiting["host_ns_sum"] - waiting["kernel_ns_sum"]).sum()) / NS_PER_MS
    return TimeBreakdown(
        gpu_kernel_time_ms=kernel_ms,
        cpu_duration_ms=int(ops["host_ns_sum"].sum()) / NS_PER_MS,
        sync_time_ms=sync_ms,
        sync_ops_count=waiting.height,
        has_sync_bottleneck=sync_ms > 0.1 * kernel_ms and sync_ms > 1,
        note=_NOTE,
    )


def _kernels(analysis: Analysis) -> dict[int, list[str]]:
    """The kernels of each row by name, most time first."""
    named = (
        analysis.kernels.filter(pl.col("row").is_not_null())
        .group_by("row", "kernel", maintain_order=True)
        .agg(pl.col("sum_ns").sum())
        .sort(["row", "sum_ns", "kernel"], descending=[False, True, False])
        .group_by("row", maintain_order=True)
        .agg(pl.col("kernel").head(KERNELS_SHOWN))
    )
    return {int(row): list(names) for row, names in named.iter_rows()}


def _platform_name(analysis: Analysis) -> str:
    """The platform's name, else the trace's own name of the device."""
    if analysis.platform is not None:
        return analysis.platform.name
    metadata = analysis.trace.metadata
    named = [device.name for device in metadata.devices if device.id == analysis.device and device.name]
    hints = named or list(metadata.gpu_name_hints)
    return plain(hints[0], 80) if hints else UNKNOWN_GPU


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
