"""Small values that the tests of the run package share."""

from datetime import datetime, timezone
from pathlib import Path

from tracelens_tui.run import events as e
from tracelens_tui.run.findings import Finding, FindingsFile, Impact, PriorityData, RankedFinding
from tracelens_tui.run.manifest import RunInfo, TraceRef

NOON = datetime(2025, 1, 2, 12, tzinfo=timezone.utc)


def info(**changes: object) -> RunInfo:
    """A run.json."""
    values: dict[str, object] = {
        "run_id": "r1",
        "created": NOON,
        "trace": TraceRef(path="/traces/a.json.gz", relative="../../a.json.gz", fingerprint="f" * 16, size=10),
        "platform": "MI300X",
        "analyst": "rules",
        "options": {"device": 0},
        "versions": {"tracelens-tui": "1"},
    }
    return RunInfo.model_validate(values | changes)


def started(*, resumed: bool = False) -> e.RunStarted:
    """The first event of a run."""
    return e.RunStarted(
        run_id="r1", trace="/traces/a.json.gz", platform="MI300X", analyst="rules", host="node", pid=7, resumed=resumed
    )


def finding(name: str, mid: float | None = 1.0) -> Finding:
    """A finding ``<category>-<n>``."""
    category = name.rsplit("-", 1)[0]
    impact = (
        Impact(low=None, mid=None, high=None) if mid is None else Impact(low=mid * 6 / 7, mid=mid, high=mid * 8 / 7)
    )
    return Finding(
        id=name, agent=category, analyst="rules", tier="compute", category=category, title=f"Title of {category}",
        confidence="low", impact=impact, insight="a", action="b", identification="c", reasoning="d", resolution="e",
        evidence=[],
    )  # fmt: skip


def findings_file(category: str, *findings: Finding) -> FindingsFile:
    """A findings file of a compute category."""
    return FindingsFile(
        agent=category, analyst="rules", category=category, display_name=category.upper(), tier="compute", status="ok",
        findings=list(findings),
    )  # fmt: skip


def added(found: Finding, file: str | None = None) -> e.FindingAdded:
    """The event that announces a finding."""
    return e.FindingAdded(
        agent=found.agent, category=found.category, finding=found.id, tier=found.tier, title=found.title,
        mid=found.impact.mid, file=file or f"category_findings/{found.category}_findings.json",
    )  # fmt: skip


def ranking(*findings: Finding, dropped: tuple[str, ...] = ()) -> PriorityData:
    """A ranking in the order given."""
    ranked = [
        RankedFinding(
            id=one.id, tier=one.tier, category=one.category, category_rank=1, global_rank=rank, title=one.title,
            bound_type=None, library=None, impact_score=one.impact.mid, impact_score_low=one.impact.low,
            impact_score_high=one.impact.high, member_count=0,
        )
        for rank, one in enumerate(findings, 1)
    ]  # fmt: skip
    return PriorityData(baseline_ms=1.0, findings=ranked, priorities=[], dropped=list(dropped))


def repository() -> Path:
    """The root of the repository, for processes that the tests start."""
    return Path(__file__).resolve().parents[2]
