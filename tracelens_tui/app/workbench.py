"""The one screen: one selection, the ways between the panes, and what the workers bring."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.drill import ops_of_finding
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.messages import ReportRead, RunChanged, RunFailed, RunStarted, TraceFailed, TraceReady, TraceStep
from tracelens_tui.app.navigation import Navigator, NoWay
from tracelens_tui.app.opening import trace_of_run
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.panes_screen import PanesScreen
from tracelens_tui.app.report_view import ReportView
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.selection import Place, Selection
from tracelens_tui.app.services import Services
from tracelens_tui.app.steps import step_text
from tracelens_tui.app.time_split import TimeSplitPane
from tracelens_tui.app.view import TraceView
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import Finding
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.state import RunState

STEP_S = 0.5
TICK_S = 1.0
"""States of a live run are shown this often, in the same frame as the clock."""


class Workbench(PanesScreen):
    """Findings, kernels, tree, time, agents and report of one trace or run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace", "back", "back", id="back"),
        Binding("t", "to_tree", "tree", id="tree"),
        Binding("K", "to_kernels", "kernels row", id="kernels"),
        Binding("b", "to_partner", "backward or forward op", id="partner"),
        Binding("right_square_bracket", "other_use(1)", "next use", id="next-use"),
        Binding("left_square_bracket", "other_use(-1)", "previous use", id="previous-use"),
        Binding("full_stop", "next_new", "next new finding", id="next-new"),
    ]

    def __init__(
        self,
        services: Services,
        options: AppOptions,
        *,
        trace: Path | None = None,
        run_dir: Path | None = None,
        view: TraceView | None = None,
        folder: Path,
    ) -> None:
        super().__init__(services, options, trace, run_dir)
        self._given = view
        self._folder = folder
        self.selection = Selection()
        self.navigator = Navigator()
        self._waiting: RunState | None = None
        self._next_step = 0.0
        self._clock: Timer | None = None

    def on_mount(self) -> None:
        """Show what is there; follow the run, or start one."""
        self._clock = self.set_interval(TICK_S, self._tick, pause=True)
        self.arrange_panes()
        self.pane(self.active).focus()
        if self._given is not None:
            self.post_message(TraceReady(self._given))
        elif self.run_dir is not None:
            self._explain(("looking for the trace…",))
            self._read_trace(self.run_dir)
        if self.run_dir is not None:
            self.post_message(RunStarted(self.run_dir))
        elif self.trace is not None:
            self.start_run(self.trace)

    # The trace -----------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="trace")
    async def _read_trace(self, run_dir: Path) -> None:
        """Open the trace that the run names, as the run did."""
        try:
            self.options = await in_thread(lambda: self.services.options_of(run_dir, self.options))
            self.trace, view = await trace_of_run(
                self.services, self.options, run_dir, self._folder, lambda step: self.post_message(TraceStep(step))
            )
        except UserError as error:
            self.post_message(TraceFailed(str(error)))
            return
        self.post_message(TraceReady(view))

    @on(TraceStep)
    def _trace_step(self, message: TraceStep) -> None:
        """Say how far the trace is, a few times a second."""
        now = monotonic()
        if self.view is None and now >= self._next_step:
            self._next_step = now + STEP_S
            self._explain((f"the trace is being read: {step_text(message.step)}",))

    @on(TraceFailed)
    def _trace_failed(self, message: TraceFailed) -> None:
        self._explain((message.reason, "findings, agents and report work without it"))

    @on(TraceReady)
    def _trace_ready(self, message: TraceReady) -> None:
        """Give the trace to the panes that show it."""
        self.view = self.navigator.view = message.view
        self.query_one("#kernels", KernelTable).load(message.view.ops, message.view.kernels)
        self.query_one("#tree", EventTree).load(message.view.tree)
        self.query_one("#time", TimeSplitPane).load(message.view.time)
        self.show_bars()
        self.rest()

    def _explain(self, words: Sequence[str]) -> None:
        """Say in the panes that need the trace why they are empty."""
        for pane in (KernelTable, EventTree, TimeSplitPane):
            self.query_one(pane).explain(words)

    # The run -------------------------------------------------------------------------------------------------------

    @on(RunStarted)
    def _run_started(self, message: RunStarted) -> None:
        """Follow the run from its beginning."""
        self.run_dir, self.run_state, self._waiting = message.run_dir, None, None
        self.follow_run(message.run_dir)

    @on(RunFailed)
    def _run_failed(self, message: RunFailed) -> None:
        self.workers.cancel_group(self, "follow")
        self._waiting = RunState(status="failed", reason=message.reason)
        self._show_run()

    @on(RunChanged)
    def _run_changed(self, message: RunChanged) -> None:
        """Show a state: the first of a kind at once, the others with the clock."""
        state, before = message.state, self.run_state
        self._waiting = state
        if before is None or before.status != state.status or not state.live:
            self._show_run()

    def _tick(self) -> None:
        """Count on, and show what came since."""
        if self._waiting is not None:
            self._show_run()
        self.query_one("#agents", AgentList).tick()
        self.show_bars()

    def _show_run(self) -> None:
        """Give the newest state to the panes."""
        state, before, self._waiting = self._waiting, self.run_state, None
        if state is None:
            return
        self.run_state = state
        self.query_one("#findings", FindingList).show_run(state)
        self.query_one("#agents", AgentList).show_run(state)
        self._show_report(state, before)
        if self._clock is not None:
            (self._clock.resume if state.live else self._clock.pause)()
        if self.run_dir is not None and state.findings and (before is None or not before.findings):
            self.read_marks(self.run_dir)
        for problem in state.problems[:1] if before is None or before.problems != state.problems else ():
            self.flash(problem)
        self.show_bars()
        self.rest()

    def _show_report(self, state: RunState, before: RunState | None) -> None:
        """Read the report when it is there, and say when it will be."""
        if state.report is not None and self.run_dir is not None:
            if before is None or before.report != state.report or before.status != state.status:
                self.read_report(self.run_dir)
        else:
            words = "the report is written when the run ends" if state.live else "the run ended without a report"
            self.query_one("#report", ReportView).explain((words, state.reason))

    @on(ReportRead)
    def _report_read(self, message: ReportRead) -> None:
        self.query_one("#report", ReportView).load(message.markdown)

    def finding_chosen(self) -> Finding | None:
        """Return the finding under the cursor of its pane, while that pane has the keys."""
        return self.query_one("#findings", FindingList).finding() if self.active == "findings" else None

    def show_marks(self, marks: dict[str, Mark]) -> None:
        """Show the user's verdicts."""
        self.query_one("#findings", FindingList).show_marks(marks)

    def action_next_new(self) -> None:
        """Go to the next finding that was not looked at."""
        self.action_pane("findings")
        if not self.query_one("#findings", FindingList).next_fresh():
            self.flash("no new findings")

    # The selection and its ways ------------------------------------------------------------------------------------

    @on(Rows.Moved)
    def _moved(self, message: Rows.Moved) -> None:
        """Take what is under the cursor as the selection."""
        pane, key = message.rows, message.key
        if isinstance(pane, FindingList):
            self.selection = replace(self.selection, finding=str(key))
            pane.look()
        elif isinstance(pane, KernelTable) and isinstance(key, int):
            op, kernel = (key, None) if pane.shows_ops else (None, key)
            self.selection = replace(self.selection, op=op, kernel=kernel)
        elif isinstance(pane, EventTree) and isinstance(key, int):
            self.selection = replace(self.selection, event=key)
        if pane.id == self.active:
            self.rest()

    @on(Rows.Chosen)
    def _chosen(self, message: Rows.Chosen) -> None:
        """Go where enter leads."""
        pane = message.rows
        if isinstance(pane, FindingList) and (finding := pane.finding()) is not None:
            self._jump(self.navigator.from_finding(finding, self.selection))
        elif isinstance(pane, KernelTable):
            self._jump(self.navigator.from_kernels(self.selection))
        elif isinstance(pane, EventTree):
            pane.action_toggle_fold()
        elif isinstance(pane, TimeSplitPane) and (row := pane.row()) is not None:
            self._jump(self.navigator.from_time(row, self.selection), category=row.category)
        elif isinstance(pane, AgentList):
            self.action_detail()

    def show_selection(self) -> None:
        """Put the cursor of the kernels on the chosen finding's first operation, where both panes show."""
        kernels, finding = self.query_one("#kernels", KernelTable), self.finding_chosen()
        if self.view is None or finding is None or not kernels.display or not kernels.shows_ops:
            return
        rows = ops_of_finding(self.view.analysis, finding)
        if rows:
            kernels.move_to_key(rows[0])

    def action_to_tree(self) -> None:
        """Go to the tree node of the selection."""
        self._jump(self.navigator.from_kernels(self.selection))

    def action_to_kernels(self) -> None:
        """Go to the kernels row of the event under the cursor."""
        self._jump(self.navigator.from_event(self.selection.event, self.selection))

    def action_to_partner(self) -> None:
        """Go from the event under the cursor of the tree to its backward op, or back to its forward op."""
        if self.active == "tree":
            self._jump(self.navigator.from_linked(self.selection.event, self.selection))
        else:
            self.flash("b leads from an event of the tree to its partner: 3 opens the tree")

    def action_other_use(self, step: int) -> None:
        """Go to the next operation of the finding or call of the op."""
        found = self.navigator.other_use(self.active, self.selection, step)
        if isinstance(found, NoWay):
            self.flash(found.reason)
            return
        place, words = found
        self._go(place)
        self.flash(words)

    def action_back(self) -> None:
        """Go back to where the last jump began."""
        place = self.navigator.jumps.back()
        if place is None:
            self.flash("no jump to go back from")
        else:
            self._go(place)

    def _jump(self, place: Place | NoWay, *, category: str | None = None) -> None:
        """Go to a place and remember this one."""
        if isinstance(place, NoWay):
            self.flash(place.reason)
            return
        self.navigator.jumps.leave(Place(self.active, self.selection))
        if category is not None:
            self.query_one("#kernels", KernelTable).show_category(category)
        self._go(place)

    def _go(self, place: Place) -> None:
        """Show a pane with its cursor on the selection."""
        chosen = place.selection
        self.action_pane(place.pane)
        if place.pane == "findings" and chosen.finding is not None:
            self.query_one("#findings", FindingList).move_to_key(chosen.finding)
        if place.pane == "kernels":
            self.query_one("#kernels", KernelTable).show_row(chosen.op, chosen.kernel)
        if place.pane == "tree" and chosen.event is not None:
            self.query_one("#tree", EventTree).show_event(chosen.event)
        self.selection = chosen
