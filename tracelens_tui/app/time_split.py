"""Pane 4: where the time went."""

from collections.abc import Sequence

from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.time_rows import COLUMNS, TimeRow


class TimeSplitPane(Rows):
    """Bars of the time split, the categories, the gaps and the data's defects."""

    keys = "enter drill (category: kernels, gap: tree)"
    source: ListSource[TimeRow]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(ListSource[TimeRow](COLUMNS, (), lambda _: (), lambda row: row.key), label="4 Time", id=id)
        self._words: Sequence[str] = ()

    def load(self, source: ListSource[TimeRow]) -> None:
        """Take the rows of a trace."""
        self.show(source)

    def explain(self, words: Sequence[str]) -> None:
        """Say why there is nothing."""
        self._words = words
        if not len(self.source):
            self.refresh()

    def row(self) -> TimeRow | None:
        """Return the row under the cursor."""
        return self.source.item(self.cursor) if self.cursor < len(self.source) else None

    def status(self) -> str:
        """Return nothing: the number of bars means nothing."""
        return super().status() if self.source.needle else ""

    def empty_lines(self) -> Sequence[str]:
        """Return why there are no bars."""
        return super().empty_lines() if self.source.needle else self._words
