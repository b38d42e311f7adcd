"""The tolerant decoder: one Python object per event, any spelling of a number, nothing assumed.

It is two orders of magnitude slower than the columns of :mod:`tracelens_tui.ingest.columns`; tests use it, and the
stretches of a file that the fast path refuses.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from tracelens_tui.ingest.assemble import Assembler
from tracelens_tui.ingest.metadata import metadata_of
from tracelens_tui.ingest.numbers import integer, nanoseconds
from tracelens_tui.ingest.records import ID_ARGS, OLD_ID_ARGS, OLD_TEXT_ARGS, RECORD_SCHEMA, TEXT_ARGS
from tracelens_tui.trace.types import Source, Trace

_BATCH = 50_000


def trace_from_objects(objects: Iterable[Any], *, metadata: Mapping[str, Any] | None = None) -> Trace:
    """Return the Trace of an iterable of Chrome trace events; ``metadata`` holds the other top-level keys of the file.

    Times are exact if the numbers are ints, ``Decimal`` or text.  Objects without a ``ph`` are skipped, unreadable
    events counted in the quality record; nothing is repaired.
    """
    assembler = Assembler()
    batch: list[Any] = []
    for item in objects:
        batch.append(item)
        if len(batch) >= _BATCH:
            _add(assembler, batch)
            batch = []
    _add(assembler, batch)
    return assembler.finish(metadata_of(metadata or {}, Source(path="", format="kineto", size=0)))


def _add(assembler: Assembler, batch: list[Any]) -> None:
    frame, rounded = records_of(batch)
    assembler.add(frame, rounded=rounded)


def records_of(objects: Iterable[Any]) -> tuple[pl.DataFrame, int]:
    """Return the records of the objects that are events, and the number of times that lost digits below the ns."""
    columns: dict[str, list[Any]] = {name: [] for name in RECORD_SCHEMA}
    rounded = 0
    for item in objects:
        if isinstance(item, Mapping) and item.get("ph") is not None:
            record, lost = _record(item)
            rounded += lost
            for name, values in columns.items():
                values.append(record.get(name))
    return pl.DataFrame(columns, schema=RECORD_SCHEMA), rounded


def _record(event: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    start, start_rounded = nanoseconds(event.get("ts"))
    duration, duration_rounded = nanoseconds(event.get("dur"))
    record: dict[str, Any] = {
        "phase": text_of(event["ph"]),
        "category": text_of(event.get("cat")),
        "name": text_of(event.get("name")),
        "pid": text_of(event.get("pid")),
        "tid": text_of(event.get("tid")),
        "start_ns": start,
        "dur_ns": duration,
        "flow_id": integer(event.get("id")),
    }
    args = event.get("args")
    if isinstance(args, Mapping):
        _add_args(record, args)
    return record, start_rounded + duration_rounded


def _add_args(record: dict[str, Any], args: Mapping[str, Any]) -> None:
    for spellings, read in ((ID_ARGS, integer), (OLD_ID_ARGS, integer), (TEXT_ARGS, text_of), (OLD_TEXT_ARGS, text_of)):
        for key, column in spellings.items():
            if key in args and record.get(column) is None:
                record[column] = read(args[key])


def text_of(value: Any) -> str | None:  # noqa: ANN401 - decoded JSON
    """Return a value as text: strings as they are, whole numbers without a point, lists and objects as JSON text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return _encodable(json.dumps(value, ensure_ascii=False, default=_number))
    return str(value) if isinstance(value, int) else str(_number(value))


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, so that it has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> int | float:  # noqa: ANN401 - decoded JSON
    """A Decimal inside a list, as JSON writes it."""
    whole = integer(value)
    return whole if whole is not None else float(value)
