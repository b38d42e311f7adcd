"""Turn hostile text into plain text, and quantities into words.

Everything that comes from a trace or an agent passes :func:`plain` before it reaches a terminal or a report.
"""

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[@-Z\\-_])")
_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0xFEFF])
_FORMULA = re.compile(r"[=+\-@＝＋－＠]")
_SIGNED = re.compile(r"[-+](?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def plain(text: str, limit: int | None = None) -> str:
    """Return ``text`` on one line without escape codes, control characters or direction marks.

    Control characters become a space, lone surrogates ``?``.  With ``limit`` the result has at most that many
    characters, the last one an ellipsis if something was cut.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = text.translate(_BIDI)
    if not text.isprintable():
        text = _ESCAPES.sub("", text)
        text = "".join(" " if unicodedata.category(c) in {"Cc", "Zl", "Zp"} else c for c in text)
    return clip(text, limit) if limit is not None else text


def cell_text(text: str) -> str:
    """Return ``text`` as it stands in a cell of a CSV file: plain, and no formula for a spreadsheet.

    Text that a spreadsheet would run, because it begins with ``=``, ``+``, ``-`` or ``@`` (of any width) and is no
    number, follows an apostrophe, the spreadsheets' own sign of a text.
    """
    text = plain(text)
    return f"'{text}" if _FORMULA.match(text) and not _SIGNED.fullmatch(text) else text


def clip(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of ``text``, the last an ellipsis if something was cut."""
    if len(text) <= limit:
        return text
    return text[: max(0, limit - 1)] + "…" if limit > 0 else ""


def duration(ns: float) -> str:
    """Return a duration in the unit that reads best: ``812 ns``, ``12.4 µs``, ``3.21 ms``, ``1.50 s``."""
    size = abs(ns)
    if size < 1_000:
        return f"{ns:.0f} ns"
    for scale, unit in ((1e3, "µs"), (1e6, "ms")):
        if size < scale * 1_000:
            return f"{_three(ns / scale)} {unit}"
    return f"{_three(ns / 1e9)} s"


def byte_count(count: float) -> str:
    """Return a number of bytes in binary units: ``512 B``, ``1.50 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{_three(count)} {unit}"
        count /= 1024
    return f"{_three(count)} TiB"


def percent(value: float | None, digits: int = 1) -> str:
    """Return ``12.3 %``, or ``n/a`` where there is no value."""
    return "n/a" if value is None else f"{value:.{digits}f} %"


def _three(value: float) -> str:
    """Three significant digits for values below 1000, none lost before the point."""
    size = abs(value)
    return f"{value:.2f}" if size < 10 else f"{value:.1f}" if size < 100 else f"{value:,.0f}"
