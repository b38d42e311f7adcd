"""The ranking: findings of all tiers in one order, categories by kernel time, and the bound on what can be won."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tracelens_tui.run.category_files import CategoryMetrics
from tracelens_tui.run.findings import Finding, FindingsFile, Priority, PriorityData, RankedFinding
from tracelens_tui.run.manifest import CategoryManifest, ManifestCategory
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.impact import MIN_MID
from tracelens_tui.triage.metrics import clusters_of

COVERED = 0.95
"""The Top Operations cover at least this part of the kernel time."""
TOLERANCE = 1e-6


def priority_data(
    manifest: CategoryManifest, metrics: Mapping[str, CategoryMetrics], files: Iterable[FindingsFile]
) -> PriorityData:
    """Return the ranking; raises TriageError where the findings claim more than can be won."""
    findings = [finding for file in files for finding in file.findings]
    kept = [finding for finding in findings if _worth(finding)]
    check_total(kept, metrics.values(), manifest.gpu_utilization.total_time_ms)
    dropped = [f"{finding.title}: below {MIN_MID:g} % of the window" for finding in findings if not _worth(finding)]
    return PriorityData(
        baseline_ms=manifest.gpu_utilization.total_time_ms,
        findings=ranked(kept),
        priorities=_priorities(manifest, kept),
        dropped=[*dropped, *_small_clusters(manifest, metrics)],
    )


def ranked(findings: Iterable[Finding]) -> list[RankedFinding]:
    """Return the findings by mid impact, ties by low, then by title and id; those without an impact last."""
    out: list[RankedFinding] = []
    places: Counter[str] = Counter()
    for number, finding in enumerate(sorted(findings, key=_order), 1):
        places[finding.category] += 1
        out.append(
            RankedFinding(
                id=finding.id,
                tier=finding.tier,
                category=finding.category,
                category_rank=places[finding.category],
                global_rank=number,
                title=finding.title,
                bound_type=finding.bound,
                library=finding.library,
                impact_score=finding.impact.mid,
                impact_score_low=finding.impact.low,
                impact_score_high=finding.impact.high,
                member_count=len(finding.operations),
            )
        )
    return out


def check_total(findings: Sequence[Finding], metrics: Iterable[CategoryMetrics], window_ms: float) -> None:
    """Raise TriageError where the mids together exceed 100 x (1 - R / window).

    R is the time that all modelled operations need at their roof: the sum of min(1, efficiency) x exposed time.
    """
    needed = math.fsum(
        min(1.0, percent / 100) * (op.time_ms if op.exposed_ms is None else op.exposed_ms)
        for one in metrics
        for op in one.operations
        if (percent := op.efficiency.surest_percent) is not None
    )
    limit = 100 * (1 - needed / window_ms) if window_ms else 0.0
    total = math.fsum(finding.impact.mid or 0.0 for finding in findings)
    if total > limit + TOLERANCE:
        raise TriageError(f"the findings claim {total:g} % of the window, but only {limit:g} % can be won")


def _worth(finding: Finding) -> bool:
    return finding.impact.mid is None or finding.impact.mid >= MIN_MID


def _order(finding: Finding) -> tuple[float, float, str, str]:
    return (-(finding.impact.mid or 0.0), -(finding.impact.low or 0.0), finding.title, finding.id)


def _priorities(manifest: CategoryManifest, findings: Sequence[Finding]) -> list[Priority]:
    """The largest categories, until they cover enough of the kernel time; those with findings in any case."""
    compute = [category for category in manifest.categories if category.tier == "compute_kernel"]
    compute.sort(key=lambda one: (-(one.gpu_kernel_time_ms or 0.0), one.name))
    total = math.fsum(one.gpu_kernel_time_ms or 0.0 for one in compute)
    with_findings = {finding.category for finding in findings}
    use = manifest.gpu_utilization
    compute_ms = use.total_time_ms * use.computation_time_percent / 100
    chosen: list[ManifestCategory] = []
    covered = 0.0
    for category in compute:
        if covered < COVERED * total or category.name in with_findings:
            chosen.append(category)
        covered += category.gpu_kernel_time_ms or 0.0
    return [_priority(rank, one, findings, compute_ms) for rank, one in enumerate(chosen, 1)]


def _priority(rank: int, category: ManifestCategory, findings: Sequence[Finding], compute_ms: float) -> Priority:
    time = category.gpu_kernel_time_ms or 0.0
    impacts = [finding.impact for finding in findings if finding.category == category.name]
    return Priority(
        rank=rank,
        category=category.name,
        display_name=category.display_name,
        gpu_kernel_time_ms=time,
        percent_of_compute=100 * time / compute_ms if compute_ms else 0.0,
        operation_count=category.ops_count,
        impact_score=_sum(impact.mid for impact in impacts),
        impact_score_low=_sum(impact.low for impact in impacts),
        impact_score_high=_sum(impact.high for impact in impacts),
        source="findings" if impacts else "manifest",
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _small_clusters(manifest: CategoryManifest, metrics: Mapping[str, CategoryMetrics]) -> list[str]:
    """The clusters that could win something, but less than a card needs."""
    window = manifest.gpu_utilization.total_time_ms
    return [
        f"{one.display_name}, {cluster.bound_type} bound, {cluster.library}, {cluster.eff_bucket} % of the roof:"
        f" could win {cluster.impact_score:.2f} % of the window, below {MIN_MID:g} %"
        for one in manifest.categories
        if one.name in metrics
        for cluster in clusters_of(one.name, metrics[one.name].operations, window)
        if 0.01 <= cluster.impact_score < MIN_MID
    ]
