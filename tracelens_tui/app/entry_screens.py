"""Before anything is open: recent runs, or why a path could not be opened; both ask for a path."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from tracelens_tui.app.bars import Bar, key_cells
from tracelens_tui.app.cells import Cell, Column, Line, wrap
from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.lines import Lines
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.prompt import Prompt
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.services import Services
from tracelens_tui.text import plain

if TYPE_CHECKING:
    from tracelens_tui.run.recent import RecentRun


@dataclass
class PathGiven(Message):
    """The user wants this trace or run directory."""

    path: Path


class EntryScreen(Screen[None]):
    """A page with a prompt for a path below it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,slash,tab", "ask", "type a path"),
        Binding("q,ctrl+c,escape", "quit_app", "quit"),
    ]
    keys = "p type a path"
    typed = ""

    def on_mount(self) -> None:
        """Give the page the keys."""
        self.query_one("#page").focus()
        self.on_resize()

    def on_resize(self) -> None:
        """Fit the key line."""
        self.query_one("#keys", Bar).show(key_cells(self.keys, self.size.width, has_help=False))

    def action_ask(self) -> None:
        """Ask for a path."""
        self.query_one("#keys", Bar).display = False
        self.query_one(Prompt).ask("open", "open:", self.typed)

    @on(Prompt.Left)
    def _left(self) -> None:
        self.query_one(Prompt).display = False
        self.query_one("#keys", Bar).display = True
        self.query_one("#page").focus()

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        self.typed = self.query_one(Input).value
        if message.words:
            self.app.post_message(PathGiven(Path(message.words).expanduser()))
        else:
            self._left()

    def action_quit_app(self) -> None:
        """Leave."""
        self.app.exit()


class OpenScreen(EntryScreen):
    """Recent runs; enter shows one."""

    keys = "enter show the run  p type a path of a trace or a run"

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services

    def compose(self) -> ComposeResult:
        """Make the list."""
        yield RecentList(label="tracelens-tui: recent runs", id="page")
        yield Bar(id="keys")
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        """Look for recent runs."""
        super().on_mount()
        self._look()

    @work
    async def _look(self) -> None:
        runs = await in_thread(self._services.recent)
        self.query_one(RecentList).show(recent_source(runs))
        if not runs:
            self.action_ask()

    @on(Rows.Chosen)
    def _chosen(self, message: Rows.Chosen) -> None:
        self.app.post_message(PathGiven(Path(str(message.key))))


class RecentList(Rows):
    """Runs that were started or opened here."""

    def __init__(self, *, label: str, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(recent_source(()), label=label, id=id)

    def empty_lines(self) -> Sequence[str]:
        """Return what to do where nothing was opened yet."""
        return ("no recent runs", "give a trace or a run directory: tracelens-tui TRACE, or type its path below")


def recent_source(runs: "Sequence[RecentRun]") -> "ListSource[RecentRun]":
    """Return the runs, latest first."""
    columns = (
        Column("trace", "Trace", 24, "left", grows=True, sortable=False),
        Column("time", "Opened (UTC)", 16, "left", sortable=False),
        Column("path", "Run directory", 40, "left", sortable=False),
    )

    def cells(run: "RecentRun") -> Sequence[Cell]:
        when = run.time.strftime("%Y-%m-%d %H:%M")
        return [(plain(Path(run.trace).name), "bold"), (when, ""), (plain(run.path), "dim")]

    return ListSource(columns, tuple(runs), cells, lambda run: run.path)


class ErrorScreen(EntryScreen):
    """One sentence: what is wrong, where, and how to mend it."""

    keys = "p try another path"

    def __init__(self, reason: str, target: Path) -> None:
        super().__init__()
        self.reason = reason
        self.typed = str(target)

    def compose(self) -> ComposeResult:
        """Make the page."""
        yield Lines(label="This cannot be opened", id="page")
        yield Bar(id="keys")
        yield Prompt(id="prompt")

    def on_mount(self) -> None:
        """Show the sentence."""
        super().on_mount()
        self.query_one("#page", Lines).set_text(self._lines)

    def _lines(self, width: int) -> list[Line]:
        lines: list[Line] = [()]
        lines += [((line, "bad"),) for line in wrap(plain(f"error: {self.reason}"), width)]
        return lines
