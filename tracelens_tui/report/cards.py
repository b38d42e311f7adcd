"""Findings as the templates print them: card, detail block and table rows, every text already Markdown."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from tracelens_tui.report.markdown import Md, cell, code, escaped, prose
from tracelens_tui.report.numbers import NONE, NOT_QUANTIFIABLE, figure, marker, number, pct, ratio, score, share
from tracelens_tui.run.findings import Finding, FusedKernel, Operation
from tracelens_tui.text import clip

ANOMALY = 100.0  # %: above it the measurement or the model is off
KERNEL_NAME_LIMIT = 60  # of a fusion's kernels
FEW_KEYS = 3  # more are not all written out
LONG_KEY = 80
NAME_LIMIT = 500  # of an op: longer ones are no names

_COLUMN = re.compile(r",column=(.+?)(?:,scale=[^,]*)?$")
_STEP = re.compile(r"(?=[.\[])")
_BY_NUMBER = {1: "🔴", 2: "🟡"}
_BY_CONFIDENCE = {"high": "🔴", "medium": "🟡", "low": "🟢"}
_ANCHORS = {
    "compute": "detailed-analysis-compute-p",
    "fusion": "detailed-analysis-fusion-P",
    "system": "detailed-analysis-system-p",
}
_INSIGHTS = {
    "compute": "Compute kernel insights",
    "fusion": "Kernel fusion insights",
    "system": "System-level insights",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One finding."""

    number: int
    tier: Md
    category: Md
    icon: Md
    title: Md
    heading: Md  # title with the library
    insight: Md
    action: Md
    impact: Md
    low: Md
    mid: Md
    high: Md
    quantified: bool
    low_end: Md
    high_end: Md
    confidence: Md
    anchor: Md
    link: Md
    identification: Md
    reasoning: Md
    resolution: Md
    caveats: tuple[Md, ...]
    operations: tuple[tuple[Md, ...], ...]
    kernels: tuple[tuple[Md, ...], ...]
    metrics: tuple[tuple[Md, ...], ...]
    coverage: Md
    pattern: Md
    share: Md | None  # of the window, where a compute finding has no impact


def card_of(finding: Finding, number: int) -> Card:
    """Return the finding as the templates print it under its P-number; UserError for unknown evidence."""
    impact = finding.impact
    title = prose(finding.title, finding.evidence)
    anchor = f"{_ANCHORS[finding.tier]}{number}"
    return Card(
        number=number,
        tier=Md(finding.tier),
        category=escaped(finding.category),
        icon=Md(_icon(finding, number)),
        title=title,
        heading=Md(f"{title} ({escaped(finding.library)})") if finding.library else title,
        insight=prose(finding.insight, finding.evidence),
        action=prose(finding.action, finding.evidence),
        impact=_impact(finding),
        low=Md(marker(impact.low)),
        mid=Md(marker(impact.mid)),
        high=Md(marker(impact.high)),
        quantified=impact.mid is not None,
        low_end=Md(score(impact.low)),
        high_end=Md(score(impact.high)),
        confidence=Md(finding.confidence),
        anchor=Md(anchor),
        link=Md(f"[Detailed Analysis: {_INSIGHTS[finding.tier]} > P{number}](#{anchor})"),
        identification=Md(f"{prose(finding.identification, finding.evidence)}{_sources(finding)}"),
        reasoning=prose(finding.reasoning, finding.evidence),
        resolution=prose(finding.resolution, finding.evidence),
        caveats=tuple(prose(text, finding.evidence) for text in finding.caveats),
        operations=tuple(operation_row(operation) for operation in finding.operations),
        kernels=tuple(_kernel_row(kernel) for kernel in finding.kernels),
        metrics=tuple(
            (cell(row.metric), prose(row.value, finding.evidence), Md("Yes" if row.flagged else "No"))
            for row in finding.metrics
        ),
        coverage=Md(_coverage(finding.kernels)),
        pattern=escaped(finding.pattern or "unnamed"),
        share=_share(finding),
    )


