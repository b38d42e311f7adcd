"""From the files of a run directory to the assignments of its sub-agents, and the packs that go with them."""

from collections.abc import Mapping, Sequence

import msgspec

from tracelens_tui.perf.parse import as_float, op_args
from tracelens_tui.report.sources import read_csv
from tracelens_tui.run.category_files import CategoryMetrics, OperationMetrics
from tracelens_tui.run.findings import Operation, Schema
from tracelens_tui.run.fusion_files import KernelFusionMetrics
from tracelens_tui.run.idle_files import CpuIdleMetrics
from tracelens_tui.run.manifest import CategoryManifest, ManifestCategory
from tracelens_tui.run.multi_kernel_files import MultiKernelMetrics
from tracelens_tui.run.store import RunDir, metrics_file, ops_file
from tracelens_tui.triage.advice import all_rules
from tracelens_tui.triage.agents import CPU_IDLE, KERNEL_FUSION, MULTI_KERNEL, agent_of
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.clusters import compute_pack
from tracelens_tui.triage.context import CONTEXT, ContextFile, run_context
from tracelens_tui.triage.facts import MIB, KernelFact, OpFacts, RunContext, Scalar
from tracelens_tui.triage.pack import EvidenceFile, evidence_file

MEAN_DIFFERS = 0.01
Row = Mapping[str, str]

SYSTEM_METRICS: Mapping[str, type[Schema]] = {
    CPU_IDLE.id: CpuIdleMetrics,
    MULTI_KERNEL.id: MultiKernelMetrics,
    KERNEL_FUSION.id: KernelFusionMetrics,
}
"""Schema of the metrics file of each system sub-agent."""


def assignments(run: RunDir, manifest: CategoryManifest) -> list[Assignment]:
    """Return the assignment of every planned category, in the manifest's order."""
    compute = [category for category in manifest.categories if category.tier == "compute_kernel"]
    metrics = {one.name: run.read_json(metrics_file(one.name), CategoryMetrics) for one in compute}
    context = run_context(run.read_json(CONTEXT, ContextFile), metrics)
    return [
        _compute(run, one, metrics[one.name], context) if one.name in metrics else _system(run, one, context)
        for one in manifest.categories
        if one.planned
    ]


def packs(found: Sequence[Assignment]) -> dict[str, EvidenceFile]:
    """Return the evidence file of each sub-agent by its path; system sub-agents have theirs already."""
    by_agent: dict[str, EvidenceFile] = {}
    for one in found:
        if one.agent.tier == "compute":
            before = by_agent.get(one.agent.id)
            categories = {**(before.categories if before else {}), one.category: one.pack}
            by_agent[one.agent.id] = EvidenceFile(agent=one.agent.id, categories=categories)
    return {evidence_file(agent): file for agent, file in by_agent.items()}


def op_facts(category: str, metrics: CategoryMetrics, rows: Sequence[Row]) -> tuple[OpFacts, ...]:
    """Return the operations of a category: its metrics with what only the ops table holds."""
    by_row = {int(row["row"]): row for row in rows}
    return tuple(_op(category, one, by_row[one.row]) for one in metrics.operations)


def operation(metrics: OperationMetrics) -> Operation:
    """Return the row that a finding shows for an operation."""
    found = metrics.efficiency
    percent, mean = found.efficiency_percent, found.mean_efficiency_percent
    compute = found.bound_type == "compute"
    peak = found.resolved_peak_maf if compute else found.resolved_peak_hbm_bw
    rated = percent is not None and peak is not None
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
        flops_per_byte=found.flops_per_byte,
        efficiency_percent=percent,
        mean_efficiency_percent=mean if _differs(percent, mean) else None,
        peak=peak if rated else None,
        peak_unit=("TFLOPS" if compute else "TB/s") if rated else None,
        bound=found.bound_type,
        efficiency_low_percent=found.efficiency_low_percent,
        efficiency_high_percent=found.efficiency_high_percent,
    )


def _compute(run: RunDir, entry: ManifestCategory, metrics: CategoryMetrics, context: RunContext) -> Assignment:
    agent = agent_of(entry.name)
    ops = op_facts(entry.name, metrics, read_csv(run.absolute(ops_file(entry.name))))
    pack = compute_pack(entry.name, ops, metrics.category_findings, context, all_rules(agent.id))
    return Assignment(agent=agent, entry=entry, metrics=metrics, system=None, ops=ops, run=context, pack=pack)


def _system(run: RunDir, entry: ManifestCategory, context: RunContext) -> Assignment:
    agent = agent_of(entry.name)
    file = run.read_json(evidence_file(agent.id), EvidenceFile)
    return Assignment(
        agent=agent,
        entry=entry,
        metrics=None,
        system=run.read_json(metrics_file(entry.name), SYSTEM_METRICS[agent.id]),
        ops=(),
        run=context,
        pack=file.categories[entry.name],
    )


def _op(category: str, metrics: OperationMetrics, row: Row) -> OpFacts:
    args = op_args(metrics.name, metrics.input_dims, metrics.input_type, row.get("Input Strides", ""))
    moved = _number(row, "Data Moved (MB)")
    exposed = metrics.time_ms if metrics.exposed_ms is None else metrics.exposed_ms
    mean = _number(row, "Kernel Time (µs)_mean")
    return OpFacts(
        category=category,
        view=operation(metrics),
        types=args.types,
        dims=args.dims,
        strides=args.strides,
        params=_params(row.get("perf_params", "")),
        exposed_ms=exposed,
        mean_us=0.0 if mean is None else mean,
        roof_us=_number(row, "Roofline Time (µs)_first"),
        bytes=None if moved is None else moved * MIB,
        precision=metrics.dtype,
        library=metrics.library,
        kernels=_kernels(row.get("kernel_details_summary", "")),
        spread=metrics.cov if metrics.high_variance else None,
    )


def _differs(ratio: float | None, mean: float | None) -> bool:
    return ratio is not None and mean is not None and abs(mean - ratio) > MEAN_DIFFERS * ratio


def _number(row: Row, column: str) -> float | None:
    return as_float(row.get(column, ""))


def _params(text: str) -> Mapping[str, Scalar]:
    return msgspec.json.decode(text, type=dict[str, Scalar]) if text else {}


class _Kernel(msgspec.Struct):
    """One entry of ``kernel_details_summary``."""

    name: str
    count: int
    total_duration_us: float


def _kernels(text: str) -> tuple[KernelFact, ...]:
    """The kernels of an op, most time first; one that ran on several streams stands once."""
    found: dict[str, tuple[float, int]] = {}
    for one in msgspec.json.decode(text, type=list[_Kernel]) if text else []:
        time, count = found.get(one.name, (0.0, 0))
        found[one.name] = (time + one.total_duration_us, count + one.count)
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return tuple(KernelFact(name, time / 1e3, count) for name, (time, count) in ordered)
