"""Text that comes from traces and analysts, made safe for Markdown.

A string is escaped when a template prints it, unless it is :class:`Md`, that is, Markdown already.  Escaping touches
only what could do harm (tables, HTML and markers, links, code spans, entities), so that ordinary op and kernel names
stand in the report as they are; ``html.unescape`` gives the original text back.
"""

import re
from collections.abc import Iterable

from tracelens_tui.report.evidence import CODE, shown, substituted
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


class Md(str):
    """Markdown that is safe to print as it is."""

    __slots__ = ()


def escaped(text: str) -> Md:
    """Return any text as Markdown that shows it, on one line."""
    return Md(_HARMFUL.sub(lambda match: f"&#{ord(match[0])};", plain(text)))


def cell(text: str) -> Md:
    """Return text for a table cell; ``<br>`` stays a line break, as in argument lists."""
    return Md("<br>".join(escaped(part) for part in text.split("<br>")))


def code(text: str) -> Md:
    """Return text as a code span, or escaped where a code span would not be safe."""
    text = plain(text).strip()
    if not text or re.search(r"[`|]|<!--|\{\{", text):
        return escaped(text)
    return Md(f"`{text}`")


def prose(text: str, evidence: Iterable[Evidence]) -> Md:
    """Return an analyst's prose as Markdown: references filled in, code spans kept, all else escaped."""
    items = {item.id: item for item in evidence}
    parts = CODE.split(text)
    out = [
        code(substituted(part, items, shown)) if index % 2 else _text(part, items) for index, part in enumerate(parts)
    ]
    return Md("".join(out))


def finalize(value: object) -> str:
    """Escape what a template prints unless it is Markdown already."""
    return value if isinstance(value, Md) else escaped(str(value))


def _text(part: str, items: dict[str, Evidence]) -> str:
    """Escaped text in which names that come from the trace stand as code."""
    pieces = re.split(r"(\[\[[a-z][a-z0-9_.-]*\]\])", part)
    return "".join(_piece(piece, items) for piece in pieces)


def _piece(piece: str, items: dict[str, Evidence]) -> str:
    if not piece.startswith("[["):
        return escaped(piece)
    item = items.get(piece[2:-2])
    value = substituted(piece, items, shown)
    return code(value) if item is not None and isinstance(item.value, str) else escaped(value)
