"""Pane 5: the sub-agents of a run, live."""

from collections.abc import Callable, Sequence
from datetime import datetime

from tracelens_tui.app.agent_rows import COLUMNS, agent_source
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.rows import Rows
from tracelens_tui.run.state import AgentState, RunState


class AgentList(Rows):
    """One row per sub-agent and category; those that run count their seconds."""

    keys = "enter detail  c cancel the run  r run again"
    source: ListSource[AgentState]

    def __init__(self, now: Callable[[], datetime], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(agent_source((), now), label="5 Agents", id=id)
        self._now = now
        self._words = ("no run yet",)

    def show_run(self, run: RunState) -> None:
        """Show the sub-agents of a state of the run."""
        if run.agents != tuple(self.source.items):
            self.show(agent_source(run.agents, self._now))
        self.explain(_words(run))

    def tick(self) -> None:
        """Count on: draw the start of the rows again that run; state and time stand there."""
        width = 2 + COLUMNS[0].width + 1 + COLUMNS[1].width
        for row in self.rows_in_sight():
            if self.source.item(row).status == "running":
                self.redraw(row, width)

    def agent(self) -> AgentState | None:
        """Return the sub-agent under the cursor."""
        return self.source.item(self.cursor) if self.cursor < len(self.source) else None

    def status(self) -> str:
        """Return how many sub-agents are in which state."""
        counts: dict[str, int] = {}
        for agent in self.source.items:
            counts[agent.status] = counts.get(agent.status, 0) + 1
        return " · ".join(f"{count} {status}" for status, count in counts.items())


def _words(run: RunState) -> Sequence[str]:
    """What an empty list says."""
    if not run.live:
        return ("no sub-agent was planned", run.reason)
    stage = run.stages[-1].name if run.stages else "start"
    return (f"the triage is at work: {stage}…", "it plans its sub-agents once the trace is read")
