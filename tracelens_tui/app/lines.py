"""Lines of styled text that scroll: the detail of a selection, the report, the help."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip

from tracelens_tui.app.cells import Line, fit_line, width_of
from tracelens_tui.app.pane import Pane

Make = Callable[[int], Sequence[Line]]
"""Width -> lines; called again when the width changes."""


class Lines(Pane):
    """Text made for the pane's width; lines that are longer scroll to the side."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "sideways(8)", "right", show=False),
        Binding("left,h", "sideways(-8)", "left", show=False),
    ]

    def __init__(self, *, label: str, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(label=label, id=id)
        self.side = 0
        self._make: Make = lambda _width: ()
        self._lines: Sequence[Line] = ()

    @property
    def text_width(self) -> int:
        """Cells of a line that hold text."""
        return max(8, self.size.width - 2)

    def set_text(self, make: Make) -> None:
        """Show other text from its start; only the lines that differ are drawn again."""
        self._make = make
        old, self._lines = self._lines, list(make(self.text_width))
        if self.top or self.side:
            self.top = self.side = 0
            self.refresh()
            return
        for y in range(self.body_height):
            before = old[y] if y < len(old) else ()
            after = self._lines[y] if y < len(self._lines) else ()
            if before != after:
                end = min(self.size.width, max(_width(before), _width(after)) + 1)
                self.refresh(Region(0, y + self.fixed, end, 1))

    def body_count(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def body_strip(self, index: int) -> Strip:
        """Return one line."""
        width = self.size.width
        line = [(" ", ""), *self._lines[index]]
        if not self.side:
            return self.strip(line)
        long = self.strip_of(fit_line(line, width + self.side), width + self.side)
        return long.crop(self.side, self.side + width)

    def position(self) -> str:
        """Return how far the text is scrolled, where it does not fit."""
        count = self.body_count()
        if count <= self.body_height:
            return ""
        return f"{min(count, self.top + self.body_height)}/{count}"

    def action_sideways(self, step: int) -> None:
        """Scroll to the side as far as the longest line goes."""
        longest = max((_width(line) for line in self._lines), default=0)
        side = max(0, min(self.side + step, longest + 1 - self.size.width))
        if side != self.side:
            self.side = side
            self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Break the text again."""
        self._lines = list(self._make(self.text_width))
        super().on_resize(event)
        self.refresh()


def _width(line: Line) -> int:
    """Cells of a line."""
    return sum(width_of(text) for text, _ in line)
