"""From a cluster of a system sub-agent's pack to its card: what all of these sub-agents share."""

from collections.abc import Sequence

from tracelens_tui.run.findings import Confidence, Evidence, Finding, FindingsFile, Metric
from tracelens_tui.triage.advice import RuleText
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import Told
from tracelens_tui.triage.pack import Cluster, Match, evidence_of

Rows = Sequence[tuple[str, str, bool]]
"""Rows of a card's table: what it is, the evidence that it shows, whether it stands out."""


def told_of(rule: RuleText, match: Match) -> Told:
    """Return the rule with the quantities that its texts may state."""
    return Told(rule, match, frozenset({*match.facts, *match.constants}))


def cluster_evidence(assignment: Assignment, index: int, cluster: Cluster, told: Told) -> list[Evidence]:
    """Return the evidence of a cluster: what holds for all of it, then what its rule states."""
    place = f"categories.{assignment.category}.clusters[{index}]"
    where = f"{place}.matches[rule={told.rule.id}]"
    file = assignment.evidence_file
    return [
        *evidence_of("all", cluster.facts, file, f"{place}.facts"),
        *evidence_of(told.rule.slug, told.match.facts, file, f"{where}.facts"),
        *evidence_of(told.rule.slug, told.match.constants, file, f"{where}.constants"),
    ]


def table(evidence: Sequence[Evidence], rows: Rows) -> list[Metric]:
    """Return the rows whose evidence is there."""
    known = {item.id for item in evidence}
    return [Metric(metric=name, value=f"[[{ref}]]", flagged=flagged) for name, ref, flagged in rows if ref in known]


def capped(rule: RuleText, confidence: Confidence, *, gated: bool) -> Confidence:
    """Return the confidence, no higher than the rule's own, low where the data needs a warning first."""
    levels: tuple[Confidence, ...] = ("low", "medium", "high")
    if gated:
        return "low"
    return levels[min(levels.index(confidence), levels.index(rule.max_confidence))]


def findings_file(assignment: Assignment, findings: list[Finding], none: str) -> FindingsFile:
    """Return the findings of a system sub-agent; ``none`` says why there are none."""
    return FindingsFile(
        agent=assignment.agent.id,
        analyst="rules",
        category=assignment.category,
        display_name=assignment.entry.display_name,
        tier=assignment.agent.tier,
        status="ok",
        message="" if findings else none,
        findings=findings,
    )
