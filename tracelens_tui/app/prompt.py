"""The line that asks for words: search and filter."""

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class Prompt(Horizontal):
    """A label and an input of one line, in place of the key line while it asks."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave", show=False)]

    @dataclass
    class Answered(Message):
        """The words were entered."""

        purpose: str
        words: str

    @dataclass
    class Left(Message):
        """The prompt was left without an answer."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._purpose = ""

    def compose(self) -> ComposeResult:
        """Make the label and the input."""
        yield Static("", markup=False)
        box = Input(compact=True, select_on_focus=False)
        box.cursor_blink = False
        yield box

    def ask(self, purpose: str, label: str, words: str = "") -> None:
        """Ask; the answer comes as a message with the purpose."""
        self._purpose = purpose
        self.query_one(Static).update(f" {label} ")
        box = self.query_one(Input)
        box.value = words
        box.cursor_position = len(words)
        self.display = True
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Hand the answer on."""
        event.stop()
        self.post_message(self.Answered(self._purpose, event.value.strip()))

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.post_message(self.Left())
