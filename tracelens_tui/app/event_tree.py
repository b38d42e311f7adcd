"""Pane 3: the event tree, folded, over arrays."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from tracelens_tui.app.cells import count_of
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.rows import Rows
from tracelens_tui.app.tree_source import TreeSource


class EventTree(Rows):
    """Events of all threads with the GPU time below them; nothing but the visible rows costs anything."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "unfold", "unfold", show=False),
        Binding("left,h", "fold", "fold", show=False),
        Binding("space", "toggle_fold", "fold or unfold", show=False),
        Binding("asterisk", "unfold_all", "unfold everything below", show=False),
        Binding("w", "hottest", "down to the most GPU time", show=False),
    ]
    keys = "←→ fold  * all  w hottest  / find  f filter  K kernels  [ ] other uses"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(ListSource((), (), lambda _: (), lambda _: 0), label="3 Tree", id=id)

    @property
    def events(self) -> TreeSource | None:
        """The tree; None before there is a trace."""
        return self.source if isinstance(self.source, TreeSource) else None

    def load(self, source: TreeSource) -> None:
        """Take the tree of a trace and unfold its first heading."""
        self.source = source
        if len(source):
            source.expand(0)
        self.cursor = self.top = 0
        self.forget_strips()
        self.refresh()

    def show_event(self, event: int) -> bool:
        """Unfold what hides the event and put the cursor on it."""
        if self.events is None or not 0 <= event < self.events.total:
            return False
        before = len(self.events)
        row = self.events.reveal(event)
        if len(self.events) != before:
            self.forget_strips()
            self.refresh()
            self.cursor = min(self.cursor, len(self.events) - 1)
        self.move_to(row)
        return True

    def find(self, needle: str, step: int) -> bool:
        """Move to the next event that holds the words, folded away or not."""
        if self.events is None:
            return False
        before = len(self.events)
        row = self.events.find(needle, self.cursor, step)
        if row is None:
            return False
        if len(self.events) != before:
            self.forget_strips()
            self.refresh()
        self.cursor = min(self.cursor, len(self.events) - 1)
        self.move_to(row)
        return True

    def action_unfold(self) -> None:
        """Unfold, or go to the first child where that is done."""
        if self.events is None or not len(self.events):
            return
        if self.events.expand(self.cursor):
            self._folded()
        elif self.events.is_open(self.cursor):
            self.move_to(self.cursor + 1)

    def action_fold(self) -> None:
        """Fold, or go to the parent where that is done."""
        if self.events is None or not len(self.events):
            return
        if self.events.collapse(self.cursor):
            self._folded()
            return
        parent = self.events.parent_index(self.cursor)
        if parent is not None:
            self.move_to(parent)

    def action_toggle_fold(self) -> None:
        """Fold or unfold."""
        if self.events is not None and len(self.events):
            if self.events.is_open(self.cursor):
                self.events.collapse(self.cursor)
            else:
                self.events.expand(self.cursor)
            self._folded()

    def action_unfold_all(self) -> None:
        """Unfold everything below the cursor."""
        if self.events is not None and len(self.events):
            self.events.expand_all(self.cursor)
            self._folded()

    def action_hottest(self) -> None:
        """Go down to the child with the most GPU time, again and again, to an event that has none."""
        if self.events is None or not len(self.events):
            return
        row = self.cursor
        while True:
            event = self.events.hottest(row)
            if event == self.events.key(row):
                break
            row = self.events.reveal(event)
        self.forget_strips()
        self.refresh()
        self.move_to(row)

    def _folded(self) -> None:
        """Draw again after rows came or went below the cursor."""
        self.forget_strips()
        self.top = max(0, min(self.top, len(self.source) - self.body_height))
        self.refresh()

    def status(self) -> str:
        """Return the number of events, and the filter."""
        if self.events is None:
            return ""
        if self.events.needle:
            return self.filter_text(len(self.events.hits(self.events.needle)))
        return f"of {count_of(self.events.total, 'event')}"
