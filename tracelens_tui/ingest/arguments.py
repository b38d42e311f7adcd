"""The argument objects of events, which are text until here, into columns.

polars reads the wanted keys on all cores and without the GIL, where it reads them right; the rest is read one by one.
"""

import io
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.objects import args_row
from tracelens_tui.ingest.records import ARGS_KEYS, ARGS_RECORD, ID_ARGS, TEXT_ARGS, Arguments

SEPARATOR = b"\x0b"
"""Stands between argument objects: the character after the newline, which no JSON text holds as it is."""

_COLUMNS = {**ID_ARGS, **TEXT_ARGS}
_NEWLINE = ord("\n")


@dataclass(frozen=True, slots=True)
class RawArgs:
    """The argument objects of some events, of which the same keys are wanted."""

    group: str  # key of ARGS_KEYS
    text: bytearray  # the objects with a separator between them
    events: NDArray[np.int64]


def arguments_of(raw: RawArgs) -> list[tuple[Arguments, int]]:
    """Return the wanted keys of each argument object, in parts.

    With each part comes how many objects had bytes that are no UTF-8.
    """
    if b"\\" not in raw.text:
        frame = _frame_of(raw)
        return [(Arguments(frame, raw.events), 0) if frame is not None else _one_by_one(raw)]
    # polars unescapes the text of lists and does not know halves of surrogate pairs: objects with escapes go one by one
    texts = raw.text.split(SEPARATOR)
    escaped = np.array([b"\\" in text for text in texts])
    plain = _chosen(raw, texts, ~escaped)
    return [*(arguments_of(plain) if len(plain.events) else ()), _one_by_one(_chosen(raw, texts, escaped))]


def _chosen(raw: RawArgs, texts: list[bytearray], which: NDArray[np.bool_]) -> RawArgs:
    chosen = [texts[row] for row in np.flatnonzero(which).tolist()]
    return RawArgs(raw.group, bytearray(SEPARATOR).join(chosen), raw.events[which])


def _frame_of(raw: RawArgs) -> pl.DataFrame | None:
    """The wanted keys of the objects as polars reads them; None where a value is not of its usual type."""
    schema = {key: pl.Int64 if key in ID_ARGS else pl.String for key in ARGS_KEYS[raw.group]}
    try:
        frame = pl.read_ndjson(_one_per_line(raw.text), schema=schema)
    except pl.exceptions.PolarsError:
        return None
    return frame.rename({key: _COLUMNS[key] for key in schema}) if frame.height == len(raw.events) else None


def _one_by_one(raw: RawArgs) -> tuple[Arguments, int]:
    objects = [object_of(text) for text in raw.text.split(SEPARATOR)]
    rows = [args_row(args, raw.group) for args, _ in objects]
    repaired = sum(replaced for _, replaced in objects)
    return Arguments(pl.DataFrame(rows, schema=ARGS_RECORD, orient="row"), raw.events), repaired


def object_of(text: bytes | bytearray) -> tuple[dict[str, Any], bool]:
    """Return the argument object, empty if it is none, and whether bytes of it were replaced, being no UTF-8."""
    try:
        content, replaced = text.decode("utf-8"), False
    except UnicodeDecodeError:
        content, replaced = text.decode("utf-8", "replace"), True
    value = json.loads(content, parse_float=Decimal)
    return (value if isinstance(value, dict) else {}), replaced


def _one_per_line(text: bytearray) -> io.BytesIO:
    """The objects, each on one line."""
    chars = np.frombuffer(text, np.uint8)
    lines = chars - (chars - np.uint8(_NEWLINE) <= 1)  # line breaks become tabs, separators become line breaks
    return io.BytesIO(lines.data)
