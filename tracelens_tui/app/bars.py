"""The lines around the panes: what is open, which panes there are, which keys work."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from tracelens_tui.app.cells import Cell, fit_line, width_of


class Bar(Widget):
    """One line of styled text, drawn again only where it changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(id=id)
        self._cells: list[Cell] = []

    def show(self, cells: Sequence[Cell]) -> None:
        """Show the cells."""
        cells = list(cells)
        if cells != self._cells:
            self._cells = cells
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Return the line."""
        width = self.size.width
        styles = {"bold": Style(bold=True), "dim": Style(dim=True), "active": Style(bold=True, reverse=True)}
        base = self.rich_style
        segments = [
            Segment(text, base + styles[name] if name else base) for text, name in fit_line(self._cells, width) if text
        ]
        return Strip(segments, width)


def two_ends(left: Sequence[Cell], right: Sequence[Cell], width: int) -> list[Cell]:
    """Return the left cells, blanks and the right cells in ``width``; the left is cut where both do not fit."""
    room = width - sum(width_of(text) for text, _ in right)
    if room < 8:
        return fit_line(left, width)
    return [*fit_line(left, room), *right]


def tab_cells(panes: Sequence[tuple[str, str]], active: str) -> list[Cell]:
    """Return the names of the panes, the active one in brackets and reversed."""
    cells: list[Cell] = []
    for name, label in panes:
        cells.append((f"[{label}]", "active") if name == active else (f" {label} ", ""))
    return cells


def key_cells(keys: str, width: int, *, has_help: bool = True) -> list[Cell]:
    """Return ``key what  key what`` with the keys bold, as many whole pairs as fit; the last is always the way out."""
    pairs = [pair.split(" ", 1) for pair in keys.split("  ") if pair]
    tail: list[Cell] = [("q", "bold"), (" quit ", "")]
    if has_help:
        tail = [("?", "bold"), (" help  ", ""), *tail]
    room = width - sum(width_of(text) for text, _ in tail) - 1
    cells: list[Cell] = [(" ", "")]
    for key, *what in pairs:
        words = f" {what[0]}  " if what else "  "
        need = width_of(key) + width_of(words)
        if need > room:
            break
        cells += [(key, "bold"), (words, "")]
        room -= need
    return two_ends(cells, tail, width)
