"""The texts of table cells: plain in every format, and in CSV files no formula for a spreadsheet."""

from collections.abc import Callable, Iterable

import polars as pl

from tracelens_tui.text import cell_text, plain
from tracelens_tui.trace.types import Trace

_NOT_PLAIN = r"[\p{Cc}\p{Zl}\p{Zp}\x{061C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}\x{FEFF}]"
"""Finds what ``text.plain`` changes in text without lone surrogates; polars has none."""
_FORMULA = "^[=+@＝＋－＠-]"
"""Finds what ``text.cell_text`` may change in plain text."""


def is_plain(trace: Trace) -> bool:
    """Return whether no text of the trace holds a control character, an escape code or a direction mark."""
    frames = (trace.names.to_frame("name"), trace.threads, trace.args, trace.details)
    return not any(column.str.contains(_NOT_PLAIN).any() for frame in frames for column in _texts(frame))


def plain_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with every text on one line, without control characters; see ``text.plain``."""
    return _mapped(frame, _NOT_PLAIN, plain)


def csv_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of plain texts as CSV files have it: no text runs as a formula; see ``text.cell_text``."""
    return _mapped(frame, _FORMULA, cell_text)


def _mapped(frame: pl.DataFrame, pattern: str, change: Callable[[str], str]) -> pl.DataFrame:
    """The table in which the texts that match are changed."""
    changed: list[pl.Series] = []
    for column in _texts(frame):
        found = column.filter(column.str.contains(pattern)).unique().to_list()
        if found:
            changed.append(column.replace(found, [change(text) for text in found]))
    return frame.with_columns(changed)


def _texts(frame: pl.DataFrame) -> Iterable[pl.Series]:
    return (column for column in frame if column.dtype == pl.String)
