"""The selection and the ways between the panes: drill, jump, come back."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.drill import ops_of_finding
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.navigation import Navigator, NoWay
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.panes_screen import PanesScreen
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.selection import Place, Selection
from tracelens_tui.app.services import Services
from tracelens_tui.app.time_split import TimeSplitPane
from tracelens_tui.app.timeline import TimelinePane
from tracelens_tui.run.findings import Finding


class WaysScreen(PanesScreen):
    """One selection that every pane shows a side of, and the jump list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace", "back", "back", id="back"),
        Binding("t", "to_tree", "tree", id="tree"),
        Binding("T", "to_timeline", "timeline", id="timeline"),
        Binding("K", "to_kernels", "kernels row", id="kernels"),
        Binding("b", "to_partner", "backward or forward op", id="partner"),
        Binding("right_square_bracket", "other_use(1)", "next use", id="next-use"),
        Binding("left_square_bracket", "other_use(-1)", "previous use", id="previous-use"),
    ]

    def __init__(self, services: Services, options: AppOptions, trace: Path | None, run_dir: Path | None) -> None:
        super().__init__(services, options, trace, run_dir)
        self.selection = Selection()
        self.navigator = Navigator()

    def finding_chosen(self) -> Finding | None:
        """Return the finding under the cursor of its pane, while that pane has the keys."""
        return self.query_one("#findings", FindingList).finding() if self.active == "findings" else None

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
        if self.active == "timeline":
            self.query_one("#timeline", TimelinePane).action_choose()
        else:
            self._jump(self.navigator.from_kernels(self.selection))

    @on(TimelinePane.Moved)
    def _event_moved(self, message: TimelinePane.Moved) -> None:
        """Take the event under the timeline's cursor as the selection."""
        if self.active != "timeline":
            return
        if message.event is not None:
            self.selection = replace(self.selection, event=message.event)
        self.rest()

    @on(TimelinePane.Chosen)
    def _event_chosen(self, message: TimelinePane.Chosen) -> None:
        """Go to the event's place in the tree."""
        self._jump(Place("tree", replace(self.selection, event=message.event)))

    def action_to_timeline(self) -> None:
        """Go to the GPU event of the selection on the timeline."""
        self._jump(self.navigator.to_timeline(self.active, self.selection, self.finding_chosen()))

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
        if place.pane == "timeline" and chosen.event is not None:
            self.query_one("#timeline", TimelinePane).show_event(chosen.event)
        self.selection = chosen
