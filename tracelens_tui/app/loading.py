"""Reading a trace: its stages with their progress; leaving the screen ends the child process."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen

from tracelens_tui.app.cells import Line, fit
from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.lines import Lines
from tracelens_tui.app.messages import TraceStep
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.paths import holds_run
from tracelens_tui.app.preparing import Step
from tracelens_tui.app.services import Services
from tracelens_tui.app.steps import amount, stage_word, step_bar
from tracelens_tui.errors import UserError
from tracelens_tui.text import byte_count, plain

if TYPE_CHECKING:
    from tracelens_tui.app.view import TraceView

REDRAW_S = 0.25


@dataclass
class Opened(Message):
    """A trace is open, or a run directory was found."""

    trace: Path | None = None
    view: "TraceView | None" = None
    run_dir: Path | None = None


@dataclass
class Failed(Message):
    """The path cannot be opened; one sentence."""

    reason: str
    target: Path


class LoadingScreen(Screen[None]):
    """What is read and how far it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c", "quit_app", "cancel")]

    def __init__(self, services: Services, options: AppOptions, target: Path, folder: Path) -> None:
        super().__init__()
        self._services, self._options = services, options
        self._target, self._folder = target, folder
        self._steps: dict[str, Step] = {}
        self._file_size = ""

    def compose(self) -> ComposeResult:
        """Make the page."""
        yield Lines(label="tracelens-tui", id="page")

    def on_mount(self) -> None:
        """Begin to read."""
        self._draw()
        self.query_one(Lines).focus()
        self.set_interval(REDRAW_S, self._draw)
        self._open()

    @work(exclusive=True, group="open")
    async def _open(self) -> None:
        """Find out what the path is; read a trace, hand on a run."""
        run_dir, self._file_size = await in_thread(lambda: (holds_run(self._target), _size(self._target)))
        try:
            if run_dir:
                await in_thread(lambda: import_module("tracelens_tui.app.workbench"))
                self.app.post_message(Opened(run_dir=self._target))
                return
            async for step in self._services.prepare(self._target, self._options, self._folder / "analysis"):
                self.post_message(TraceStep(step))
            view = await in_thread(self._map)
            self.app.post_message(Opened(trace=self._target, view=view))
        except UserError as error:
            self.app.post_message(Failed(str(error), self._target))

    def _map(self) -> "TraceView":
        """Map the prepared columns; the heavy modules are loaded here, in the thread."""
        import_module("tracelens_tui.app.workbench")
        from tracelens_tui.app.opening import mapped

        return mapped(self._services, self._target, self._folder / "analysis")

    @on(TraceStep)
    def _step(self, message: TraceStep) -> None:
        """Remember the step; the next redraw shows it."""
        self._steps[message.step.stage] = message.step

    def _draw(self) -> None:
        """Show the stages; lines that did not change are not drawn."""
        self.query_one(Lines).set_text(self._lines)

    def _lines(self, width: int) -> list[Line]:
        """The page: one line per stage, the last with its bar."""
        scope = self._options.scope
        head = f"Opening {plain(str(self._target))}{f', {scope.describe()}' if scope else ''}"
        lines: list[Line] = [(), ((head, "bold"), (f"  {self._file_size}", "dim")), ()]
        steps = list(self._steps.values())
        for number, step in enumerate(steps, start=1):
            running = number == len(steps)
            mark = ("▸ ", "accent") if running else ("✓ ", "good")
            bar = step_bar(step, max(8, min(40, width - 50))) if running and step.total else ""
            lines.append((mark, (fit(stage_word(step.stage), 16), ""), (bar, "accent"), (f" {amount(step)}", "")))
        return [*lines, (), (("esc or q cancels", "dim"),)]

    def action_quit_app(self) -> None:
        """Leave: the worker ends, and with it the child."""
        self.workers.cancel_node(self)
        self.app.exit()


def _size(path: Path) -> str:
    """The size of a file in words; "" where there is none."""
    try:
        return byte_count(path.stat().st_size) if path.is_file() else ""
    except OSError:
        return ""
