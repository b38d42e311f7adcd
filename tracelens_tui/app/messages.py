"""What the workers tell the screens."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from tracelens_tui.app.preparing import Step
    from tracelens_tui.app.view import TraceView
    from tracelens_tui.run.state import RunState


@dataclass
class TraceStep(Message):
    """The trace is read this far."""

    step: "Step"

    def can_replace(self, message: Message) -> bool:
        """Only the last step of a stage matters."""
        return isinstance(message, TraceStep) and message.step.stage == self.step.stage


@dataclass
class TraceReady(Message):
    """The trace is open."""

    view: "TraceView"


@dataclass
class TraceFailed(Message):
    """The trace cannot be used; one sentence that names the file, the place and the mend."""

    reason: str


@dataclass
class RunStarted(Message):
    """A run goes on, or lies, in this directory."""

    run_dir: Path


@dataclass
class RunChanged(Message):
    """The run directory has a new state."""

    state: "RunState"

    def can_replace(self, message: Message) -> bool:
        """Only the last state matters."""
        return isinstance(message, RunChanged)


@dataclass
class RunFailed(Message):
    """The run cannot be started or followed; one sentence."""

    reason: str


@dataclass
class ReportRead(Message):
    """The report's Markdown."""

    markdown: str
