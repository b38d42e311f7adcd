"""The kernel-fusion sub-agent: chains of kernels that write and read tensors nobody else needs."""

from collections import Counter

from tracelens_tui.run.findings import Finding, FindingsFile, FusedKernel
from tracelens_tui.run.fusion_files import FusionSaving, KernelFusionMetrics
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import cited
from tracelens_tui.triage.fusion_advice import FusionRule, fusion_rules
from tracelens_tui.triage.pack import Cluster
from tracelens_tui.triage.system_common import capped, cluster_evidence, findings_file, told_of

_ORDINALS = {2: "second", 3: "third", 4: "fourth"}


def analyse(assignment: Assignment) -> FindingsFile:
    """Return one finding for each candidate that is worth one."""
    metrics = assignment.system
    if not isinstance(metrics, KernelFusionMetrics):
        raise TypeError("the kernel-fusion sub-agent needs the metrics of fusion")
    rules = {rule.id: rule for rule in fusion_rules()}
    savings = {saving.finding: saving for saving in metrics.savings}
    findings = [
        _finding(assignment, index, cluster, savings[cluster.id], rules[cluster.matches[0].rule])
        for index, cluster in enumerate(assignment.pack.clusters)
    ]
    return findings_file(
        assignment, _distinct(findings), "no chain of kernels can win half a percent of the window by fusion"
    )


def _distinct(findings: list[Finding]) -> list[Finding]:
    """The findings, later ones of the same title told apart by their place."""
    seen: Counter[str] = Counter()
    out: list[Finding] = []
    for finding in findings:
        seen[finding.title] += 1
        number = seen[finding.title]
        suffix = "" if number == 1 else f" ({_ORDINALS.get(number, 'a further')} form of the chain)"
        out.append(finding.model_copy(update={"title": finding.title + suffix}))
    return out


def _finding(assignment: Assignment, index: int, cluster: Cluster, saving: FusionSaving, rule: FusionRule) -> Finding:
    told = told_of(rule, cluster.matches[0])
    where = " in [[all.module]]" if "module" in cluster.facts else ""
    observation = told.sentences([rule.observation])[0]
    finding = Finding(
        id=cluster.id,
        agent=assignment.agent.id,
        analyst="rules",
        tier="fusion",
        category=assignment.category,
        title=told.sentences([rule.title])[0],
        bound=cluster.bound,
        confidence=capped(rule, "medium", gated=assignment.run.gated),
        impact=cluster.impact,
        kernels=[
            FusedKernel(name=one.name, type=one.type, duration_us=one.dur_us, modelled=True) for one in saving.kernels
        ],
        pattern=rule.pattern,
        insight=(
            f"[[all.count]] chains of [[all.kernels]] kernels{where} take [[all.time]] ([[all.share]] of the window);"
            f" {observation}."
        ),
        action=" ".join(told.sentences(rule.action)),
        identification=(
            "The ops [[all.ops]] follow each other on one stream below one call, and each reads a shape that the one"
            " before writes. The table shows the chain that takes longest."
        ),
        reasoning=" ".join(
            [
                "Writing and reading the tensors in between takes [[all.removed]] ([[all.part]] of the time of the"
                " kernels that are no matrix products), at each kernel's own rate.",
                *told.sentences(rule.reasoning),
            ]
        ),
        resolution=" ".join(
            [
                *told.sentences(rule.resolution),
                "Of this time [[all.claimed]] is claimed here; the rest is hidden or belongs to other findings.",
            ]
        ),
        evidence=cluster_evidence(assignment, index, cluster, told),
        caveats=told.sentences(rule.wrong_when),
    )
    return cited(finding)
