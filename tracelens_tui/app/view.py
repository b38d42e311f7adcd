"""An opened trace as everything the panes show of it; made in a thread, used by the screen."""

from dataclasses import dataclass

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.frames import FrameSource
from tracelens_tui.app.lanes import Timeline, timeline_of
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.op_rows import kernel_source, op_source
from tracelens_tui.app.relations import Relations, relations_of
from tracelens_tui.app.time_rows import TimeRow, time_source
from tracelens_tui.app.tree_data import tree_data
from tracelens_tui.app.tree_source import TreeSource


@dataclass(frozen=True, slots=True)
class TraceView:
    """The analysis, the row sources of the panes and what the events are to each other."""

    analysis: Analysis
    ops: FrameSource
    kernels: FrameSource
    tree: TreeSource
    time: ListSource[TimeRow]
    relations: Relations
    timeline: Timeline


def trace_view(analysis: Analysis) -> TraceView:
    """Return the view of an analysis."""
    return TraceView(
        analysis=analysis,
        ops=op_source(analysis),
        kernels=kernel_source(analysis),
        tree=TreeSource(analysis, tree_data(analysis)),
        time=time_source(analysis),
        relations=relations_of(analysis),
        timeline=timeline_of(analysis),
    )
