"""The panes on the screen: which show, which has the keys, the bars around them, search and filter."""

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.timer import Timer

from tracelens_tui.app import status
from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.arrangement import PANES, Arrangement
from tracelens_tui.app.bars import Bar, key_cells, tab_cells
from tracelens_tui.app.describe import describe
from tracelens_tui.app.details import brief, full
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.help import Help
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.lines import Lines
from tracelens_tui.app.pane import Pane
from tracelens_tui.app.prompt import Prompt
from tracelens_tui.app.report_view import ReportView
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.run_screen import RunScreen
from tracelens_tui.app.selection import PaneName
from tracelens_tui.app.time_split import TimeSplitPane
from tracelens_tui.app.timeline import TimelinePane
from tracelens_tui.app.view import TraceView

REST_S = 0.12
"""How long the cursor must rest before the detail follows it: a held key draws rows only."""
FLASH_S = 4.0


class PanesScreen(RunScreen):
    """Seven panes, a detail and three bars; what they show comes from the subclass."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(number), f"pane('{name}')", name) for number, name in enumerate(PANES, start=1)),
        Binding("tab", "next_pane(1)", "next pane"),
        Binding("shift+tab", "next_pane(-1)", "pane before"),
        Binding("slash", "ask('find')", "find", id="find"),
        Binding("f", "ask('filter')", "filter", id="filter"),
        Binding("n", "find_again(1)", "find next", id="find-next"),
        Binding("N", "find_again(-1)", "find the one before", id="find-previous"),
        Binding("escape", "leave", "leave"),
        Binding("d", "detail", "detail", id="detail"),
        Binding("z", "zoom", "zoom", id="zoom"),
        Binding("y", "copy", "copy", id="copy"),
        Binding("question_mark", "help", "help", id="help"),
    ]
    view: TraceView | None = None
    active: PaneName = "findings"
    _needle = ""
    _detail_timer: Timer | None = None
    _flash_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Make the panes."""
        self.arrangement = Arrangement()
        with Horizontal(id="top"):
            yield Bar(id="trace")
            yield Bar(id="run")
        yield Bar(id="tabs")
        with Horizontal(id="body"):
            with Vertical(id="left"):
                yield FindingList(id="findings")
                yield TimeSplitPane(id="time")
            with Vertical(id="right"):
                yield KernelTable(id="kernels")
                yield EventTree(id="tree")
                yield AgentList(self.services.now, id="agents")
                yield TimelinePane(id="timeline")
                yield ReportView(id="report")
        yield Lines(label="Detail", id="detail")
        yield Bar(id="keys")
        yield Prompt(id="prompt")

    def pane(self, name: PaneName) -> Pane:
        """Return a pane by its name."""
        return self.query_one(f"#{name}", Pane)

    # Panes ---------------------------------------------------------------------------------------------------------

    def arrange_panes(self) -> None:
        """Show the panes that the size and the active one call for."""
        self.arrangement.apply(self, self.active)
        self.show_bars()

    def on_resize(self, _event: events.Resize) -> None:
        """Arrange anew."""
        self.arrange_panes()
        self.show_detail()

    def action_pane(self, name: PaneName) -> None:
        """Show a pane and give it the keys."""
        self.active = name
        self.arrangement.reading = False
        self._forget_flash()
        self.arrange_panes()
        pane = self.pane(name)
        pane.focus()
        if isinstance(pane, FindingList):
            pane.look()
        self.rest()

    def action_next_pane(self, step: int) -> None:
        """Show the next pane."""
        self.action_pane(PANES[(PANES.index(self.active) + step) % len(PANES)])

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Follow the focus where the mouse takes it."""
        name = event.widget.id or ""
        if name in PANES and name != self.active:
            self.active = name
            self.show_bars()
            self.rest()

    def action_zoom(self) -> None:
        """Give the active pane the whole screen, or take it back."""
        self.arrangement.zoomed = not self.arrangement.zoomed
        self.arrange_panes()
        self.rest()

    def action_detail(self) -> None:
        """Read the detail: it takes the keys, and on a small screen the room; again, and it gives them back."""
        self.arrangement.reading = not self.arrangement.reading
        self.arrange_panes()
        (self.query_one("#detail", Lines) if self.arrangement.reading else self.pane(self.active)).focus()
        self.show_detail()

    def action_help(self) -> None:
        """Show every key."""
        self.app.push_screen(Help())

    def action_copy(self) -> None:
        """Copy the row under the cursor to the terminal's clipboard."""
        text = self.pane(self.active).copied()
        if text is not None:
            self.app.copy_to_clipboard(text)
            self.flash(f"copied: {text}")

    # Bars and detail -----------------------------------------------------------------------------------------------

    def show_bars(self) -> None:
        """Show what is open, the panes and the keys."""
        width = self.size.width
        self.query_one("#trace", Bar).show(status.trace_cells(self.trace, self.run_state, self.view))
        self.query_one("#run", Bar).show(status.run_cells(self.run_state, self.services.now()))
        labels = [(name, self.pane(name).label) for name in PANES]
        self.query_one("#tabs", Bar).show(tab_cells(labels, self.active))
        if self._flash_timer is None:
            self.query_one("#keys", Bar).show(key_cells(self.pane(self.active).keys, width))

    def flash(self, text: str) -> None:
        """Say something in the key line for a while."""
        self.query_one("#keys", Bar).show([(f" {text}", "bold")])
        self._forget_flash()
        self._flash_timer = self.set_timer(FLASH_S, self._end_flash)

    def _end_flash(self) -> None:
        self._forget_flash()
        self.show_bars()

    def _forget_flash(self) -> None:
        if self._flash_timer is not None:
            self._flash_timer.stop()
        self._flash_timer = None

    def rest(self) -> None:
        """Let the detail follow once the cursor rests."""
        if self._detail_timer is not None:
            self._detail_timer.stop()
        self._detail_timer = self.set_timer(REST_S, self.show_detail)

    def show_detail(self) -> None:
        """Show the detail of what the active pane has under its cursor."""
        paragraphs = describe(self.pane(self.active), self.view)
        form = full if self.arrangement.roomy else brief
        self.query_one("#detail", Lines).set_text(lambda width: form(paragraphs, width))
        self.show_selection()

    def show_selection(self) -> None:
        """Let the panes beside the active one show the selection."""
        raise NotImplementedError

    # Search and filter ---------------------------------------------------------------------------------------------

    def action_ask(self, purpose: str) -> None:
        """Ask for words in place of the key line."""
        pane = self.pane(self.active)
        if not pane.searchable:
            self.flash("this pane has nothing to search; o opens the report in the pager")
            return
        if purpose == "filter" and not isinstance(pane, Rows):
            self.flash("this pane has no filter; / finds")
            return
        self.query_one("#keys", Bar).display = False
        words = pane.source.needle if purpose == "filter" and isinstance(pane, Rows) else ""
        self.query_one("#prompt", Prompt).ask(purpose, f"{purpose} in {pane.label[2:]}:", words)

    def _end_prompt(self) -> None:
        self.query_one("#prompt", Prompt).display = False
        self.query_one("#keys", Bar).display = True
        self.pane(self.active).focus()

    @on(Prompt.Left)
    def _prompt_left(self) -> None:
        self._end_prompt()

    @on(Prompt.Answered)
    def _prompt_answered(self, message: Prompt.Answered) -> None:
        """Filter, or find the first."""
        self._end_prompt()
        pane = self.pane(self.active)
        if message.purpose == "filter" and isinstance(pane, Rows):
            pane.set_filter(message.words)
        elif message.words and message.purpose != "filter":
            self._needle = message.words
            self.action_find_again(1)

    def action_find_again(self, step: int) -> None:
        """Move to the next row that holds the words that were last asked for."""
        pane = self.pane(self.active)
        if not self._needle or not pane.searchable:
            self.flash("nothing to find yet: / asks for words")
        elif not pane.find(self._needle, step):
            self.flash(f"nothing here holds “{self._needle}”")

    def action_leave(self) -> None:
        """Leave the detail, else the zoom, else the filter."""
        pane = self.pane(self.active)
        if self.arrangement.reading:
            self.action_detail()
        elif isinstance(pane, Rows) and pane.source.needle:
            pane.set_filter("")
        elif self.arrangement.zoomed:
            self.action_zoom()
