"""Distinct rows of text columns, each kept once and referred to by code."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.records import Schema

Codes = NDArray[np.uint32]

_SEPARATOR = "\x1f"


class RowDictionary:
    """Codes of the distinct rows of chunk after chunk, in order of first appearance.

    ``add`` gives codes that hold for that chunk's rows until ``finish`` merges what several chunks have in common; the
    final code of ``c`` is ``mapping[c]``.  Nothing is looked up in Python, row by row.
    """

    def __init__(self, schema: Schema, *, empty_row: bool = False) -> None:
        """With ``empty_row``, code 0 is a row of empty texts that exists from the start."""
        self._schema = schema
        first = {name: [""] if empty_row else [] for name in schema}
        self._parts = [pl.DataFrame(first, schema=schema)]
        self._size = self._parts[0].height

    def add(self, rows: pl.DataFrame) -> Codes:
        """Return the provisional code of each row; columns that ``rows`` lacks count as empty."""
        codes, first = codes_by_appearance(_keys(rows))
        codes = codes + np.uint32(self._size)
        absent = [pl.lit("").alias(name) for name in self._schema if name not in rows.columns]
        self._parts.append(rows[first].with_columns(absent).select(*self._schema))
        self._size += len(first)
        return codes

    def finish(self) -> tuple[pl.DataFrame, Codes]:
        """Return the distinct rows and the final code of every provisional code."""
        rows = pl.concat(self._parts)
        mapping, first = codes_by_appearance(_keys(rows))
        return rows[first].rechunk(), mapping


def _keys(rows: pl.DataFrame) -> pl.Series:
    if rows.width == 1:
        return rows.to_series()
    return rows.select(pl.concat_str(pl.all().cast(pl.String), separator=_SEPARATOR)).to_series()


def codes_by_appearance(keys: pl.Series) -> tuple[Codes, NDArray[np.intp]]:
    """Return the code of each key, numbered by first appearance, and the position of each code's first key."""
    coded = keys.cast(pl.Categorical(pl.Categories.random()))
    codes = coded.to_physical().to_numpy().astype(np.uint32, copy=False)
    if not len(codes):
        return codes, np.empty(0, np.intp)
    highest = np.maximum.accumulate(codes.astype(np.int64))
    first = np.flatnonzero(np.diff(highest, prepend=-1))
    return codes, first