def operation_row(operation: Operation) -> tuple[Md, ...]:
    """Return the ten cells of a row of a compute finding's table."""
    return (
        cell(clip(operation.name, NAME_LIMIT)),
        cell(operation.args),
        cell(operation.kernel_path),
        cell(operation.kernel_name),
        Md(number(operation.time_ms)),
        Md(pct(operation.percent_of_window)),
        Md(str(operation.count)),
        Md(ratio(operation.flops_per_byte)),
        Md(efficiency_text(operation)),
        Md(operation.bound or NONE),
    )


def efficiency_text(operation: Operation) -> str:
    """Return ``83.4% of 708 TFLOPS``, with the mean of per-call ratios where it differs."""
    value = operation.efficiency_percent
    if value is None:
        return NONE
    least, most = operation.efficiency_low_percent, operation.efficiency_high_percent
    if least is None or most is None:
        text, highest = f"{value:.1f}%", value
    else:
        text, highest = f"{least:.1f}% to {most:.1f}%", most
    if operation.peak is not None and operation.peak_unit is not None:
        text += f" of {figure(operation.peak)} {operation.peak_unit}"
    if operation.mean_efficiency_percent is not None and least is None:
        text += f" (mean of calls {operation.mean_efficiency_percent:.1f}%)"
    return f"{text} [ANOMALY] - verify measurement" if highest > ANOMALY else text


def _impact(finding: Finding) -> Md:
    if finding.impact.mid is None:
        return Md(NOT_QUANTIFIABLE)
    text = f"impact_score: {score(finding.impact.mid)}"
    if finding.tier == "fusion":
        text += f" (perf-model coverage {_coverage(finding.kernels)} kernels)"
    return Md(text)


def _share(finding: Finding) -> Md | None:
    if finding.impact.mid is not None or finding.tier != "compute":
        return None
    return Md(share(math.fsum(operation.percent_of_window for operation in finding.operations)))


def _coverage(kernels: Sequence[FusedKernel]) -> str:
    return f"{sum(kernel.modelled for kernel in kernels)}/{len(kernels)}"


def _kernel_row(kernel: FusedKernel) -> tuple[Md, ...]:
    return (
        cell(clip(kernel.name, KERNEL_NAME_LIMIT)),
        cell(kernel.type),
        Md(number(kernel.duration_us)),
        Md("Yes" if kernel.modelled else "No"),
    )


def _icon(finding: Finding, number: int) -> str:
    return _BY_CONFIDENCE[finding.confidence] if finding.tier == "fusion" else _BY_NUMBER.get(number, "🟢")


def _sources(finding: Finding) -> str:
    """Where the finding's evidence stands: `` (source: `file` → `key`, `key`; `file` → `key`)``."""
    by_file: dict[str, list[str]] = {}
    for item in finding.evidence:
        by_file.setdefault(item.source, []).append(item.key)
    files = (f"{code(file)} → {', '.join(map(code, _places(keys)))}" for file, keys in sorted(by_file.items()))
    return f" (source: {'; '.join(files)})" if by_file else ""


def _places(keys: Sequence[str]) -> list[str]:
    """The keys in short: many become the columns or the part of the document that they share."""
    distinct = list(dict.fromkeys(keys))
    if len(distinct) <= FEW_KEYS and max(map(len, distinct)) <= LONG_KEY:
        return distinct
    columns = [match[1] for key in distinct if (match := _COLUMN.search(key))]
    if columns:
        return [f"column={name}" for name in dict.fromkeys(columns)]
    steps = zip(*(_STEP.split(key) for key in distinct), strict=False)
    shared = "".join(step[0] for step in takewhile(lambda step: len(set(step)) == 1, steps))
    return [shared] if shared else [*distinct[:FEW_KEYS], "…"]
