"""From a pane to the paragraphs of what is under its cursor."""

from collections.abc import Sequence

from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.cells import count_of
from tracelens_tui.app.details import (
    Paragraph,
    agent_details,
    event_details,
    finding_details,
    kernel_details,
    op_details,
    time_details,
)
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.pane import Pane
from tracelens_tui.app.relations import relation_details
from tracelens_tui.app.time_split import TimeSplitPane
from tracelens_tui.app.timeline import TimelinePane
from tracelens_tui.app.timeline_cells import LEGEND
from tracelens_tui.app.view import TraceView


def describe(pane: Pane, view: TraceView | None) -> Sequence[Paragraph]:
    """Return what the detail says for the pane; nothing where nothing is under the cursor."""
    if isinstance(pane, FindingList):
        finding = pane.finding()
        return () if finding is None else finding_details(finding)
    if isinstance(pane, AgentList):
        agent = pane.agent()
        return () if agent is None else agent_details(agent)
    if isinstance(pane, TimeSplitPane):
        row = pane.row()
        return () if row is None else time_details(row)
    return () if view is None else _of_trace(pane, view)


def _of_trace(pane: Pane, view: TraceView) -> Sequence[Paragraph]:
    """Details that need the trace."""
    if isinstance(pane, KernelTable) and isinstance(pane.key, int):
        if pane.shows_ops:
            return op_details(view.analysis, pane.key)
        table = pane.frame_source
        return () if table is None else kernel_details(table.row(pane.cursor))
    if isinstance(pane, EventTree) and isinstance(pane.key, int):
        if pane.key < 0:
            group = view.tree.data.groups[-1 - pane.key]
            return (Paragraph("Thread", f"{group.label} · {count_of(group.events, 'event')}", brief=True),)
        return _of_event(view, pane.key)
    if isinstance(pane, TimelinePane):
        return _of_timeline(pane, view)
    return ()


def _of_timeline(pane: TimelinePane, view: TraceView) -> Sequence[Paragraph]:
    """The event under the cursor, and what the glyphs mean."""
    event = pane.event
    legend = [Paragraph("Glyphs", line, brief=event is None) for line in LEGEND]
    return (*legend,) if event is None else (*_of_event(view, event), *legend)


def _of_event(view: TraceView, event: int) -> Sequence[Paragraph]:
    first, facts, *others = event_details(view.analysis, event)
    return (first, facts, *relation_details(view.analysis, view.relations, event), *others)
