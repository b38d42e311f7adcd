"""The journal as a fold: one event at a time turns a state into the next."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timezone
from functools import singledispatch
from pathlib import PurePath

from tracelens_tui.run import events as e
from tracelens_tui.run.state import AgentState, AgentStatus, RunState, StageState

AgentEvent = (
    e.AgentPlanned
    | e.AgentSkipped
    | e.AgentStarted
    | e.AgentProgress
    | e.AgentText
    | e.AgentRetry
    | e.AgentFinished
    | e.AgentFailed
    | e.FindingAdded
)
_START = datetime.fromtimestamp(0, timezone.utc)


def reduce(state: RunState, event: e.AnyEvent) -> RunState:
    """Return the state after the event.  Reads nothing: findings and liveness are added by ``run.follow``."""
    return replace(_apply(event, state), last_seq=max(state.last_seq, event.seq))


def reduced(events: Iterable[e.AnyEvent]) -> RunState:
    """Return the state after all events."""
    state = RunState()
    for event in events:
        state = reduce(state, event)
    return state


@singledispatch
def _apply(event: object, state: RunState) -> RunState:
    raise TypeError(f"unknown event {type(event).__name__}")


@_apply.register
def _(event: e.RunStarted, state: RunState) -> RunState:
    # What a killed predecessor left running did not end; the new process tells each stage anew, reused ones too.
    agents = tuple(replace(a, status="planned") if a.status == "running" else a for a in state.agents)
    return replace(
        state,
        status="running",
        run_id=event.run_id,
        trace=PurePath(event.trace).name,
        platform=event.platform,
        analyst=event.analyst,
        host=event.host,
        pid=event.pid,
        started=event.time,
        seconds=None,
        reason="",
        report=None,
        stages=(),
        agents=agents,
    )


@_apply.register
def _(event: e.StageStarted, state: RunState) -> RunState:
    return _with_stage(state, event.stage, lambda _: StageState(event.stage, event.time or _START))


@_apply.register
def _(event: e.StageProgress, state: RunState) -> RunState:
    return _with_stage(
        state, event.stage, lambda s: replace(s, done=event.done, total=event.total, unit=event.unit), event.time
    )


@_apply.register
def _(event: e.StageFinished, state: RunState) -> RunState:
    return _with_stage(state, event.stage, lambda s: replace(s, seconds=event.seconds, reused=event.reused), event.time)


@_apply.register
def _(event: e.AgentPlanned, state: RunState) -> RunState:
    return _plan(state, event, "planned")


@_apply.register
def _(event: e.AgentSkipped, state: RunState) -> RunState:
    return _plan(state, event, "skipped")


@_apply.register
def _(event: e.AgentStarted, state: RunState) -> RunState:
    kept = tuple(f for f in state.findings if (f.agent, f.category) != (event.agent, event.category))

    def started(agent: AgentState) -> AgentState:
        fresh = AgentState(agent.agent, agent.category, agent.tier, "running", agent.rule, agent.number, agent.unit)
        return replace(fresh, started=event.time)

    return replace(_with_agent(state, event, started), findings=kept)


@_apply.register
def _(event: e.AgentProgress, state: RunState) -> RunState:
    return _with_agent(state, event, lambda a: replace(a, done=event.done, total=event.total, note=event.note))


@_apply.register
def _(event: e.AgentText, state: RunState) -> RunState:
    return _with_agent(state, event, lambda a: replace(a, text=event.text))


@_apply.register
def _(event: e.FindingAdded, state: RunState) -> RunState:
    return _with_agent(state, event, lambda a: replace(a, findings=a.findings + 1, tier=event.tier))


@_apply.register
def _(event: e.FindingRejected, state: RunState) -> RunState:
    return replace(state, rejected=(*state.rejected, f"{event.title}: {event.check}"))


@_apply.register
def _(event: e.AgentRetry, state: RunState) -> RunState:
    return _with_agent(state, event, lambda a: replace(a, retries=event.attempt, reason=event.reason))


@_apply.register
def _(event: e.AgentFinished, state: RunState) -> RunState:
    return _with_agent(
        state,
        event,
        lambda a: replace(a, status="finished", findings=event.findings, seconds=event.seconds, reason=""),
    )


@_apply.register
def _(event: e.AgentFailed, state: RunState) -> RunState:
    status: AgentStatus = "cancelled" if event.cancelled else "failed"
    return _with_agent(state, event, lambda a: replace(a, status=status, reason=event.reason))


@_apply.register
def _(event: e.ReportWritten, state: RunState) -> RunState:
    return replace(state, report=event.file)


@_apply.register
def _(event: e.RunFinished, state: RunState) -> RunState:
    return replace(state, status="finished", seconds=event.seconds)


@_apply.register
def _(event: e.RunFailed, state: RunState) -> RunState:
    return replace(state, status="cancelled" if event.cancelled else "failed", reason=event.reason)


def _with_stage(
    state: RunState, name: str, change: Callable[[StageState], StageState], time: datetime | None = None
) -> RunState:
    """Change the stage in its place, or add it at the end (a reader may have missed its start)."""
    if not any(stage.name == name for stage in state.stages):
        state = replace(state, stages=(*state.stages, StageState(name, time or _START)))
    return replace(state, stages=tuple(change(s) if s.name == name else s for s in state.stages))


def _with_agent(state: RunState, event: AgentEvent, change: Callable[[AgentState], AgentState]) -> RunState:
    """Change the event's sub-agent in its place, or add it at the end."""
    key = (event.agent, event.category)
    if not any((agent.agent, agent.category) == key for agent in state.agents):
        state = replace(state, agents=(*state.agents, AgentState(*key, tier="compute", status="planned")))
    return replace(state, agents=tuple(change(a) if (a.agent, a.category) == key else a for a in state.agents))


def _plan(state: RunState, event: e.AgentPlanned | e.AgentSkipped, status: AgentStatus) -> RunState:
    def planned(agent: AgentState) -> AgentState:
        return replace(
            agent, tier=event.tier, status=status, rule=event.rule, number=event.number, unit=event.unit, reason=""
        )

    return _with_agent(state, event, planned)
