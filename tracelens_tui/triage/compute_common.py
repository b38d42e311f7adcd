"""From the pack of a compute category to its findings: the same card for every compute sub-agent.

The agent's rules supply the words, the pack the quantities; nothing here invents either.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracelens_tui.report.evidence import references as evidence_references
from tracelens_tui.report.findings_check import prose_of
from tracelens_tui.run.findings import Confidence, Evidence, Finding, FindingsFile
from tracelens_tui.text import clip
from tracelens_tui.triage.advice import Rule, RuleText, qualified, references
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.facts import OpFacts
from tracelens_tui.triage.pack import Cluster, Match, evidence_of

SECOND_RULE_SHARE = 0.15
"""Part of a cluster's gap from which another rule than the leading one is told."""
SECOND_RULES = 2
WHOLE = 0.95
"""Part of a cluster's gap from which its leading rule speaks for all of it."""
CONTRAST = 1.25
"""A sibling that is this many times more efficient supports a cause."""
MEAN_DIFFERS = 0.01

_LIBRARY_LIMIT = 16
_BAND_WORDS = {"0-30": "lowest band", "30-60": "middle band", "60-100": "upper band"}
_LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Told:
    """A rule as it stands in one card: its texts with the ids of its evidence, and what it covers."""

    rule: RuleText
    match: Match
    known: frozenset[str]

    def sentences(self, texts: Sequence[str]) -> list[str]:
        """Return the sentences whose quantities are all known, ready to print."""
        return [qualified(text, self.rule) for text in texts if set(references([text])) <= self.known]

    @property
    def time(self) -> str:
        """A reference to the kernel time of the operations that the rule applies to."""
        return f"[[{self.rule.slug}.time]]"


def compute_findings(assignment: Assignment, rules: Sequence[Rule], noun: str) -> FindingsFile:
    """Return the findings of a compute category; ``noun`` names its operations: ``GEMMs``."""
    by_id = {rule.id: rule for rule in rules}
    findings = [
        _finding(assignment, index, cluster, by_id, noun) for index, cluster in enumerate(assignment.pack.clusters)
    ]
    return FindingsFile(
        agent=assignment.agent.id,
        analyst="rules",
        category=assignment.category,
        display_name=assignment.entry.display_name,
        tier="compute",
        status="ok" if assignment.ops else "no_data",
        message=_message(assignment, findings),
        findings=_distinct_titles(findings, assignment.pack.clusters),
    )


def confidence_of(rule: Rule, contrast: float | None, *, gated: bool) -> Confidence:
    """Return how sure a rule's advice is.

    Each of name, shape and a much better sibling in the trace that supports it counts; the rule may set a lower limit,
    and data that needs a warning first makes everything low.
    """
    if gated:
        return "low"
    when = rule.when
    signals = (
        bool(when.op or when.kernel or when.kernel_share),
        bool(when.traits or when.params),
        contrast is not None and contrast >= CONTRAST,
    )
    level = max(0, sum(signals) - 1)
    return _LEVELS[min(level, _LEVELS.index(rule.max_confidence))]


def _finding(assignment: Assignment, index: int, cluster: Cluster, rules: Mapping[str, Rule], noun: str) -> Finding:
    told = [
        Told(rules[match.rule], match, frozenset({*match.facts, *match.constants}))
        for number, match in enumerate(cluster.matches)
        if number == 0 or (number <= SECOND_RULES and match.gap_share >= SECOND_RULE_SHARE)
    ]
    lead, others = told[0], told[1:]
    ops = {op.view.row: op for op in assignment.ops}
    finding = Finding(
        id=cluster.id,
        agent=assignment.agent.id,
        analyst="rules",
        tier="compute",
        category=assignment.category,
        title=qualified(lead.rule.title, lead.rule),
        library=cluster.library,
        bound=cluster.bound,
        confidence=confidence_of(
            rules[lead.rule.id],
            _contrast(lead.match, ops),
            gated=assignment.run.gated or any(ops[row].ranged for row in cluster.rows),
        ),
        impact=cluster.impact,
        operations=[ops[row].view for row in cluster.rows],
        insight=_insight(cluster, lead, noun),
        action=" ".join(lead.sentences(lead.rule.action)),
        identification=_identification(cluster, noun),
        reasoning=" ".join([*lead.sentences(lead.rule.reasoning), *_totals(cluster)]),
        resolution=" ".join([*lead.sentences(lead.rule.resolution), *(_second(one) for one in others)]),
        evidence=_evidence(assignment, index, cluster, told),
        caveats=lead.sentences(lead.rule.wrong_when),
    )
    return cited(finding)


def cited(finding: Finding) -> Finding:
    """Return the finding with the evidence that its texts refer to."""
    used = {name for text in prose_of(finding).values() for name in evidence_references(text)}
    kept = [item for item in finding.evidence if item.id in used]
    return finding.model_copy(update={"evidence": kept})


