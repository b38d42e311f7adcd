"""The executive summary, the warnings and the sentences that stand where there is nothing to report."""

import math

from tracelens_tui.report.inputs import Inputs, Ranked
from tracelens_tui.report.markdown import Md, cell, escaped, prose
from tracelens_tui.report.numbers import NONE, ms, number, pct, score, share
from tracelens_tui.run.findings import FindingsFile, Priority, SetAside
from tracelens_tui.text import plain

NO_COMPUTE = "✅ No compute kernel optimization opportunities identified"
NO_FUSION = "No kernel fusion opportunities detected."
NO_SYSTEM = "✅ No system-level bottleneck identified"

_TIER_NAMES = {"compute": "compute kernels", "fusion": "kernel fusion", "system": "the system"}


def paragraph(inputs: Inputs) -> Md:
    """Return the summary: where the time goes, what can be won, what to do first, what to be careful about."""
    sentences = [
        _part(inputs),
        _time(inputs),
        _bottleneck(inputs),
        _findings(inputs),
        _first(inputs),
        *_cautions(inputs),
    ]
    return Md(" ".join(sentence for sentence in sentences if sentence))


def metric_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return the five rows of the summary's table."""
    use = inputs.manifest.gpu_utilization
    top = _top(inputs)
    known = inputs.manifest.time_ns is not None
    bottleneck = f"{top.display_name} ({pct(top.percent_of_compute, 1)} of compute time)" if top else "none"
    return [
        (Md("Total Time"), Md(ms(use.total_time_ms) if known else "n/a (no GPU events)")),
        (Md("Compute %"), Md(pct(use.computation_time_percent) if known else "n/a")),
        (Md("Idle %"), Md(pct(use.idle_time_percent) if known else "n/a")),
        (Md("Exposed Communication %"), Md(pct(use.exposed_comm_time_percent) if known else "n/a")),
        (Md("Top Bottleneck Category"), cell(bottleneck)),
    ]


def failed_rows(inputs: Inputs) -> list[tuple[Md, ...]]:
    """Return the sub-agents that failed or were stood in for, and what was set aside: analysis, tier, what happened."""
    files = inputs.files.values()
    rows = [(file, cell(text)) for file in files if (text := _failure(file))]
    rows += [(file, set_aside(one)) for file in files for one in file.set_aside]
    return [(cell(file.display_name), Md(file.tier), text) for file, text in rows]


def variance_rows(inputs: Inputs) -> list[tuple[Md, ...]]:
    """Return the ops whose calls differ too much for a mean to say much."""
    return [
        (
            cell(operation.name),
            cell(name),
            Md(NONE if operation.cov is None else f"{operation.cov:.2f}"),
            Md(number(operation.time_ms)),
        )
        for name, metrics in inputs.metrics.items()
        for operation in metrics.operations
        if operation.high_variance
    ]


def quality_rows(inputs: Inputs) -> list[tuple[Md, ...]]:
    """Return the defects of the data that touch the numbers."""
    return [(cell(row.message), Md(str(row.count)), cell(row.effect or NONE)) for row in inputs.quality if row.notable]


def warnings(inputs: Inputs) -> list[str]:
    """Return the report's warnings for machines, one line each, as plain text."""
    failed = [f"{file.display_name}: {text}" for file in inputs.files.values() if (text := _failure(file))]
    failed += [f"{file.display_name}: {set_aside(one)}" for file in inputs.files.values() for one in file.set_aside]
    varying = [
        f"{name}: the calls of {operation.name} vary (CoV {operation.cov or 0:.2f}, {ms(operation.time_ms)})"
        for name, metrics in inputs.metrics.items()
        for operation in metrics.operations
        if operation.high_variance
    ]
    quality = [f"{row.code} ({row.count:,}): {row.message}" for row in inputs.quality if row.notable]
    steps = [inputs.manifest.steps_note] if inputs.manifest.steps_note else []
    return [plain(text) for text in (*failed, *varying, *quality, *steps)]


def nothing_compute(inputs: Inputs) -> Md:
    """Return the sentence that stands for the cards where there are none."""
    return Md(f"{NO_COMPUTE}: {_unjudged(inputs) or 'no op can win half a percent of the window'}.")


def _unjudged(inputs: Inputs) -> str:
    """Why no kernel could be held against a roof, empty where one could."""
    if inputs.manifest.time_ns is None:
        return "the trace has no GPU events"
    if not inputs.manifest.rooflines:
        return "without the GPU's peak rates no kernel can be held against a roof"
    if inputs.has_quality("no_shapes"):
        return "without recorded input shapes no kernel can be held against a roof"
    if any(one.efficiency.surest_percent is not None for data in inputs.metrics.values() for one in data.operations):
        return ""
    if not inputs.metrics:
        return "no kernel can be linked to an op, so none can be held against a roof"
    return "no op of this trace has both a perf model and known arguments, so none can be held against a roof"


