"""The one screen: what the workers bring to its panes."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.messages import ReportRead, RunChanged, RunFailed, RunStarted, TraceFailed, TraceReady, TraceStep
from tracelens_tui.app.opening import trace_of_run
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.report_view import ReportView
from tracelens_tui.app.services import Services
from tracelens_tui.app.steps import step_text
from tracelens_tui.app.time_split import TimeSplitPane
from tracelens_tui.app.timeline import TimelinePane
from tracelens_tui.app.view import TraceView
from tracelens_tui.app.ways_screen import WaysScreen
from tracelens_tui.errors import UserError
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.state import RunState

STEP_S = 0.5
TICK_S = 1.0
"""States of a live run are shown this often, in the same frame as the clock."""


class Workbench(WaysScreen):
    """Findings, kernels, tree, time, agents and report of one trace or run."""

    BINDINGS: ClassVar[list[BindingType]] = [
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
        self.query_one("#timeline", TimelinePane).load(message.view.timeline)
        self.show_bars()
        self.rest()

    def _explain(self, words: Sequence[str]) -> None:
        """Say in the panes that need the trace why they are empty."""
        for pane in (KernelTable, EventTree, TimeSplitPane, TimelinePane):
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

    def show_marks(self, marks: dict[str, Mark]) -> None:
        """Show the user's verdicts."""
        self.query_one("#findings", FindingList).show_marks(marks)

    def action_next_new(self) -> None:
        """Go to the next finding that was not looked at."""
        self.action_pane("findings")
        if not self.query_one("#findings", FindingList).next_fresh():
            self.flash("no new findings")
