"""The rows that a widget shows: what it asks of its data."""

from collections.abc import Hashable, Sequence
from typing import Protocol

from tracelens_tui.app.cells import Cell, Column


class RowSource(Protocol):
    """The rows that a widget shows: immutable data and a view of it (order, filter)."""

    needle: str
    """The filter that is on, "" for none."""
    sort_key: str
    descending: bool

    @property
    def columns(self) -> Sequence[Column]:
        """The columns; one of them grows."""
        ...

    @property
    def total(self) -> int:
        """Rows without the filter."""
        ...

    def __len__(self) -> int:
        """Rows shown."""
        ...

    def cells(self, index: int) -> Sequence[Cell]:
        """One cell per column, plain text; a single cell for a heading over the whole width."""
        ...

    def key(self, index: int) -> Hashable:
        """What names the row, whatever the order."""
        ...

    def index(self, key: Hashable) -> int | None:
        """Where the row of that key stands now; None where the filter hides it."""
        ...

    def text(self, index: int) -> str:
        """The row as one text, for copying."""
        ...

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next row from ``start`` (not itself) in direction ``step`` that holds ``needle``, around the end."""
        ...

    def filter(self, needle: str) -> None:
        """Show only rows that hold ``needle``, in any case of letters; "" shows all."""
        ...

    def sort(self, key: str, *, descending: bool) -> None:
        """Order by the column of that key."""
        ...
