"""Rows: one line-API widget for every list, of ten rows or of ten million.

The widget keeps the cursor, scrolling and the cache of drawn lines; a :class:`RowSource` keeps the data, its order and
its filter, and makes the cells of one row at a time.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from tracelens_tui.app.cells import thousands, widths
from tracelens_tui.app.pane import Pane
from tracelens_tui.app.row_cells import header_cells, row_cells
from tracelens_tui.app.row_source import RowSource


class Rows(Pane):
    """A table or tree with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "columns(1)", "columns to the right", show=False),
        Binding("left,h", "columns(-1)", "columns to the left", show=False),
        Binding("enter", "choose", "choose", show=False),
        Binding("s", "sort_next(1)", "sort by the next column", show=False),
        Binding("S", "sort_reverse", "reverse the order", show=False),
    ]
    header_count = 1
    searchable = True

    @dataclass
    class Moved(Message):
        """The cursor stands on another row."""

        rows: "Rows"
        key: Hashable

        @property
        def control(self) -> "Rows":
            """The widget, for selectors."""
            return self.rows

        def can_replace(self, message: Message) -> bool:
            """Only the last of several moves matters."""
            return isinstance(message, Rows.Moved) and message.rows is self.rows

    @dataclass
    class Chosen(Message):
        """Enter was pressed on a row."""

        rows: "Rows"
        key: Hashable

        @property
        def control(self) -> "Rows":
            """The widget, for selectors."""
            return self.rows

    def __init__(self, source: RowSource, *, label: str, id: str | None = None) -> None:  # noqa: A002
        super().__init__(label=label, id=id)
        self.source = source
        self.cursor = 0
        self.skip = 0
        self._words: Sequence[str] = ()
        self._last_key: Hashable | None = None
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)

    # Data ----------------------------------------------------------------------------------------------------------

    def show(self, source: RowSource) -> None:
        """Show other rows; the cursor stays on the row of the same key, at the same height of the screen.

        Where the same rows stand in the same places, only those that look different are drawn again.
        """
        old, held, height = self.source, self.key, self.cursor - self.top
        source.filter(old.needle)
        if old.sort_key and old.sort_key != source.sort_key and any(c.key == old.sort_key for c in source.columns):
            source.sort(old.sort_key, descending=old.descending)
        self.source = source
        if len(old) == len(source) and old.columns == source.columns and self._same_keys(old):
            self._draw_changed(old)
        else:
            self.rows_changed(held, height)

    def rows_in_sight(self) -> range:
        """The rows that can be seen."""
        return range(self.top, min(self.top + self.body_height, len(self.source)))

    def _same_keys(self, old: RowSource) -> bool:
        """Whether the rows that can be seen, and the cursor's, are the same ones as before."""
        rows = [*self.rows_in_sight(), *([self.cursor] if len(self.source) else [])]
        return all(old.key(row) == self.source.key(row) for row in rows)

    def _draw_changed(self, old: RowSource) -> None:
        """Draw the rows again whose cells changed."""
        self.forget_strips()
        for row in self.rows_in_sight():
            if list(old.cells(row)) != list(self.source.cells(row)):
                self.refresh_body_line(row)

    def redraw(self, row: int, width: int | None = None) -> None:
        """Draw one row again, or its first ``width`` terminal cells, because they changed."""
        for state in range(3):
            self._strips.discard((row, state))
        self.refresh_body_line(row, width)

    def rows_changed(self, held: Hashable | None, height: int) -> None:
        """Draw again after the view changed, with the cursor on ``held`` at that height if it is still shown."""
        place = None if held is None else self.source.index(held)
        self.cursor = min(self.cursor, max(0, len(self.source) - 1)) if place is None else place
        self.top = max(0, min(self.cursor - height, len(self.source) - self.body_height))
        self.forget_strips()
        self.refresh()
        if self.key != held:
            self._moved()

    @property
    def key(self) -> Hashable | None:
        """The key of the row under the cursor; None where there is no row."""
        return self.source.key(self.cursor) if self.cursor < len(self.source) else None

    def copied(self) -> str | None:
        """Return the row under the cursor as text."""
        return self.source.text(self.cursor) if self.cursor < len(self.source) else None

    # Drawing -------------------------------------------------------------------------------------------------------

    def body_count(self) -> int:
        """Return the number of rows shown."""
        return len(self.source)

    def forget_strips(self) -> None:
        """Forget drawn lines."""
        super().forget_strips()
        self._strips.clear()

    def layout_columns(self) -> list[tuple[int, int]]:
        """Return the shown columns with their widths; one cell at the left is the cursor's."""
        return widths(self.source.columns, max(1, self.size.width - 2), self.skip)

    def header_strip(self, line: int) -> Strip:
        """Return the column titles; the sorted one has an arrow."""
        return self.strip(header_cells(self.source, self.layout_columns(), scrolled=self.skip > 0))

    def body_strip(self, index: int) -> Strip:
        """Return one row, from the cache if it was drawn before."""
        state = 0 if index != self.cursor else 2 if self.has_focus else 1
        strip = self._strips.get((index, state))
        if strip is None:
            strip = self._draw(index, state)
            self._strips[index, state] = strip
        return strip

    def _draw(self, index: int, state: int) -> Strip:
        """Draw one row: a mark and reverse video where the cursor is, the mark alone without focus."""
        cells = row_cells(self.source.cells(index), self.source.columns, self.layout_columns(), marked=state > 0)
        if state < 2:
            return self.strip(cells)
        if self.source.columns[-1].align == "bar" and len(cells) > 2:  # a reversed bar would be its opposite
            return self.strip([*((text, "cursor") for text, _ in cells[:-2]), cells[-2]])
        return self.strip(cells, over="cursor")

    def status(self) -> str:
        """Return the filter."""
        return self.filter_text(len(self.source))

    def filter_text(self, matches: int) -> str:
        """Return what the filter leaves of the rows; "" where there is none."""
        if not self.source.needle:
            return ""
        return f"{thousands(matches)} of {thousands(self.source.total)} match “{self.source.needle}” · esc clears"

    def position(self) -> str:
        """Return where the cursor stands."""
        return f"{thousands(self.cursor + 1)}/{thousands(len(self.source))}" if len(self.source) else ""

    def empty_lines(self) -> Sequence[str]:
        """Return why there are no rows."""
        if self.source.needle:
            return (f"0 of {thousands(self.source.total)} match “{self.source.needle}”", "esc clears the filter")
        return self._words

    def explain(self, words: Sequence[str]) -> None:
        """Say why there are no rows, in place of what was said before."""
        before, self._words = self._words, words
        if before != words and not len(self.source):
            lines = 2 + 2 * max(len(before), len(words))
            self.refresh(Region(0, self.fixed, self.size.width, min(lines, self.body_height)))

    # Moving --------------------------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        """Put the cursor on a row and bring it into view."""
        index = max(0, min(index, len(self.source) - 1))
        if index == self.cursor or not len(self.source):
            return
        old, self.cursor = self.cursor, index
        self.refresh_body_line(old)
        self.refresh_body_line(index)
        self.refresh_position()
        self.bring_into_view()
        self._moved()

    def move_to_key(self, key: Hashable) -> bool:
        """Put the cursor on the row of that key; False where it is not shown."""
        index = self.source.index(key)
        if index is None:
            return False
        self.move_to(index)
        return True

    def bring_into_view(self) -> None:
        """Scroll if the cursor is out of sight; by half a page, so that a held key scrolls seldom."""
        height = self.body_height
        if not height or self.top <= self.cursor < self.top + height:
            return
        self.scroll_body(self.cursor - height // 2)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the cursor in sight; this is also the first time that a pane which was hidden has a height."""
        super().on_resize(event)
        self.bring_into_view()

    def _moved(self) -> None:
        """Tell the screen."""
        if self.key is not None:
            self.post_message(self.Moved(self, self.key))

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self.move_to(self.cursor + step)

    def action_page(self, halves: int) -> None:
        """Move the cursor and the view together."""
        step = halves * max(1, self.body_height // 2)
        self.scroll_body(self.top + step)
        self.move_to(self.cursor + step)

    def action_columns(self, step: int) -> None:
        """Scroll whole columns; the first always stands."""
        most = self._most_skip()
        skip = max(0, min(self.skip + step, most))
        if skip != self.skip:
            self.skip = skip
            self.forget_strips()
            self.refresh()

    def _most_skip(self) -> int:
        """The number of columns to scroll away until the last one shows."""
        columns = self.source.columns
        for skip in range(len(columns)):
            shown = widths(columns, max(1, self.size.width - 2), skip)
            if shown and shown[-1][0] == len(columns) - 1:
                return skip
        return 0

    def action_choose(self) -> None:
        """Tell the screen that the row was chosen."""
        if self.key is not None:
            self.post_message(self.Chosen(self, self.key))

    def on_click(self, event: events.Click) -> None:
        """Move to the row that was clicked; a click on the cursor's row chooses it."""
        index = self.top + event.y - self.fixed
        if event.y < self.fixed or index >= len(self.source):
            return
        if index == self.cursor:
            self.action_choose()
        else:
            self.move_to(index)

    # Order, filter, search -----------------------------------------------------------------------------------------

    def action_sort_next(self, step: int) -> None:
        """Sort by the next column that can be sorted: numbers from the largest, words from A."""
        sortable = [column for column in self.source.columns if column.sortable]
        if not sortable:
            return
        keys = [column.key for column in sortable]
        at = keys.index(self.source.sort_key) if self.source.sort_key in keys else -1
        column = sortable[(at + step) % len(sortable)]
        self._sort(column.key, descending=column.align == "right")

    def action_sort_reverse(self) -> None:
        """Turn the order around."""
        if self.source.sort_key:
            self._sort(self.source.sort_key, descending=not self.source.descending)

    def _sort(self, key: str, *, descending: bool) -> None:
        """Sort and start at the first row: that is what one sorts for."""
        self.source.sort(key, descending=descending)
        self.cursor = self.top = 0
        self.forget_strips()
        self.refresh()
        self._moved()

    def set_filter(self, needle: str) -> None:
        """Show only rows that hold the words."""
        held, height = self.key, self.cursor - self.top
        self._last_key = self._last_key if held is None else held  # a filter that hides every row forgets no cursor
        self.source.filter(needle)
        self.rows_changed(self._last_key, height)

    def find(self, needle: str, step: int) -> bool:
        """Move to the next row that holds the words; False where none does."""
        index = self.source.find(needle, self.cursor, step)
        if index is None:
            return False
        self.move_to(index)
        return True
