"""A row source over a short tuple of values: findings, sub-agents, bars, recent runs."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tracelens_tui.app.cells import Cell, Column

T = TypeVar("T")


@dataclass
class ListSource(Generic[T]):
    """Values with a function that makes the cells of one; ``orders`` gives the sort key of each sortable column."""

    columns: Sequence[Column]
    items: Sequence[T]
    make: Callable[[T], Sequence[Cell]]
    name: Callable[[T], Hashable]
    orders: dict[str, Callable[[T], Any]] = field(default_factory=dict)
    sort_key: str = ""
    descending: bool = False
    needle: str = ""

    def __post_init__(self) -> None:
        self._shown: list[T] = []
        self._arrange()

    def _arrange(self) -> None:
        """Apply filter and order to the values."""
        needle = self.needle.casefold()
        self._shown = [item for item in self.items if not needle or needle in self._words(item)]
        order = self.orders.get(self.sort_key)
        if order is not None:
            self._shown.sort(key=order, reverse=self.descending)

    def _words(self, item: T) -> str:
        """The item as one text to search in."""
        return "  ".join(text for text, _ in self.make(item)).casefold()

    @property
    def total(self) -> int:
        """Values without the filter."""
        return len(self.items)

    @property
    def shown(self) -> Sequence[T]:
        """The values in the order shown."""
        return self._shown

    def __len__(self) -> int:
        """Return how many values are shown."""
        return len(self._shown)

    def item(self, index: int) -> T:
        """Return the value of one row."""
        return self._shown[index]

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of one row."""
        return self.make(self._shown[index])

    def key(self, index: int) -> Hashable:
        """Return what names the row."""
        return self.name(self._shown[index])

    def index(self, key: Hashable) -> int | None:
        """Return where the row of that key stands."""
        return next((index for index, item in enumerate(self._shown) if self.name(item) == key), None)

    def text(self, index: int) -> str:
        """Return the row as one text."""
        return "\t".join(text for text, _ in self.make(self._shown[index]))

    def find(self, needle: str, start: int, step: int) -> int | None:
        """Return the next row that holds the words, around the end."""
        count = len(self._shown)
        wanted = needle.casefold()
        for distance in range(1, count + 1):
            index = (start + step * distance) % count
            if wanted in self._words(self._shown[index]):
                return index
        return None

    def filter(self, needle: str) -> None:
        """Show only rows that hold the words."""
        self.needle = needle
        self._arrange()

    def sort(self, key: str, *, descending: bool) -> None:
        """Order by a column."""
        self.sort_key, self.descending = key, descending
        self._arrange()
