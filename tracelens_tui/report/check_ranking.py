"""The ranking against findings and manifest: the same findings, sorted, numbered, and not more than can be won."""

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tracelens_tui.report.check_equal import equal
from tracelens_tui.report.findings_check import TOLERANCE
from tracelens_tui.report.inputs import Inputs
from tracelens_tui.run.findings import Finding, Priority, RankedFinding
from tracelens_tui.run.store import PRIORITY

MIN_MID = 0.5  # a card is worth at least half a percent of the window


def ranking_problems(inputs: Inputs) -> Iterator[str]:
    """What is wrong with ``priority_data.json``, one line each."""
    yield from _ranking(inputs)
    yield from _priorities(inputs)
    yield from _sums(inputs)


def _ranking(inputs: Inputs) -> Iterator[str]:
    """``priority_data.json`` against the findings: the same, sorted, numbered without a gap."""
    ranked = inputs.priority.findings
    ids = [item.id for item in ranked]
    yield from (f"{PRIORITY}: {one} is ranked twice" for one in sorted({one for one in ids if ids.count(one) > 1}))
    if [item.global_rank for item in ranked] != list(range(1, len(ranked) + 1)):
        yield f"{PRIORITY}: the global ranks are {[item.global_rank for item in ranked]}"
    for before, after in pairwise(ranked):
        if _sort_key(before) > _sort_key(after):
            yield f"{PRIORITY}: {after.id} has more impact than {before.id}, which stands before it"
    for item in inputs.ranked:
        yield from _same_finding(item.rank, item.finding)
    yield from _category_ranks(ranked)
    dropped = len(inputs.priority.dropped)
    unranked = [f.id for file in inputs.files.values() for f in file.findings if f.id not in ids]
    if len(unranked) > dropped:
        yield f"{PRIORITY}: {unranked} are neither ranked nor dropped"


def _sort_key(item: RankedFinding) -> tuple[float, float]:
    return (-(item.impact_score or 0.0), -(item.impact_score_low or 0.0))


def _same_finding(rank: RankedFinding, finding: Finding) -> Iterator[str]:
    pairs: Mapping[str, tuple[object, object]] = {
        "tier": (rank.tier, finding.tier),
        "category": (rank.category, finding.category),
        "title": (rank.title, finding.title),
        "library": (rank.library, finding.library),
        "impact_score": (rank.impact_score, finding.impact.mid),
        "impact_score_low": (rank.impact_score_low, finding.impact.low),
        "impact_score_high": (rank.impact_score_high, finding.impact.high),
    }
    for name, (stated, found) in pairs.items():
        if stated != found:
            yield f"{PRIORITY}: {name} of {rank.id} is {stated!r}, the finding has {found!r}"
    if rank.member_count != len(finding.operations):
        yield f"{PRIORITY}: member_count of {rank.id} is {rank.member_count}, the finding has {len(finding.operations)}"
    if finding.impact.mid is not None and finding.impact.mid < MIN_MID:
        yield f"{PRIORITY}: {rank.id} has a mid of {finding.impact.mid:g}, below {MIN_MID}"


def _category_ranks(ranked: list[RankedFinding]) -> Iterator[str]:
    by_category: dict[str, list[int]] = {}
    for item in ranked:
        by_category.setdefault(item.category, []).append(item.category_rank)
    for category, ranks in by_category.items():
        if ranks != list(range(1, len(ranks) + 1)):
            yield f"{PRIORITY}: the ranks within {category} are {ranks}"


def _priorities(inputs: Inputs) -> Iterator[str]:
    """The rows of Top Operations against the manifest and the findings."""
    rows = inputs.priority.priorities
    if [row.rank for row in rows] != list(range(1, len(rows) + 1)):
        yield f"{PRIORITY}: the ranks of priorities are {[row.rank for row in rows]}"
    categories = {category.name: category for category in inputs.manifest.categories}
    use = inputs.manifest.gpu_utilization
    compute_ms = use.total_time_ms * use.computation_time_percent / 100
    for row in rows:
        place = f"{PRIORITY}: {row.category}"
        category = categories.get(row.category)
        if category is None:
            yield f"{place}: the manifest has no such category"
            continue
        yield from equal(f"{place}: gpu_kernel_time_ms", row.gpu_kernel_time_ms, category.gpu_kernel_time_ms or 0.0)
        if compute_ms:
            share = 100 * row.gpu_kernel_time_ms / compute_ms
            yield from equal(f"{place}: percent_of_compute", row.percent_of_compute, share)
        if row.operation_count != category.ops_count:
            yield f"{place}: operation_count is {row.operation_count}, the manifest has {category.ops_count}"
        yield from _row_scores(row, inputs)


def _row_scores(row: Priority, inputs: Inputs) -> Iterator[str]:
    impacts = [item.finding.impact for item in inputs.ranked if item.finding.category == row.category]
    for name, stated, values in (
        ("impact_score", row.impact_score, [impact.mid for impact in impacts]),
        ("impact_score_low", row.impact_score_low, [impact.low for impact in impacts]),
        ("impact_score_high", row.impact_score_high, [impact.high for impact in impacts]),
    ):
        known = [value for value in values if value is not None]
        place = f"{PRIORITY}: {row.category}: {name}"
        if known:
            yield from equal(place, stated, math.fsum(known))
        elif stated is not None:
            yield f"{place} is {stated:g}, but no finding of the category has one"


def _sums(inputs: Inputs) -> Iterator[str]:
    """The findings together must not win more than there is."""
    window = inputs.manifest.gpu_utilization.total_time_ms
    yield from equal(f"{PRIORITY}: baseline_ms", inputs.priority.baseline_ms, window)
    if not window:
        return
    needed = math.fsum(
        min(1.0, efficiency / 100) * (operation.time_ms if operation.exposed_ms is None else operation.exposed_ms)
        for metrics in inputs.metrics.values()
        for operation in metrics.operations
        if (efficiency := operation.efficiency.surest_percent) is not None
    )
    limit = 100 * (1 - needed / window)
    total = math.fsum(item.finding.impact.mid or 0.0 for item in inputs.ranked)
    if total > limit + TOLERANCE:
        yield f"{PRIORITY}: the findings' mid impacts sum to {total:g} %, more than the {limit:g} % that can be won"