def nothing_system(inputs: Inputs) -> Md:
    """Return the sentence that stands for the cards where there are none."""
    if inputs.manifest.time_ns is None:
        return Md(f"{NO_SYSTEM}: the trace has no GPU events.")
    use = inputs.manifest.gpu_utilization
    return Md(f"{NO_SYSTEM}: the GPU computes for {share(use.computation_time_percent)} of the window.")


def _top(inputs: Inputs) -> Priority | None:
    return max(inputs.priority.priorities, key=lambda row: row.gpu_kernel_time_ms, default=None)


def _part(inputs: Inputs) -> str:
    """Of what part of the trace the report speaks."""
    part, device = inputs.manifest.part, inputs.manifest.device
    if part is None:
        return ""
    span = f"its work on device {device} runs from {ms(part.start_ms)} to {ms(part.end_ms)} after the window's start"
    other = f" {escaped(part.elsewhere)}" if part.elsewhere else ""
    return f"This report covers a part of the trace, {escaped(part.title)}: {span}.{other}"


def _time(inputs: Inputs) -> str:
    manifest = inputs.manifest
    if manifest.time_ns is None:
        return "The trace has no GPU events, so nothing can be said about kernels, idle time or communication."
    use = manifest.gpu_utilization
    verb = "was traced for" if manifest.part is None else "has a window of"
    return (
        f"Device {manifest.device} ({escaped(manifest.platform)}) {verb} {ms(use.total_time_ms)}: "
        f"{share(use.computation_time_percent)} compute, {share(use.exposed_comm_time_percent)} exposed communication, "
        f"{share(use.exposed_memcpy_time_percent)} exposed copies, {share(use.idle_time_percent)} idle."
    )


def _bottleneck(inputs: Inputs) -> str:
    top = _top(inputs)
    if top is None:
        return ""
    return (
        f"{escaped(top.display_name)} is the largest kernel category with {ms(top.gpu_kernel_time_ms)}, "
        f"{share(top.percent_of_compute)} of compute time, in {top.operation_count:,} distinct "
        f"{'op' if top.operation_count == 1 else 'ops'}."
    )


def _findings(inputs: Inputs) -> str:
    if not inputs.ranked and (why := _unjudged(inputs)):
        return f"The triage has no findings, and that is no all-clear: {why}."
    if not inputs.ranked:
        return "The triage found nothing that is worth a change."
    counts = [(tier, len(inputs.tier(tier))) for tier in ("compute", "fusion", "system")]
    parts = ", ".join(f"{count} in {_TIER_NAMES[tier]}" for tier, count in counts if count)
    count = len(inputs.ranked)
    return f"The triage has {count} {'finding' if count == 1 else 'findings'} ({parts}){_reach(inputs.ranked)}."


def _reach(ranked: tuple[Ranked, ...]) -> str:
    impacts = [item.finding.impact for item in ranked]
    low, mid, high = (math.fsum(getattr(impact, name) or 0.0 for impact in impacts) for name in ("low", "mid", "high"))
    if not mid:
        return ""
    together = "together " if len(ranked) > 1 else ""
    return (
        f", which {together}can win {score(low)} to {share(high)} of the window (middle estimate {share(mid)}, "
        "no time counted twice)"
    )


def _first(inputs: Inputs) -> str:
    if not inputs.ranked:
        return ""
    finding = inputs.ranked[0].finding
    title = prose(finding.title, finding.evidence)
    part = "" if finding.impact.mid is None else f", {share(finding.impact.mid)} of the window"
    return f"Start with **{title}** ({escaped(finding.category)}{part}): {prose(finding.action, finding.evidence)}"


def _cautions(inputs: Inputs) -> list[str]:
    manifest = inputs.manifest
    out: list[str] = []
    if manifest.time_ns is not None and not manifest.rooflines:
        note = f" ({escaped(manifest.platform_note)})" if manifest.platform_note else ""
        out.append(f"The GPU's peak rates are not known{note}, so efficiencies and rooflines are missing.")
    if manifest.linked_percent is not None and manifest.linked_percent < 99.95:
        out.append(
            f"{share(100 - manifest.linked_percent)} of GPU time cannot be linked to the host code that launched it."
        )
    if manifest.steps_note:
        out.append(escaped(manifest.steps_note))
    gating = [row for row in inputs.quality if row.gates]
    if gating:
        out.append(f"Read the numbers with care: {escaped('; '.join(row.message.rstrip('.') for row in gating))}.")
    return out


def set_aside(one: SetAside) -> Md:
    """Return what was set aside, with what the rules give it, and why."""
    finding = one.finding
    title = prose(finding.title, finding.evidence)
    size = "" if finding.impact.mid is None else f" ({share(finding.impact.mid)} of the window)"
    return Md(f"set aside by the analyst: {title}{size}. {prose(one.reason, one.evidence)}")


def _failure(file: FindingsFile) -> str:
    if file.status == "error":
        return file.message or "failed without a message"
    return f"the rules analyst stood in: {file.fallback_reason}" if file.fallback_reason else ""
