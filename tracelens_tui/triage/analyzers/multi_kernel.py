"""The multi-kernel sub-agent: copies and collectives that nothing hides."""

from tracelens_tui.run.findings import Finding, FindingsFile
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import Told, cited
from tracelens_tui.triage.multi_kernel_advice import transfer_rules
from tracelens_tui.triage.pack import Cluster
from tracelens_tui.triage.system_common import capped, cluster_evidence, findings_file, table, told_of

_ROWS = (
    ("Exposed time", "all.exposed", True),
    ("Share of the window", "all.share", True),
    ("What compute has room to hide", "all.winnable", True),
    ("Transfers", "all.count", False),
    ("Their time", "all.time", False),
    ("Beside other work", "all.hidden", False),
    ("Mean", "all.mean", False),
    ("Longest", "all.longest", False),
    ("Median message", "all.size", False),
    ("Rate", "all.rate", False),
    ("Bus bandwidth", "all.bus", False),
    ("Process group", "all.group", False),
    ("Ranks", "all.ranks", False),
    ("On a stream that computes", "all.same_stream", False),
    ("What waits for them", "all.waiter", True),
)


def analyse(assignment: Assignment) -> FindingsFile:
    """Return one finding for each group of transfers that is worth one."""
    rules = {rule.id: rule for rule in transfer_rules()}
    findings = [
        _finding(assignment, index, cluster, told_of(rules[cluster.matches[0].rule], cluster.matches[0]))
        for index, cluster in enumerate(assignment.pack.clusters)
    ]
    return findings_file(assignment, findings, "no group of copies or collectives can win half a percent of the window")


def _finding(assignment: Assignment, index: int, cluster: Cluster, told: Told) -> Finding:
    evidence = cluster_evidence(assignment, index, cluster, told)
    finding = Finding(
        id=cluster.id,
        agent=assignment.agent.id,
        analyst="rules",
        tier="system",
        category=assignment.category,
        title=told.sentences([told.rule.title])[0],
        confidence=capped(told.rule, "medium", gated=assignment.run.gated),
        impact=cluster.impact,
        metrics=table(evidence, _ROWS),
        insight=_insight(cluster, told),
        action=" ".join(told.sentences(told.rule.action)),
        identification=(
            "Transfers of one kind on the device; exposed is what neither compute hides nor, for copies, communication."
        ),
        reasoning=" ".join(told.sentences(told.rule.reasoning)),
        resolution=" ".join(told.sentences(told.rule.resolution)),
        evidence=evidence,
        caveats=told.sentences(told.rule.wrong_when),
    )
    return cited(finding)


def _insight(cluster: Cluster, told: Told) -> str:
    hidden = ", of which [[all.hidden]] runs beside other work" if "hidden" in cluster.facts else ""
    observation = told.sentences([told.rule.observation])[0]
    exposed = "[[all.exposed]] ([[all.share]] of the window)"
    room = (
        " All the compute that now runs without communication could hide [[all.winnable]] of the window of it; the rest"
        " goes only with less to send or faster links."
        if "winnable" in cluster.facts
        else ""
    )
    return (
        f"[[all.count]] transfers ([[all.kind]]) take [[all.time]]{hidden}: {exposed} is exposed; {observation}.{room}"
    )
