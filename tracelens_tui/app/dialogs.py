"""Small screens that ask: yes or no, a path."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class Confirm(ModalScreen[bool]):
    """A question with what each key does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "answer(True)", "yes"),
        Binding("n,escape", "answer(False)", "no"),
    ]

    def __init__(self, question: str, detail: str = "", *, quits: bool = False) -> None:
        super().__init__()
        self._question, self._detail = question, detail
        if quits:  # the key that asked, pressed again, means it
            self._bindings.bind("q,ctrl+c", "answer(True)", show=False)

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="question")
            if self._detail:
                yield Static(self._detail, markup=False)
            yield Static("y or enter: yes    n or esc: no", markup=False, classes="answers")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - a binding gives it by place
        """Close with the answer."""
        self.dismiss(yes)


class AskPath(ModalScreen[str | None]):
    """A path to write to or to open; None where the user leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave")]

    def __init__(self, question: str, path: str, detail: str = "") -> None:
        super().__init__()
        self._question, self._path, self._detail = question, path, detail

    def compose(self) -> ComposeResult:
        """Make the box."""
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="question")
            if self._detail:
                yield Static(self._detail, markup=False)
            box = Input(self._path, compact=True, select_on_focus=False)
            box.cursor_blink = False
            yield box
            yield Static("enter: go on    esc: leave", markup=False, classes="answers")

    def on_mount(self) -> None:
        """Put the cursor behind the path."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the path."""
        self.dismiss(event.value.strip() or None)

    def action_leave(self) -> None:
        """Close without a path."""
        self.dismiss(None)
