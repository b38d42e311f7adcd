"""A row source over a polars frame: sorted, filtered and searched as columns, drawn one row at a time."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracelens_tui.app.cells import Cell, Column

WORDS = "_words"
"""The column of lower-case text that filter and search look into."""


class FrameSource:
    """The rows of ``frame``; ``make`` turns one row (a dict) into cells, ``name`` is the column that names it."""

    def __init__(
        self,
        columns: Sequence[Column],
        frame: pl.DataFrame,
        make: Callable[[dict[str, Any]], Sequence[Cell]],
        name: str,
        *,
        sort_key: str,
        descending: bool = True,
    ) -> None:
        self.columns = columns
        self.frame = frame
        self.make = make
        self.name = name
        self.needle = ""
        self.sort_key, self.descending = sort_key, descending
        self._names = frame[name].to_list()
        self._place_of: dict[Hashable, int] | None = None
        self._order = np.arange(frame.height)
        self._arrange()

    def _arrange(self) -> None:
        """Apply order and filter: ``_order`` holds frame rows in the order shown."""
        by = pl.arg_sort_by(self.sort_key, descending=self.descending, nulls_last=True, maintain_order=True)
        order = self.frame.select(by).to_series().to_numpy()
        if self.needle:
            order = order[self._mask(self.needle)[order]]
        self._order = order
        self._place_of = None

    def _mask(self, needle: str) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Which frame rows hold the words."""
        return self.frame[WORDS].str.contains(needle.lower(), literal=True).to_numpy()

    @property
    def total(self) -> int:
        """Rows without the filter."""
        return self.frame.height

    def __len__(self) -> int:
        """Return how many rows are shown."""
        return len(self._order)

    def row(self, index: int) -> dict[str, Any]:
        """Return one shown row as a dict."""
        return self.frame.row(int(self._order[index]), named=True)

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of one row."""
        return self.make(self.row(index))

    def key(self, index: int) -> Hashable:
        """Return what names the row."""
        return self._names[int(self._order[index])]

    def index(self, key: Hashable) -> int | None:
        """Return where the row of that key stands."""
        if self._place_of is None:
            self._place_of = {self._names[int(row)]: place for place, row in enumerate(self._order)}
        return self._place_of.get(key)

    def text(self, index: int) -> str:
        """Return the row as one text."""
        return "\t".join(text for text, _ in self.cells(index))

    def find(self, needle: str, start: int, step: int) -> int | None:
        """Return the next row that holds the words, around the end."""
        hits = np.flatnonzero(self._mask(needle)[self._order])
        if not len(hits):
            return None
        if step > 0:
            at = int(np.searchsorted(hits, start, side="right"))
            return int(hits[at % len(hits)])
        at = int(np.searchsorted(hits, start, side="left")) - 1
        return int(hits[at])

    def filter(self, needle: str) -> None:
        """Show only rows that hold the words."""
        self.needle = needle
        self._arrange()

    def sort(self, key: str, *, descending: bool) -> None:
        """Order by a column."""
        self.sort_key, self.descending = key, descending
        self._arrange()
