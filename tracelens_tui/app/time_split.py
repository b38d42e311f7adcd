"""Pane 4: where the time went."""

from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.time_rows import COLUMNS, TimeRow


class TimeSplitPane(Rows):
    """Bars of the time split, the categories, the steps, the gaps and the data's defects."""

    keys = "enter drill (category: kernels, step or gap: tree)"
    source: ListSource[TimeRow]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(ListSource[TimeRow](COLUMNS, (), lambda _: (), lambda row: row.key), label="4 Time", id=id)

    def load(self, source: ListSource[TimeRow]) -> None:
        """Take the rows of a trace."""
        self.show(source)

    def row(self) -> TimeRow | None:
        """Return the row under the cursor."""
        return self.source.item(self.cursor) if self.cursor < len(self.source) else None
