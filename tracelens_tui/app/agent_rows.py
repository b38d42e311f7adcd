"""The sub-agents of a run as a row source."""

from collections.abc import Callable, Sequence
from datetime import datetime

from tracelens_tui.app.cells import NOTHING, Cell, Column, clock, fixed, thousands
from tracelens_tui.app.lists import ListSource
from tracelens_tui.run.state import AgentState
from tracelens_tui.text import plain

COLUMNS = (
    Column("state", "State", 11, "left"),
    Column("time", "Time", 6),
    Column("agent", "Sub-agent", 20, "left"),
    Column("done", "Done", 7, sortable=False),
    Column("findings", "Found", 5),
    Column("note", "What it says, or why", 20, "left", grows=True, sortable=False),
)
_STATES = {
    "planned": ("· planned", "dim"),
    "skipped": ("- skipped", "dim"),
    "running": ("▸ running", "accent"),
    "finished": ("✓ done", "good"),
    "failed": ("! FAILED", "bad"),
    "cancelled": ("x cancelled", "warn"),
}
_ORDER = tuple(_STATES)


def agent_source(agents: Sequence[AgentState], now: Callable[[], datetime]) -> ListSource[AgentState]:
    """Return the sub-agents in the order of the plan; ``now`` (UTC) gives the elapsed time of those that run."""

    def cells(agent: AgentState) -> Sequence[Cell]:
        seconds = elapsed(agent, now())
        return [
            _STATES[agent.status],
            NOTHING if seconds is None else (_took(agent, seconds), ""),
            (agent_label(agent), ""),
            (f"{thousands(agent.done)}/{thousands(agent.total)}", "") if agent.total else NOTHING,
            (thousands(agent.findings), "") if agent.status in {"running", "finished"} else NOTHING,
            note(agent),
        ]

    orders = {
        "state": lambda agent: _ORDER.index(agent.status),
        "agent": lambda agent: (agent.agent, agent.category),
        "time": lambda agent: elapsed(agent, now()) or -1.0,
        "findings": lambda agent: agent.findings,
    }
    return ListSource(COLUMNS, agents, cells, agent_key, orders)


def _took(agent: AgentState, seconds: float) -> str:
    """The time so far by the second, the time it took by the tenth."""
    return clock(seconds) if agent.seconds is None or seconds >= 60 else f"{seconds:.1f} s"


def agent_key(agent: AgentState) -> str:
    """Return what names a sub-agent's work: agent and category."""
    return f"{agent.agent}/{agent.category}"


def agent_label(agent: AgentState) -> str:
    """Return the agent, with the category where that says more."""
    same = agent.category.replace("_", "-") == agent.agent
    return plain(agent.agent if same else f"{agent.agent} {agent.category}")


def elapsed(agent: AgentState, now: datetime) -> float | None:
    """Return the seconds an agent took, or takes so far; None before it starts."""
    if agent.seconds is not None:
        return agent.seconds
    if agent.status == "running" and agent.started is not None:
        return (now - agent.started).total_seconds()
    return None


def rule_text(agent: AgentState) -> str:
    """Return the number and the rule that activated or skipped the agent; the number first, where nothing cuts it."""
    if agent.number is None:
        return plain(agent.rule)
    number = fixed(agent.number, 0 if agent.number.is_integer() and agent.unit != "%" else 1)
    return plain(f"{number} {agent.unit}".rstrip() + f": {agent.rule}")


def note(agent: AgentState) -> Cell:
    """Return the one thing to say of an agent now."""
    if agent.status in {"failed", "cancelled"}:
        return plain(agent.reason or "no reason given"), "bad" if agent.status == "failed" else "warn"
    if agent.status == "running":
        return plain(agent.text or agent.note or rule_text(agent)), ""
    if agent.status == "finished" and (agent.text or agent.note):
        return plain(agent.text or agent.note), ""
    return rule_text(agent), "dim"
