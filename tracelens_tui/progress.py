"""What the command line prints of a triage: progress lines on a pipe, a live table on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from tracelens_tui.console import err
from tracelens_tui.run import events as ev
from tracelens_tui.run.follow import reduce
from tracelens_tui.run.state import AgentState, RunState
from tracelens_tui.text import percent, plain

Listener = Callable[[ev.AnyEvent], None]

_WORDS = {
    "planned": "waiting",
    "skipped": "skipped",
    "running": "running",
    "finished": "done",
    "failed": "FAILED",
    "cancelled": "cancelled",
}


class Printer(Protocol):
    """Something that takes one line of text."""

    def __call__(self, line: str, /) -> None:
        """Print the line."""
        ...


@contextmanager
def progress(*, live: bool, printer: Printer = err) -> Iterator[Listener]:
    """Give a listener for a triage's events: it prints plain lines, or keeps a live table when ``live``."""
    if not live:
        yield _Lines(printer)
        return
    from rich.console import Console
    from rich.live import Live

    state = RunState()
    with Live(console=Console(stderr=True), refresh_per_second=4, transient=True) as display:

        def listen(event: ev.AnyEvent) -> None:
            nonlocal state
            state = reduce(state, event)
            display.update(_table(state))

        yield listen


def line_of(event: ev.AnyEvent) -> str | None:
    """Return the plain line that tells of an event, None for events that are not worth one."""
    match event:
        case ev.RunStarted():
            how = "resumed" if event.resumed else "started"
            return f"run {how}: {plain(event.trace)}" + (f" on {event.platform}" if event.platform else "")
        case ev.StageFinished():
            return f"stage {event.stage}: done in {event.seconds:.2f} s" + (" (reused)" if event.reused else "")
        case ev.AgentSkipped():
            return f"agent {event.agent}: skipped, {plain(event.rule)} ({_number(event.number, event.unit)})"
        case ev.AgentFinished():
            reused = " (reused)" if event.reused else ""
            return f"agent {event.agent} on {event.category}: {event.findings} findings{reused}"
        case ev.AgentFailed():
            return f"agent {event.agent} on {event.category}: failed: {plain(event.reason)}"
        case ev.FindingAdded():
            return f"finding {event.finding}: {plain(event.title)} ({percent(event.mid)} of the window)"
        case ev.ReportWritten():
            return f"report: {event.file}, {event.findings} findings"
        case ev.RunFinished():
            return f"run finished in {event.seconds:.2f} s"
        case ev.RunFailed():
            return f"run failed: {plain(event.reason)}"
        case _:
            return None


class _Lines:
    """Prints the line of each event; a run's first line waits for the second, so that an input that cannot be read
    costs one line in all."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self._held: str | None = None

    def __call__(self, event: ev.AnyEvent) -> None:
        """Print the event's line, if it has one."""
        line = line_of(event)
        if isinstance(event, ev.RunStarted):
            self._held = line
        elif line is not None and not isinstance(event, ev.RunFailed):  # the error itself is the command's to print
            for text in (self._held, line):
                if text is not None:
                    self._printer(text)
            self._held = None


def _number(value: float | None, unit: str) -> str:
    """A deciding number with its unit."""
    return "no number" if value is None else f"{value:.1f} {unit}".rstrip()


def _table(state: RunState):  # noqa: ANN202  (a rich renderable; rich is imported only here)
    """The live display: the running stage, the sub-agents, the findings so far."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    running = next((stage for stage in reversed(state.stages) if stage.seconds is None), None)
    if running is not None:
        share = f" {100 * running.done / running.total:.0f} %" if running.total else ""
        table.add_row(Text("stage"), Text(f"{running.name}{share}"))
    for agent in state.agents:
        table.add_row(Text(agent.agent), Text(_agent_words(agent)))
    if state.findings:
        table.add_row(Text("findings"), Text(str(len(state.findings))))
    return table


def _agent_words(agent: AgentState) -> str:
    """State of a sub-agent in a few words."""
    words = f"{agent.category}: {_WORDS[agent.status]}"
    if agent.status == "finished":
        words += f", {agent.findings} findings"
    if agent.status in {"skipped", "failed"}:
        words += f", {plain(agent.rule or agent.reason)}"
    return words
