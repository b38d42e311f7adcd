"""``analysis.md`` as a consumer reads it: headings, markers, anchors, tables.  Knows nothing of how it was rendered."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6}) (.*)")
_COMMENT = re.compile(r"<!--(.*?)-->")
_MARKER = re.compile(r" (impact-begin|impact-end|top-ops-row|reasoning-candidate)((?: [a-z]+=[^\s=]+)*) ")
_PAIR = re.compile(r"([a-z]+)=(\S+)")
_ANCHOR = re.compile(r'<a id="([^"]*)"></a>')
_LINK = re.compile(r"\]\(#([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; ``line`` counts from 1."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Marker:
    """A comment that consumers parse; ``name`` is "" for a comment that is none of theirs."""

    line: int
    name: str
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: header and rows as cells, what follows a row's last pipe left out."""

    line: int
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading with everything up to the next heading of its level or above."""

    heading: Heading
    lines: tuple[str, ...]  # without the heading

    @property
    def tables(self) -> list[Table]:
        """The block's tables."""
        return list(_tables(self.lines, self.heading.line + 1))

    @property
    def markers(self) -> list[Marker]:
        """The block's markers."""
        return list(_markers(self.lines, self.heading.line + 1))

    def labelled(self, label: str) -> str | None:
        """Return the text behind ``**label**:`` or ``**label:**`` on its line; None where there is none."""
        for line in self.lines:
            for start in (f"**{label}**: ", f"**{label}:** "):
                if line.startswith(start):
                    return line[len(start) :]
        return None


class Document:
    """A parsed report."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = tuple(text.split("\n"))
        self.headings = [
            Heading(number, len(match[1]), match[2])
            for number, line in enumerate(self.lines, 1)
            if (match := _HEADING.fullmatch(line))
        ]
        self.markers = list(_markers(self.lines, 1))
        self.anchors = [(number, found) for number, line in enumerate(self.lines, 1) for found in _ANCHOR.findall(line)]
        self.links = [(number, found) for number, line in enumerate(self.lines, 1) for found in _LINK.findall(line)]

    def blocks(self, level: int, within: "Block | None" = None) -> list[Block]:
        """Return the blocks under headings of the level, of the whole report or of one block."""
        first, last = (1, len(self.lines)) if within is None else _span(within)
        inside = [h for h in self.headings if first <= h.line <= last]
        out: list[Block] = []
        for index, heading in enumerate(inside):
            if heading.level == level:
                end = next((h.line - 1 for h in inside[index + 1 :] if h.level <= level), last)
                out.append(Block(heading, self.lines[heading.line : end]))
        return out

    def section(self, title: str) -> Block | None:
        """Return the ``##`` section of that title."""
        return next((block for block in self.blocks(2) if block.heading.text == title), None)


def _span(block: Block) -> tuple[int, int]:
    return block.heading.line + 1, block.heading.line + len(block.lines)


def _markers(lines: tuple[str, ...], first: int) -> Iterator[Marker]:
    for number, line in enumerate(lines, first):
        for comment in _COMMENT.finditer(line):
            match = _MARKER.fullmatch(comment[1])
            attributes = dict(_PAIR.findall(match[2])) if match else {}
            yield Marker(number, match[1] if match else "", attributes)


def _tables(lines: tuple[str, ...], first: int) -> Iterator[Table]:
    index = 0
    while index < len(lines):
        if lines[index].startswith("|"):
            end = next((i for i in range(index, len(lines)) if not lines[i].startswith("|")), len(lines))
            rows = [_cells(line) for line in lines[index:end]]
            yield Table(first + index, rows[0], tuple(rows[2:]))
            index = end
        index += 1


def _cells(line: str) -> tuple[str, ...]:
    inner = line[1 : line.rindex("|")] if line.count("|") > 1 else line[1:]
    return tuple(cell.strip() for cell in inner.split("|"))
