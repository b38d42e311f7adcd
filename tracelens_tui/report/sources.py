"""Where a quantity stands in the run directory: the grammar of ``Evidence.key``, and looking it up.

``Evidence.source`` is a path relative to the run directory, ``Evidence.key`` a place in that file:

    CSV    row=ROW,column=COLUMN
           ROW is a number: the row whose column ``row`` has it, in a file without such a column the row's position,
           counted from 0 without the header; or a text: the one row whose first column has it (``idle_time``).
           ``row=3+17+21`` is the sum over several rows.  COLUMN is the header's text; it may hold commas.
    JSON   PATH of keys and elements: ``gpu_utilization.idle_time_percent``, ``causes[0].time_ms``,
           ``operations[row=17].efficiency.tflops_achieved`` (the one element whose ``row`` is 17),
           ``by_direction["D2H"].count`` (a key with other characters than letters, digits and ``_``).
    both   may end in ``,scale=FACTOR``: the quantity is the cell times FACTOR (``,scale=0.001`` for µs shown as ms).

A quantity that is computed from several cells stands in a file of its own, ``agents/<id>/evidence.json``.
"""

import csv
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from tracelens_tui.errors import UserError
from tracelens_tui.run.store import RunDir
from tracelens_tui.text import cell_text

Cell = float | int | str

_SCALE = re.compile(r",scale=([-+0-9.eE]+)$")
_CSV_KEY = re.compile(r"row=(?P<row>[^\n]*?),column=(?P<column>.+)")
_STEP = re.compile(
    r"""\.?(?P<name>\w+)                      # a key
      | \[(?P<index>\d+)\]                    # an element by position
      | \[(?P<field>\w+)=(?P<value>[^\]]*)\]  # the element whose field has the value
      | \["(?P<quoted>[^"]*)"\]               # any other key""",
    re.VERBOSE,
)
csv.field_size_limit(1 << 30)  # cells that list thousands of kernels


@dataclass(slots=True)
class Sources:
    """Looks up quantities in a run directory; each file is read once."""

    run: RunDir
    _tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    _documents: dict[str, JsonValue] = field(default_factory=dict)

    def value(self, source: str, key: str) -> Cell:
        """Return the quantity; UserError that names file and key where there is none."""
        return self._value(source, key, as_text=False)

    def stated(self, source: str, key: str, value: Cell) -> Cell:
        """Return what stands where ``value`` is said to stand: a text is not read as a number, and may be empty.

        UserError as for :meth:`value`.
        """
        return self._value(source, key, as_text=isinstance(value, str))

    def _value(self, source: str, key: str, *, as_text: bool) -> Cell:
        scale = _SCALE.search(key)
        place = key[: scale.start()] if scale else key
        try:
            found = self._cell(source, place, as_text=as_text)
        except LookupError as error:
            raise UserError(f"{self.run.path / source}: {key}: {error.args[0]}") from None
        return _scaled(found, scale[1]) if scale else found

    def table(self, source: str) -> list[dict[str, str]]:
        """Return a CSV's rows by column."""
        if source not in self._tables:
            self._tables[source] = read_csv(self.run.absolute(source))
        return self._tables[source]

    def _cell(self, source: str, place: str, *, as_text: bool) -> Cell:
        if source.endswith(".csv"):
            return _csv_cell(self.table(source), place, as_text=as_text)
        if source.endswith(".json"):
            return _json_cell(self._document(source), place)
        raise LookupError("the file is neither CSV nor JSON")

    def _document(self, source: str) -> JsonValue:
        if source not in self._documents:
            self._documents[source] = _read_document(self.run.absolute(source))
        return self._documents[source]


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return a CSV's rows by column; UserError where it cannot be read."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [
                {name: cell or "" for name, cell in row.items() if name is not None} for row in csv.DictReader(file)
            ]
    except FileNotFoundError:
        raise UserError(f"{path}: the file is missing") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def same(stated: Cell, found: Cell) -> bool:
    """True where a stated quantity is the found one: numbers to six digits, texts as they stand in a CSV cell."""
    if isinstance(stated, str) or isinstance(found, str):
        return cell_text(str(stated)) == cell_text(str(found))
    return math.isclose(stated, found, rel_tol=1e-6, abs_tol=1e-9)


def _read_document(path: Path) -> JsonValue:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path}: the file is missing") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def _csv_cell(rows: Sequence[dict[str, str]], place: str, *, as_text: bool) -> Cell:
    match = _CSV_KEY.fullmatch(place)
    if match is None:
        raise LookupError("the key of a CSV is row=…,column=…")
    cells = [_column(row, match["column"], as_text=as_text) for row in _rows(rows, match["row"])]
    if len(cells) == 1:
        return cells[0]
    numbers = [cell for cell in cells if not isinstance(cell, str)]
    if len(numbers) < len(cells):
        raise LookupError("a sum over cells that are not all numbers")
    return math.fsum(numbers)


def _rows(rows: Sequence[dict[str, str]], wanted: str) -> list[dict[str, str]]:
    if re.fullmatch(r"\d+(\+\d+)*", wanted):
        return [_numbered(rows, number) for number in wanted.split("+")]
    found = [row for row in rows if next(iter(row.values()), None) == wanted]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows begin with {wanted!r}")
    return found


def _numbered(rows: Sequence[dict[str, str]], number: str) -> dict[str, str]:
    if rows and "row" in rows[0]:
        found = [row for row in rows if row["row"] == number]
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows have the number {number}")
        return found[0]
    if int(number) >= len(rows):
        raise LookupError(f"there is no row {number}")
    return rows[int(number)]


def _column(row: dict[str, str], name: str, *, as_text: bool) -> Cell:
    if name not in row:
        raise LookupError(f"there is no column {name!r}")
    text = row[name]
    if as_text:
        return text
    if not text:
        raise LookupError("the cell is empty")
    return _number(text)


def _number(text: str) -> Cell:
    if re.fullmatch(r"[-+]?\d+", text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _json_cell(document: JsonValue, place: str) -> Cell:
    value = document
    for step in _steps(place):
        value = _descend(value, step)
    if value is None or isinstance(value, bool | dict | list):
        raise LookupError("the place holds no quantity")
    return value


def _steps(place: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(place):
        match = _STEP.match(place, position)
        if match is None:
            raise LookupError(f"the path cannot be read from {place[position:]!r} on")
        yield match
        position = match.end()


def _descend(value: JsonValue, step: re.Match[str]) -> JsonValue:
    if isinstance(value, list) and step["index"] is not None:
        if int(step["index"]) < len(value):
            return value[int(step["index"])]
    elif isinstance(value, list) and step["field"] is not None:
        found = [v for v in value if isinstance(v, dict) and str(v.get(step["field"])) == step["value"]]
        if len(found) == 1:
            return found[0]
    elif isinstance(value, dict) and step["index"] is step["field"] is None:
        name = step["name"] if step["name"] is not None else step["quoted"]
        if name in value:
            return value[name]
    raise LookupError(f"there is no {step[0].lstrip('.')}")


def _scaled(cell: Cell, factor: str) -> Cell:
    if isinstance(cell, str):
        raise UserError(f"{cell!r} is a text and cannot be scaled")
    try:
        return cell * float(factor)
    except ValueError:
        raise UserError(f"scale={factor} is not a number") from None
