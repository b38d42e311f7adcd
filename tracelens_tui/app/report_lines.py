"""The report as sections of styled lines: a small, tolerant reading of its Markdown, where text stays text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracelens_tui.app.cells import Cell, Line, fit, width_of, wrap
from tracelens_tui.text import plain

_HEADING = re.compile(r"^(#{1,4}) +(.*)$")
_HIDDEN = re.compile(r"<!--.*?-->|<a id=[^>]*></a>|</?(?:details|summary)>")
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\(#[^)]*\)")
_BREAK = re.compile(r"<br ?/?>")
_SPAN = re.compile(r"\*\*(.+?)\*\*|`([^`]+)`")
_BULLET = re.compile(r"^(\s*)(?:[-*]|\d+\.) +")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the Markdown lines below it, down to the next heading."""

    title: str
    level: int
    body: tuple[str, ...]


def sections_of(markdown: str) -> tuple[Section, ...]:
    """Split a report at its headings; comments, anchors and pictures go, a heading without a body stays."""
    sections: list[Section] = []
    title, level, body = "Report", 1, []
    for raw in markdown.splitlines():
        line = _BREAK.sub(", ", _IMAGE.sub(r"(picture: \1)", _HIDDEN.sub("", raw)))
        heading = _HEADING.match(line)
        if heading is None:
            body.append(plain(_LINK.sub(r"\1", line)))
            continue
        _close(sections, title, level, body)
        title, level, body = plain(heading[2]), len(heading[1]), []
    _close(sections, title, level, body)
    return tuple(sections)


def _close(sections: list[Section], title: str, level: int, body: list[str]) -> None:
    """Add a section, unless it is the empty space before the first heading."""
    if sections or any(body) or title != "Report":
        sections.append(Section(title, level, tuple(body)))


def section_lines(section: Section, width: int) -> list[Line]:
    """Return the section's lines: paragraphs wrapped to the width, tables aligned and as wide as they must be."""
    lines: list[Line] = [((section.title, "title"),), ()]
    body = list(section.body)
    while body:
        table = _table_rows(body)
        if table:
            del body[: len(table)]
            lines += _table_lines(table)
            continue
        line = body.pop(0)
        if line.strip() == "---":
            continue
        if line.strip() or lines[-1]:
            lines += _paragraph(line, width)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _paragraph(line: str, width: int) -> list[Line]:
    """One source line, wrapped; a list item hangs, a quote has a bar."""
    if not line.strip():
        return [()]
    first = ""
    bullet = _BULLET.match(line)
    if bullet is not None:
        first, line = f"{bullet[1]}• ", line[bullet.end() :]
    elif line.startswith(">"):
        first, line = "│ ", line.lstrip("> ")
    rest = "│ " if first == "│ " else None
    return [tuple(spans(text)) for text in wrap(line, width, first, rest)]


def spans(text: str) -> list[Cell]:
    """Return one line with its bold and code parts in styles; marks without a partner stay as they are."""
    out: list[Cell] = []
    at = 0
    for match in _SPAN.finditer(text):
        if match.start() > at:
            out.append((text[at : match.start()], ""))
        out.append((match[1], "bold") if match[1] is not None else (match[2], "accent"))
        at = match.end()
    if at < len(text):
        out.append((text[at:], ""))
    return out


def _table_rows(body: Sequence[str]) -> list[str]:
    """The lines at the start of the body that form a table."""
    rows: list[str] = []
    for line in body:
        if not line.lstrip().startswith("|"):
            break
        rows.append(line)
    return rows


def _table_lines(rows: Sequence[str]) -> list[Line]:
    """A table with its columns aligned: numbers to the right."""
    split = [_table_cells(row) for row in rows if not re.fullmatch(r"[|\s:-]+", row)]
    count = max((len(row) for row in split), default=0)
    table = [row + [""] * (count - len(row)) for row in split]
    wide = [max(width_of(row[column]) for row in table) for column in range(count)]
    numeric = [all(_is_number(row[column]) for row in table[1:]) for column in range(count)]
    lines: list[Line] = []
    for number, row in enumerate(table):
        cells: list[Cell] = []
        for column, text in enumerate(row):
            align = "right" if numeric[column] else "left"
            cells.append((fit(text, wide[column], align) + "  ", "head" if number == 0 else ""))
        lines.append(tuple(cells))
    return lines


def _table_cells(row: str) -> list[str]:
    """The cells of a row without marks; an escaped bar is text."""
    inner = row.strip().removeprefix("|").removesuffix("|")
    cells = re.split(r"(?<!\\)\|", inner)
    return [re.sub(r"\*\*(.+?)\*\*|`([^`]*)`", r"\1\2", cell.replace("\\|", "|")).strip() for cell in cells]


def _is_number(text: str) -> bool:
    """Whether a cell is a number, with or without a unit, or stands for none."""
    return text in {"", "-", "—"} or re.fullmatch(r"[-+]?[\d,]+(\.\d+)?( ?(%|ms|µs|s))?", text) is not None
