"""Cells, columns and lines: plain text with the name of a style, fitted to terminal cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

Cell = tuple[str, str]
"""Plain text and the name of a style ("" = the pane's own): see ``pane.STYLES``."""

Line = tuple[Cell, ...]
Align = Literal["left", "right", "bar"]
"""How a cell stands in its column; the text of a bar is its length as a number between 0 and 1."""

NOTHING: Cell = ("-", "dim")
"""A value that is not known or does not apply."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.  One of them grows: it takes what room is left and has ``width`` as its least."""

    key: str
    title: str
    width: int
    align: Align = "right"
    grows: bool = False
    sortable: bool = True


def width_of(text: str) -> int:
    """Return how many terminal cells the text takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int, align: Align = "left") -> str:
    """Return the text in exactly ``width`` cells; what does not fit is cut and ends in an ellipsis."""
    if align == "bar":
        return bar(float(text or 0), width)
    size = width_of(text)
    if size > width:
        return set_cell_size(text, max(0, width - 1)) + ("…" if width > 0 else "")
    return text + " " * (width - size) if align == "left" else " " * (width - size) + text


def fit_line(cells: Sequence[Cell], width: int) -> list[Cell]:
    """Return the cells cut or filled to exactly ``width`` terminal cells."""
    out: list[Cell] = []
    left = width
    for text, style in cells:
        size = width_of(text)
        if size > left:
            out.append((fit(text, left), style))
            return out
        out.append((text, style))
        left -= size
    if left:
        out.append((" " * left, ""))
    return out


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Break one paragraph into lines of at most ``width`` cells, at blanks where there are any.

    ``first`` stands before the first line and ``rest`` (by default as many blanks) before the others.
    """
    rest = " " * width_of(first) if rest is None else rest
    room = max(8, width - width_of(first))
    lines: list[str] = []
    current = ""
    for word in text.split():
        candidate = f"{current} {word}" if current else word
        if width_of(candidate) <= room:
            current = candidate
            continue
        if current:
            lines.append(current)
        *full, current = chop_cells(word, room) or [""]
        lines.extend(full)
    if current or not lines:
        lines.append(current)
    return [(rest if index else first) + line for index, line in enumerate(lines)]


def widths(columns: Sequence[Column], room: int, skip: int) -> list[tuple[int, int]]:
    """Choose what to show in ``room`` cells: pairs of column number and width, one blank between them.

    Columns up to the one that grows always stand; ``skip`` columns after it are scrolled away.  Columns that do not
    fit whole are left out and the one that grows takes the rest.
    """
    grower = next((number for number, column in enumerate(columns) if column.grows), 0)
    shown = [(number, column.width) for number, column in enumerate(columns[: grower + 1])]
    left = room - sum(width + 1 for _, width in shown) + 1
    for number in range(grower + 1 + skip, len(columns)):
        need = columns[number].width + 1
        if need > left:
            break
        shown.append((number, columns[number].width))
        left -= need
    return [(number, max(1, width + left) if number == grower else width) for number, width in shown]


def bar(share: float, width: int) -> str:
    """Return a bar of ``width`` cells that is filled by ``share``, to half a cell; anything above 0 shows."""
    halves = round(max(0.0, min(1.0, share)) * width * 2)
    if share > 0:
        halves = max(1, halves)
    return ("█" * (halves // 2) + "▌" * (halves % 2)).ljust(width)


def thousands(value: int | None) -> str:
    """Return ``1,204,311``, or ``-`` where there is no value."""
    return "-" if value is None else f"{value:,}"


def count_of(value: int, word: str) -> str:
    """Return ``1 call``, ``1,204 calls``."""
    return f"{value:,} {word}" if value == 1 else f"{value:,} {word}s"


def fixed(value: float | None, digits: int) -> str:
    """Return the value with that many decimals and thousands separators, or ``-`` where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def significant(value: float | None) -> str:
    """Return about three significant digits, ``<.001``, ``0.034``, ``3.41``, ``34.1``, ``341``; ``-`` for none."""
    if value is None:
        return "-"
    size = abs(value)
    if 0 < size < 0.0005:
        return "<.001"
    digits = 3 if size < 1 else 2 if size < 10 else 1 if size < 100 else 0
    return f"{value:,.{digits}f}"


def clock(seconds: float) -> str:
    """Return an elapsed time as ``00:41`` or ``1:02:03``."""
    whole = max(0, int(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"
