"""Text that comes from traces and analysts, made safe for Markdown.

A string is escaped when a template prints it, unless it is :class:`Md`, that is, Markdown already.  Escaping touches
only what could do harm (tables, HTML and markers, links, code spans, entities), so that ordinary op and kernel names
stand in the report as they are; ``html.unescape`` gives the original text back.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from tracelens_tui.report.evidence import CODE, shown, substituted
from tracelens_tui.report.numbers import NONE
from tracelens_tui.run.findings import Evidence
from tracelens_tui.text import plain

_HARMFUL = re.compile(
    r"""&(?=[#\w])          # an entity
      | <(?=[A-Za-z/!?])    # a tag, a comment or an autolink
      | [|`\\]              # a table cell, a code span, an escape
      | \](?=[(\[:])        # a link
      | \{(?=[{%#])         # a placeholder that a consumer fills
      | :(?=//)             # a bare link
      | @(?=\w)             # a bare address
      | (?<=\bwww)\.        # another bare link""",
    re.VERBOSE | re.IGNORECASE,
)
_NOT_IN_CODE = re.compile(r"[`|]|<!--|\{[{%#]|\]\(|<a id=")
"""What ends a code span or its cell, and what readers look for without regard to code spans."""


class Md(str):
    """Markdown that is safe to print as it is."""

    __slots__ = ()


def escaped(text: str) -> Md:
    """Return any text as Markdown that shows it, on one line."""
    return Md(_HARMFUL.sub(lambda match: f"&#{ord(match[0])};", plain(text)))


def cell(text: str) -> Md:
    """Return text for a table cell; ``<br>`` stays a line break, as in argument lists.

    White space around it goes, as it does where a reader parses the table.
    """
    return Md("<br>".join(escaped(part) for part in text.split("<br>")).strip())


def code(text: str) -> Md:
    """Return text as a code span, or escaped where a code span would not be safe."""
    name = _name(text)
    return name if isinstance(name, Md) else escaped(name)


def prose(text: str, evidence: Iterable[Evidence]) -> Md:
    """Return an analyst's prose as Markdown: references filled in, code spans kept, all else escaped."""
    items = {item.id: item for item in evidence}
    pieces: list[str] = []
    for index, part in enumerate(CODE.split(text)):
        pieces += [_name(substituted(part, items, shown))] if index % 2 else _pieces(part, items)
    runs = groupby(pieces, lambda piece: isinstance(piece, Md))  # what is harmful may stand across two pieces
    return Md("".join("".join(run) if safe else escaped("".join(run)) for safe, run in runs).strip())


def finalize(value: object) -> str:
    """Escape what a template prints unless it is Markdown already."""
    return value if isinstance(value, Md) else escaped(str(value))


def _name(text: str) -> str:
    """A name as a code span, as plain text where a code span would not be safe."""
    text = plain(text).strip()
    return text if not text or _NOT_IN_CODE.search(text) else Md(f"`{text}`")


def _pieces(part: str, items: dict[str, Evidence]) -> Iterator[str]:
    """Text as it is, in which names that come from the trace stand as code."""
    for piece in re.split(r"(\[\[[a-z][a-z0-9_.-]*\]\])", part):
        item = items.get(piece[2:-2]) if piece.startswith("[[") else None
        value = substituted(piece, items, shown)
        yield (_name(value) or NONE) if item is not None and isinstance(item.value, str) else value
