"""The journal as a fold: what each event does, and that no order of events can break it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.making import NOON, added, finding, started
from tracelens_tui.run import events as e
from tracelens_tui.run.reduce import reduce, reduced
from tracelens_tui.run.state import AgentState, AgentStatus, RunState, StageState, Status

GEMM: dict[str, Any] = {"agent": "gemm", "category": "gemm"}


def numbered(*events: e.AnyEvent) -> list[e.AnyEvent]:
    """The events with numbers and times, one a minute."""
    return [
        event.model_copy(update={"seq": number, "time": NOON + timedelta(minutes=number)})
        for number, event in enumerate(events, 1)
    ]


def after(*events: e.AnyEvent) -> RunState:
    return reduced(numbered(*events))


def test_no_events() -> None:
    assert reduced([]) == RunState(status="starting")


def test_the_start_tells_what_runs_where() -> None:
    state = after(started())
    assert state == RunState(
        status="running", run_id="r1", trace="a.json.gz", platform="MI300X", analyst="rules", host="node", pid=7,
        started=NOON + timedelta(minutes=1), last_seq=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("event", "status", "reason", "seconds"),
    [
        (e.RunFinished(seconds=2.5), "finished", "", 2.5),
        (e.RunFailed(reason="no memory"), "failed", "no memory", None),
        (e.RunFailed(reason="asked to", cancelled=True), "cancelled", "asked to", None),
    ],
)
def test_the_end(event: e.AnyEvent, status: Status, reason: str, seconds: float | None) -> None:
    state = after(started(), event)
    assert (state.status, state.reason, state.seconds) == (status, reason, seconds)
    assert not state.live


def test_stages_in_order_with_their_progress() -> None:
    state = after(
        started(),
        e.StageStarted(stage="load"),
        e.StageProgress(stage="load", done=3, total=10, unit="MB"),
        e.StageFinished(stage="load", seconds=1.5),
        e.StageStarted(stage="prepare"),
        e.StageFinished(stage="plan", seconds=0.0, reused=True),
    )
    assert state.stages == (
        StageState("load", NOON + timedelta(minutes=2), 3, 10, "MB", 1.5),
        StageState("prepare", NOON + timedelta(minutes=5)),
        StageState("plan", NOON + timedelta(minutes=6), seconds=0.0, reused=True),
    )


def test_the_life_of_a_sub_agent() -> None:
    events: tuple[e.AnyEvent, ...] = (
        e.AgentPlanned(**GEMM, tier="compute", rule="share of the window at least", number=12.5),
        e.AgentStarted(**GEMM, analyst="rules"),
        e.AgentProgress(**GEMM, done=1, total=3, note="reading"),
        e.AgentText(**GEMM, text="hm"),
        e.AgentRetry(**GEMM, attempt=1, reason="a bare number"),
        added(finding("gemm-1")),
        e.AgentFinished(**GEMM, findings=1, seconds=0.5),
    )
    expected = [AgentState("gemm", "gemm", "compute", "planned", "share of the window at least", 12.5)]
    changes: tuple[dict[str, Any], ...] = (
        {"status": "running", "started": NOON + timedelta(minutes=2)},
        {"done": 1, "total": 3, "note": "reading"},
        {"text": "hm"},
        {"retries": 1, "reason": "a bare number"},
        {"findings": 1},
        {"status": "finished", "seconds": 0.5, "reason": ""},
    )
    for change in changes:
        expected.append(replace(expected[-1], **change))
    assert [reduced(numbered(*events[:count])).agents for count in range(1, 8)] == [(one,) for one in expected]


@pytest.mark.parametrize(("cancelled", "status"), [(False, "failed"), (True, "cancelled")])
def test_a_failed_sub_agent_keeps_the_reason(cancelled: bool, status: AgentStatus) -> None:
    state = after(e.AgentStarted(**GEMM, analyst="rules"), e.AgentFailed(**GEMM, reason="why", cancelled=cancelled))
    assert [(agent.status, agent.reason) for agent in state.agents] == [(status, "why")]


def test_skipped_with_rule_and_number() -> None:
    state = after(
        e.AgentSkipped(agent="cpu-idle", category="cpu_idle", tier="system", rule="idle above 15 %", number=3.0)
    )
    assert state.agents == (AgentState("cpu-idle", "cpu_idle", "system", "skipped", "idle above 15 %", 3.0),)


def test_rejections_are_told() -> None:
    state = after(e.FindingRejected(**GEMM, title="Occupancy", check="forbidden claim"))
    assert state.rejected == ("Occupancy: forbidden claim",)


def test_the_report() -> None:
    assert after(started(), e.ReportWritten(file="analysis.md", findings=3)).report == "analysis.md"


def test_a_resume_goes_on_where_the_killed_run_was() -> None:
    state = after(
        started(),
        e.StageStarted(stage="load"),
        e.StageFinished(stage="load", seconds=1.0),
        e.StageStarted(stage="agents"),
        e.AgentPlanned(**GEMM, tier="compute", rule="r", number=1.0),
        e.AgentStarted(**GEMM, analyst="rules"),
        e.RunFailed(reason="killed"),
        started(resumed=True),
    )
    assert (state.status, state.reason) == ("running", "")
    assert state.stages == (), "the new process tells its stages anew"
    assert [agent.status for agent in state.agents] == ["planned"]


def test_a_sub_agent_that_starts_again_has_no_findings_yet() -> None:
    state = replace(
        after(e.AgentStarted(**GEMM, analyst="rules"), added(finding("gemm-1"))),
        findings=(finding("gemm-1"), finding("reduce-1")),
    )
    state = reduce(state, e.AgentStarted(**GEMM, analyst="rules"))
    assert [one.id for one in state.findings] == ["reduce-1"]
    assert state.agents[0].findings == 0


def test_reduce_changes_nothing_it_was_given() -> None:
    before = after(started(), e.AgentStarted(**GEMM, analyst="rules"))
    copy = replace(before)
    reduce(before, e.AgentFinished(**GEMM, findings=0, seconds=1.0))
    assert before == copy


_TEXT = st.text(max_size=4)
_KEY = {"agent": st.sampled_from(["a", "b"]), "category": st.sampled_from(["c", "d"])}
_STAGE = st.sampled_from(["load", "plan", "rank"])
_STRATEGIES: dict[type[e.Base], dict[str, st.SearchStrategy[object]]] = {
    e.RunStarted: {
        "run_id": _TEXT, "trace": _TEXT, "platform": st.none(), "analyst": _TEXT, "host": _TEXT, "pid": st.just(7),
    },
    e.StageStarted: {"stage": _STAGE},
    e.StageProgress: {"stage": _STAGE, "done": st.integers(0, 9), "total": st.integers(0, 9)},
    e.StageFinished: {"stage": _STAGE, "seconds": st.just(1.0)},
    e.AgentPlanned: {**_KEY, "tier": st.just("compute"), "rule": _TEXT, "number": st.none()},
    e.AgentSkipped: {**_KEY, "tier": st.just("compute"), "rule": _TEXT, "number": st.none()},
    e.AgentStarted: {**_KEY, "analyst": _TEXT},
    e.AgentProgress: {**_KEY, "done": st.integers(0, 9), "total": st.integers(0, 9)},
    e.AgentText: {**_KEY, "text": _TEXT},
    e.FindingAdded: {
        **_KEY, "finding": _TEXT, "tier": st.just("compute"), "title": _TEXT, "mid": st.none(), "file": _TEXT,
    },
    e.FindingRejected: {**_KEY, "title": _TEXT, "check": _TEXT},
    e.AgentRetry: {**_KEY, "attempt": st.integers(1, 3), "reason": _TEXT},
    e.AgentFinished: {**_KEY, "findings": st.integers(0, 3), "seconds": st.just(1.0)},
    e.AgentFailed: {**_KEY, "reason": _TEXT, "cancelled": st.booleans()},
    e.ReportWritten: {"file": _TEXT, "findings": st.integers(0, 3)},
    e.RunFinished: {"seconds": st.just(1.0)},
    e.RunFailed: {"reason": _TEXT, "cancelled": st.booleans()},
}  # fmt: skip
_EVENTS = st.one_of([st.builds(kind, **fields) for kind, fields in _STRATEGIES.items()])


def test_the_property_below_knows_every_event() -> None:
    assert set(_STRATEGIES) == set(get_args(e.AnyEvent))


@settings(max_examples=200, deadline=None)
@given(st.lists(_EVENTS, max_size=30))
def test_every_prefix_of_any_events_is_a_valid_state(events: list[e.AnyEvent]) -> None:
    state = RunState()
    for count, event in enumerate(numbered(*events), 1):
        state = reduce(state, event)
        assert state.status in get_args(Status)
        assert state.last_seq == count
        keys = [(agent.agent, agent.category) for agent in state.agents]
        assert len(set(keys)) == len(keys)
        assert all(agent.status in get_args(AgentStatus) for agent in state.agents)
        names = [stage.name for stage in state.stages]
        assert len(set(names)) == len(names)
        assert state == reduced(numbered(*events)[:count])
