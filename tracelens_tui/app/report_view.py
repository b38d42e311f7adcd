"""Pane 6: the report, one section at a time."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from tracelens_tui.app.cells import Line
from tracelens_tui.app.lines import Lines
from tracelens_tui.app.report_lines import Section, section_lines, sections_of


class ReportView(Lines):
    """A preview of the report; the whole of it opens in the pager."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket,space", "section(1)", "next section", show=False),
        Binding("left_square_bracket", "section(-1)", "previous section", show=False),
    ]
    keys = "[ ] section  ←→ sideways  o open in pager  e export"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(label="7 Report", id=id)
        self.sections: Sequence[Section] = ()
        self.section = 0
        self._words: Sequence[str] = ("no report yet",)

    def load(self, markdown: str) -> None:
        """Take a report; the section shown stays where it was."""
        self.sections = sections_of(markdown)
        self._show(min(self.section, max(0, len(self.sections) - 1)))

    def explain(self, words: Sequence[str]) -> None:
        """Say why there is no report."""
        if words != self._words:
            self._words = words
            if not self.sections:
                self.refresh()

    def action_section(self, step: int) -> None:
        """Show another section."""
        if self.sections:
            self._show(max(0, min(self.section + step, len(self.sections) - 1)))

    def action_move(self, step: int) -> None:
        """Scroll, and at the end of a section go on with the next by a page key."""
        before = self.top
        super().action_move(step)
        if self.top == before and abs(step) > 1 and self.sections:
            self.action_section(1 if step > 0 else -1)

    def _show(self, number: int) -> None:
        """Show one section from its start."""
        self.section = number
        self.set_text(self._lines_of)
        self.refresh()

    def _lines_of(self, width: int) -> Sequence[Line]:
        """The lines of the section shown."""
        return section_lines(self.sections[self.section], width) if self.sections else ()

    def status(self) -> str:
        """Return which section shows."""
        return f"section {self.section + 1} of {len(self.sections)}" if self.sections else ""

    def empty_lines(self) -> Sequence[str]:
        """Return why there is no report."""
        return self._words
