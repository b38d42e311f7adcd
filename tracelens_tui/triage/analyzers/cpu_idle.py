"""The cpu-idle sub-agent: why the device waits, and for which function."""

from collections.abc import Mapping

from tracelens_tui.run.findings import Evidence, Finding, FindingsFile
from tracelens_tui.run.idle_files import CpuIdleMetrics
from tracelens_tui.run.store import metrics_file
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import Told, cited
from tracelens_tui.triage.idle_advice import IdleRule, idle_rules
from tracelens_tui.triage.pack import Cluster
from tracelens_tui.triage.system_common import capped, cluster_evidence, findings_file, table, told_of

_CAUSES = {
    "launch": "waiting for launches",
    "sync": "after the host waited for the device",
    "copy": "at copies between host and device",
    "comm": "at collectives",
    "loading": "while the host loaded data",
    "host": "while the host ran other code",
    "queued": "although work was queued",
    "unknown": "without a visible cause",
}
_STACKS = "Python stacks were recorded, which slows the host down, so this is an upper bound."
_ROWS = (
    ("Idle in steps", "all.idle", True),
    ("Share of the window", "all.share", True),
    ("Gaps", "all.gaps", False),
    ("Mean gap", "all.mean", False),
    ("Longest gap", "all.longest", False),
    ("Function responsible", "all.function", True),
    ("Its part of this idle time", "all.function_share", False),
    ("Innermost host event", "all.call", False),
    ("Launches", "all.launches", False),
    ("Median launch interval", "all.interval", False),
    ("Median launch to start", "all.delay", False),
    ("Median kernel", "all.kernel_time", False),
    ("Device busy", "all.busy", False),
)
_TOTALS = (
    ("total", "gpu_utilization.idle_time_percent", "idle time of the window", "%", 1),
    ("in_steps", "idle_in_steps_ms", "idle time inside steps", "ms", 2),
)


def analyse(assignment: Assignment) -> FindingsFile:
    """Return one finding for each cause that is worth one."""
    rules = {rule.id: rule for rule in idle_rules()}
    findings = [_finding(assignment, index, cluster, rules) for index, cluster in enumerate(assignment.pack.clusters)]
    return findings_file(
        assignment, findings, "no cause of idle time inside the steps can win half a percent of the window"
    )


def _finding(assignment: Assignment, index: int, cluster: Cluster, rules: Mapping[str, IdleRule]) -> Finding:
    told = told_of(rules[cluster.matches[0].rule], cluster.matches[0])
    evidence = [*cluster_evidence(assignment, index, cluster, told), *_window(assignment)]
    stacks = assignment.run.with_stack
    finding = Finding(
        id=cluster.id,
        agent=assignment.agent.id,
        analyst="rules",
        tier="system",
        category=assignment.category,
        title=told.sentences([told.rule.title])[0],
        confidence=capped(told.rule, "medium" if stacks else "high", gated=assignment.run.gated),
        impact=cluster.impact,
        metrics=table(evidence, _ROWS),
        insight=_insight(cluster, told, stacks=stacks),
        action=" ".join(told.sentences(told.rule.action)),
        identification=(
            f"Gaps between the device's work inside steps, {_CAUSES.get(cluster.band or '', 'of one cause')};"
            " the device is idle for [[all.total]] of the window, [[all.in_steps]] of it in steps."
        ),
        reasoning=" ".join(told.sentences(told.rule.reasoning)),
        resolution=" ".join(told.sentences(told.rule.resolution)),
        evidence=evidence,
        caveats=told.sentences(told.rule.wrong_when),
    )
    return cited(finding)


def _insight(cluster: Cluster, told: Told, *, stacks: bool) -> str:
    cause = _CAUSES.get(cluster.band or "", "for one cause")
    observation = told.sentences([told.rule.observation])[0]
    function = ", [[all.function_share]] of it under [[all.function]]" if "function" in cluster.facts else ""
    text = f"The device is idle for [[all.idle]] ([[all.share]] of the window) {cause}{function}: {observation}."
    return f"{text} {_STACKS}" if stacks else text


def _window(assignment: Assignment) -> list[Evidence]:
    """What holds for the whole window."""
    idle = assignment.system_metrics(CpuIdleMetrics)
    values = {"total": idle.gpu_utilization.idle_time_percent, "in_steps": idle.idle_in_steps_ms or 0.0}
    return [
        Evidence(
            id=f"all.{name}", label=label, value=values[name], unit=unit, digits=digits,
            source=metrics_file(assignment.category), key=key,
        )
        for name, key, label, unit, digits in _TOTALS
    ]  # fmt: skip
