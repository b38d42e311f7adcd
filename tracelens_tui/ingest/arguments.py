"""The argument objects of the events of a stretch, which are text until here, into numbers and rows of text.

msgspec reads them together, whatever their layout; objects in which a number is not written as one are read one by one.
Texts are rendered once for each distinct spelling, since few of them differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracelens_tui.ingest.batch import ABSENT, Coder, Codes, Int64, Rows, Texts, filled
from tracelens_tui.ingest.keys import (
    ARGS_COLUMNS,
    ARGS_KEYS,
    DETAIL_COLUMNS,
    ID_ARGS,
    NUMBER_COLUMNS,
    TEXT_ARGS,
)
from tracelens_tui.ingest.numbers import identifier, integer
from tracelens_tui.ingest.texts import text_of, value_of

_NOTHING = msgspec.Raw(b"")
_SEPARATOR = b"\x0b"  # no JSON text holds it as it is
_COLUMNS = {**ID_ARGS, **TEXT_ARGS}
_OLDER = {"external_id": "external_id_2021", "group": "group_2023"}
"""Column -> that of an older spelling of its key, which counts where the newer one is absent."""

_MOST_ROWS = 100_000  # spellings kept; with more the memory starts anew


@dataclass(slots=True)
class Found:
    """What the arguments of a stretch's events hold, see ``Batch``."""

    numbers: dict[str, Int64]
    args: list[Rows] = field(default_factory=list)
    details: list[Rows] = field(default_factory=list)


def nothing_found(events: int) -> Found:
    """Return a record without any argument for so many events."""
    return Found({column: np.full(events, ABSENT) for column in NUMBER_COLUMNS})


class ArgumentReader:
    """Reads argument objects by the group of keys that is wanted of them."""

    def __init__(self) -> None:
        self._groups = {group: _Group.of(group) for group, keys in ARGS_KEYS.items() if keys}
        self._rows: dict[Texts, dict[bytes, Texts]] = {}  # by the columns that the spellings are of

    def read(self, group: str, objects: list[msgspec.Raw], events: NDArray[np.int64], found: Found) -> None:
        """Add what the objects hold, one per event, to what was found."""
        reader = self._groups[group]
        try:
            values = reader.decoder.decode_lines(b"\n".join(objects))
        except (msgspec.DecodeError, RecursionError):
            values = None
        if values is None or not reader.take_numbers(values, events, found.numbers):
            add_objects(group, [_object_of(text) for text in objects], events, found)
            return
        self._add_rows(reader.args, values, ARGS_COLUMNS, events, found.args)
        self._add_rows(reader.details, values, DETAIL_COLUMNS, events, found.details)

    def _add_rows(
        self,
        fields: dict[str, attrgetter[msgspec.Raw]],
        values: list[Any],
        columns: Texts,
        events: NDArray[np.int64],
        rows: list[Rows],
    ) -> None:
        fields = {column: get for column, get in fields.items() if any(map(get, values))}
        if not fields:
            return
        known = self._rows.setdefault((*fields,), {})
        coder: Coder[bytes] = Coder()
        spellings = zip(*(map(get, values) for get in fields.values()), strict=True)
        codes = coder.codes(map(_SEPARATOR.join, spellings), len(values))
        distinct = [known.get(spelling) or self._row(spelling, list(fields), columns, known) for spelling in coder]
        _append(distinct, codes, events, rows)

    def _row(self, spelling: bytes, fields: list[str], columns: Texts, known: dict[bytes, Texts]) -> Texts:
        if len(known) >= _MOST_ROWS:
            known.clear()
        texts = dict(zip(fields, map(_text, spelling.split(_SEPARATOR)), strict=True))
        row = known[spelling] = _in_order(texts, columns)
        return row


