"""ASCII only: one filter over everything that reaches the terminal."""

import locale

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_GLYPHS = {
    "▸": ">",
    "▾": "v",
    "▴": "^",
    "‹": "<",
    "›": ">",
    "→": ">",
    "←": "<",
    "↑": "^",
    "↓": "v",
    "…": "~",
    "·": ".",
    "•": "*",
    "×": "x",
    "–": "-",
    "—": "-",
    "─": "-",
    "━": "=",
    "│": "|",
    "┃": "|",
    "█": "#",
    "▌": "#",
    "░": ".",
    "▒": "=",
    "▓": "%",
    "▂": "_",
    "✓": "*",
    "µ": "u",
    "μ": "u",
    "²": "2",
    "“": '"',
    "”": '"',
    "’": "'",
    "‘": "'",
    "≤": "<",
    "≥": ">",
    "≈": "~",
}
_TABLE = str.maketrans(_GLYPHS)


def to_ascii(text: str) -> str:
    """Return the text in ASCII with the same number of terminal cells; what has no likeness becomes ``?``."""
    if text.isascii():
        return text
    text = text.translate(_TABLE)
    if text.isascii():
        return text
    return "".join(c if c.isascii() else "?" * cell_len(c) for c in text)


class AsciiFilter(LineFilter):
    """Draws every widget, the borrowed ones too, with ASCII characters."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments in ASCII."""
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]


def terminal_speaks_utf8() -> bool:
    """Say whether the locale can write the glyphs at all."""
    return locale.getpreferredencoding(do_setlocale=False).lower().replace("-", "") in {"utf8", "utf"}
