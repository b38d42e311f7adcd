"""Tables → files: CSV, Parquet or one workbook; each file whole or absent, the same bytes every time."""

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tracelens_tui.analysis.tables.cells import csv_cells
from tracelens_tui.atomic import replacing
from tracelens_tui.errors import UserError
from tracelens_tui.text import clip

if TYPE_CHECKING:
    from xlsxwriter import Workbook

FORMATS = ("csv", "parquet", "xlsx")
WORKBOOK = "perf_report.xlsx"

_SHEET_ROWS = 1_048_575  # a sheet's rows, less the header
_CELL_CHARACTERS = 32_767
_FIXED_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)  # written into the workbook: the same tables, the same bytes


def write_frames(tables: Mapping[str, pl.DataFrame], out: Path, fmt: str) -> list[Path]:
    """Write one file per table, or one workbook, into ``out`` and return the paths.

    Raises UserError for an unknown format, a folder that cannot be written, or a workbook without ``xlsxwriter``.
    """
    writer = _writer(fmt)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return writer(tables, out)
    except OSError as error:
        raise UserError(
            f"{out}: cannot write the tables ({error.strerror or error}); choose another folder."
        ) from error


def _writer(fmt: str) -> Callable[[Mapping[str, pl.DataFrame], Path], list[Path]]:
    if fmt == "xlsx":
        return _write_xlsx
    if fmt in FORMATS:
        return partial(_write_each, fmt=fmt)
    raise UserError(f"unknown table format {fmt!r}; choose from: {', '.join(FORMATS)}.")


def _write_each(tables: Mapping[str, pl.DataFrame], out: Path, fmt: str) -> list[Path]:
    """Write a file per table; where one cannot be written, those that this call made go again."""
    paths: list[Path] = []
    made: list[Path] = []
    try:
        for name, frame in tables.items():
            path = out / f"{name}.{fmt}"
            if not path.exists():
                made.append(path)
            paths.append(_write_one(frame, path, fmt))
    except OSError:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return paths


def _write_one(frame: pl.DataFrame, path: Path, fmt: str) -> Path:
    with replacing(path) as temporary:
        if fmt == "csv":
            temporary.write_bytes(csv_bytes(frame))
        else:
            frame.write_parquet(temporary)
    return path


def csv_bytes(frame: pl.DataFrame) -> bytes:
    """Return a table as a CSV file: booleans as pandas spells them, no text that a spreadsheet would run."""
    return csv_cells(_spelt(frame)).write_csv().encode()


def _spelt(frame: pl.DataFrame) -> pl.DataFrame:
    """Booleans as pandas spells them, as in TraceLens's files."""
    names = {"true": "True", "false": "False"}
    return frame.with_columns(pl.col(pl.Boolean).cast(pl.String).replace(names))


def _write_xlsx(tables: Mapping[str, pl.DataFrame], out: Path) -> list[Path]:
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise UserError("a workbook needs xlsxwriter; install it with: pip install 'tracelens-tui[xlsx]'.") from error
    path = out / WORKBOOK
    with replacing(path) as temporary, Workbook(str(temporary), {"constant_memory": True}) as book:
        book.set_properties({"created": _FIXED_TIME})
        for name, frame in tables.items():
            for part, rows in enumerate(frame.iter_slices(_SHEET_ROWS) if frame.height else [frame]):
                _write_sheet(book, name if part == 0 else f"{name[:24]} ({part + 1})", rows)
    return [path]


def _write_sheet(book: "Workbook", name: str, frame: pl.DataFrame) -> None:
    """Strings stay strings: text of a trace that begins with = + - or @ must not run as a formula."""
    sheet = book.add_worksheet(name)
    for column, title in enumerate(frame.columns):
        sheet.write_string(0, column, title)
    for number, row in enumerate(frame.iter_rows(), 1):
        for column, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(number, column, clip(value, _CELL_CHARACTERS))
            elif isinstance(value, bool):
                sheet.write_boolean(number, column, value)
            elif value is not None and value == value and abs(value) != float("inf"):
                sheet.write_number(number, column, value)