@dataclass(frozen=True, slots=True)
class _Group:
    """How the argument objects of a group are read."""

    decoder: msgspec.json.Decoder[Any]
    numbers: dict[str, attrgetter[int]]  # column -> its value in a decoded object
    args: dict[str, attrgetter[msgspec.Raw]]
    details: dict[str, attrgetter[msgspec.Raw]]

    @staticmethod
    def of(group: str) -> _Group:
        columns = {_COLUMNS[key]: key for key in ARGS_KEYS[group]}
        numbers = [column for column in columns if column in NUMBER_COLUMNS or column == _OLDER["external_id"]]
        texts = [column for column in columns if column not in numbers]
        struct = msgspec.defstruct(
            f"_{group.title()}Args",
            [
                *((column, int, ABSENT) for column in numbers),
                *((column, msgspec.Raw, _NOTHING) for column in texts),
            ],
            gc=False,
            rename=columns,
        )
        return _Group(
            decoder=msgspec.json.Decoder(struct),
            numbers={column: attrgetter(column) for column in numbers},
            args={column: attrgetter(column) for column in texts if column in ARGS_COLUMNS},
            details={column: attrgetter(column) for column in texts if column not in ARGS_COLUMNS},
        )

    def take_numbers(self, values: list[Any], events: NDArray[np.int64], numbers: dict[str, Int64]) -> bool:
        """Set the numbers of the events; False if one of them does not fit."""
        try:
            found = {
                column: np.fromiter(map(get, values), np.int64, len(values)) for column, get in self.numbers.items()
            }
        except OverflowError:
            return False
        _set_numbers(found, events, numbers)
        return True


def add_objects(group: str, objects: list[Mapping[str, Any]], events: NDArray[np.int64], found: Found) -> None:
    """Add what decoded argument objects hold to what was found: any spelling of a number will do."""
    columns = {_COLUMNS[key]: key for key in ARGS_KEYS[group]}
    given = {
        column: filled(
            map(identifier if key in ID_ARGS else integer, (item.get(key) for item in objects)), len(objects)
        )
        for column, key in columns.items()
        if column in NUMBER_COLUMNS or column == _OLDER["external_id"]
    }
    _set_numbers(given, events, found.numbers)
    texts = {column: key for column, key in columns.items() if column not in given}
    for wanted, rows in ((ARGS_COLUMNS, found.args), (DETAIL_COLUMNS, found.details)):
        coder: Coder[Texts] = Coder()
        own = {column: key for column, key in texts.items() if (column in ARGS_COLUMNS) == (wanted is ARGS_COLUMNS)}
        if own:
            each = ({column: text_of(item.get(key)) or "" for column, key in own.items()} for item in objects)
            codes = coder.codes((_in_order(row, wanted) for row in each), len(objects))
            _append(list(coder), codes, events, rows)


def _set_numbers(found: dict[str, Int64], events: NDArray[np.int64], numbers: dict[str, Int64]) -> None:
    older = found.pop(_OLDER["external_id"], None)
    if older is not None:
        newer = found["external_id"]
        found["external_id"] = np.where(newer == ABSENT, older, newer)
    for column, values in found.items():
        numbers[column][events] = values


def _in_order(texts: dict[str, str], columns: Texts) -> Texts:
    """A row of texts, those of older keys under the newer ones' names."""
    if not texts.get("group"):
        texts["group"] = texts.get(_OLDER["group"], "")
    return tuple(texts.get(column, "") for column in columns)


def _append(distinct: list[Texts], codes: Codes, events: NDArray[np.int64], rows: list[Rows]) -> None:
    """Keep the rows that say anything."""
    told = np.array([any(row) for row in distinct], bool)
    if told.any():
        which = told[codes]
        rows.append(Rows(distinct, events[which], codes[which]))


def _text(spelling: bytes) -> str:
    return text_of(value_of(spelling)) or "" if spelling else ""


def _object_of(text: msgspec.Raw) -> dict[str, Any]:
    """The argument object, empty if it is none."""
    value = value_of(bytes(text))
    return value if isinstance(value, dict) else {}