def _evidence(assignment: Assignment, index: int, cluster: Cluster, told: Sequence[Told]) -> list[Evidence]:
    place = f"categories.{assignment.category}.clusters[{index}]"
    file = assignment.evidence_file
    out = evidence_of("all", cluster.facts, file, f"{place}.facts")
    for one in told:
        where = f"{place}.matches[rule={one.rule.id}]"
        out += evidence_of(one.rule.slug, one.match.facts, file, f"{where}.facts")
        out += evidence_of(one.rule.slug, one.match.constants, file, f"{where}.constants")
    return out


def _insight(cluster: Cluster, lead: Told, noun: str) -> str:
    subject = f"{noun} of [[all.library]]" if "library" in cluster.facts else noun
    roof = f" at [[all.efficiency]] of the {cluster.bound} roof" if "efficiency" in cluster.facts else ""
    if "efficiency_high" in cluster.facts:
        roof = " at between [[all.efficiency]] and [[all.efficiency_high]] of their roof"
    part = "" if lead.match.gap_share >= WHOLE else f" in {lead.time} of that,"
    observation = qualified(lead.rule.observation, lead.rule)
    return f"{subject} take [[all.time]] ([[all.share]] of the window){roof};{part} {observation}."


def _identification(cluster: Cluster, noun: str) -> str:
    if cluster.band is None:
        return f"{noun} for which no roofline is known: [[all.shapes]] distinct, [[all.calls]]."
    return (
        f"{noun} with the same bound and library whose efficiency lies between [[all.band_low]] and [[all.band_high]]:"
        " [[all.shapes]] distinct, [[all.calls]]."
    )


def _totals(cluster: Cluster) -> list[str]:
    """What the quantities of the whole cluster add to the reasoning."""
    facts, out = cluster.facts, []
    if _differs(cluster):
        out.append("The mean of the calls' own ratios is [[all.mean_efficiency]].")
    if "hidden" in facts:
        out.append("[[all.hidden]] of the time runs beside other work; only the rest counts in the impact.")
    if "sibling_gain" in facts:
        out.append("At the rate of the best similar operations, [[all.sibling_gain]] of the window could be won.")
    if "spread" in facts:
        out.append("Calls of the same shape differ by [[all.spread]] times their mean: look at the slow ones.")
    if "slower" in facts:
        out.append("One shape runs on several kernels, the slowest taking [[all.slower]] times as long as the fastest.")
    return out


def _differs(cluster: Cluster) -> bool:
    """True where the mean of ratios and the ratio of sums differ by more than 1 %."""
    mean, ratio = cluster.facts.get("mean_efficiency"), cluster.facts.get("efficiency")
    if mean is None or ratio is None or isinstance(mean.value, str) or isinstance(ratio.value, str):
        return False
    return abs(mean.value - ratio.value) > MEAN_DIFFERS * ratio.value


def _second(one: Told) -> str:
    """What another rule says about its part of the cluster."""
    observation = qualified(one.rule.observation, one.rule)
    return " ".join([f"In {one.time} of it, {observation}.", *one.sentences(one.rule.action[:1])])


def _contrast(match: Match, ops: Mapping[int, OpFacts]) -> float | None:
    """How many times more efficient the best sibling of the heaviest operation is."""
    best, own = match.facts.get("best"), ops[match.rows[0]].view.surest_percent
    if best is None or isinstance(best.value, str) or not own:
        return None
    return best.value / own


def _distinct_titles(findings: list[Finding], clusters: Sequence[Cluster]) -> list[Finding]:
    """Tell clusters that the same rule leads apart: by band, then by library, then by bound."""
    words: list[list[str]] = [[] for _ in findings]
    traits = [
        [_BAND_WORDS.get(cluster.band or "", ""), clip(cluster.library or "", _LIBRARY_LIMIT), f"{cluster.bound} bound"]
        for cluster in clusters
    ]
    for level in range(3):
        names = [(finding.title, *own) for finding, own in zip(findings, words, strict=True)]
        seen = Counter(names)
        for own, name, trait in zip(words, names, traits, strict=True):
            if seen[name] > 1 and trait[level]:
                own.append(trait[level])
    titles = [f"{one.title} ({', '.join(own)})" if own else one.title for one, own in zip(findings, words, strict=True)]
    return [one.model_copy(update={"title": title}) for one, title in zip(findings, titles, strict=True)]


def _message(assignment: Assignment, findings: Sequence[Finding]) -> str:
    """Why there are no findings, and which operations run above their roof."""
    above = [op.view for op in assignment.ops if (op.surest or 0.0) > 1]
    notes = [_why_none(assignment)] if not findings else []
    if above:
        names = ", ".join(dict.fromkeys(view.name for view in above[:3]))
        notes.append(
            f"{len(above)} of {len(assignment.ops)} operations run above their roof and count for nothing ({names}): "
            "their data stayed in cache, or they do less than their model assumes"
        )
    return "; ".join(notes)


def _why_none(assignment: Assignment) -> str:
    if not assignment.ops:
        return "no operations"
    if all(op.efficiency is None for op in assignment.ops):
        if not assignment.run.shapes:
            return "no input shapes were recorded, so no efficiency is known"
        if assignment.run.platform is None:
            return "the GPU's peak rates are not known, so no efficiency is known"
        return "no perf model covers these operations, and their share of the window is small"
    return "no group of operations can win half a percent of the window"
