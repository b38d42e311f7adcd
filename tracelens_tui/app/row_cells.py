"""The cells of a table's lines: titles and rows, fitted to their columns."""

from collections.abc import Sequence

from tracelens_tui.app.cells import Cell, Column, fit
from tracelens_tui.app.row_source import RowSource

Layout = Sequence[tuple[int, int]]
"""Numbers and widths of the columns that show."""


def header_cells(source: RowSource, layout: Layout, *, scrolled: bool) -> list[Cell]:
    """Return the titles of the columns; a mark at the left where columns are scrolled away."""
    cells: list[Cell] = [("‹" if scrolled else " ", "head")]
    cells += [(_title(source, source.columns[number], width), "head") for number, width in layout]
    return cells


def _title(source: RowSource, column: Column, width: int) -> str:
    """One title and the blank after it; the arrow of a sorted number column stands in that blank."""
    arrow = ""
    if column.sortable and column.key == source.sort_key:
        arrow = "▾" if source.descending else "▴"
    if column.align == "right":
        return fit(column.title, width, "right") + (arrow or " ")
    return fit(column.title + arrow, width) + " "


def row_cells(values: Sequence[Cell], columns: Sequence[Column], layout: Layout, *, marked: bool) -> list[Cell]:
    """Return the cells of a row with a blank after each; a lonely value is a heading over the whole width."""
    cells: list[Cell] = [("▸", "mark") if marked else (" ", "")]
    if len(values) == 1:
        return [*cells, values[0]]
    for number, width in layout:
        text, style = values[number]
        cells += [(fit(text, width, columns[number].align), style), (" ", "")]
    return cells
