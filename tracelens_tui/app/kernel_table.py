"""Pane 2: the kernel roofline table, by op or by kernel."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from tracelens_tui.app.frames import FrameSource
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.row_source import RowSource
from tracelens_tui.app.rows import Rows


class KernelTable(Rows):
    """Two tables in one place: op rows with their roofline, and the kernels they launch."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "other_view", "ops or kernels", show=False)]
    keys = "enter tree  v ops/kernels  s S sort  f filter  / find  [ ] other uses"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(ListSource((), (), lambda _: (), lambda _: 0), label="2 Kernels", id=id)
        self._ops: FrameSource | None = None
        self._kernels: FrameSource | None = None

    @property
    def shows_ops(self) -> bool:
        """True in the view by op."""
        return self.source is self._ops

    @property
    def frame_source(self) -> FrameSource | None:
        """The table that shows; None before there is a trace."""
        return self.source if isinstance(self.source, FrameSource) else None

    def load(self, ops: FrameSource, kernels: FrameSource) -> None:
        """Take the tables of a trace and show the ops."""
        self._ops, self._kernels = ops, kernels
        self._switch(ops)

    def show_row(self, op: int | None, kernel: int | None) -> bool:
        """Put the cursor on an op or kernel row, taking a filter off that hides it; False where there is none."""
        source, key = (self._ops, op) if kernel is None else (self._kernels, kernel)
        if source is None or key is None:
            return False
        self._switch(source)
        if source.index(key) is None and source.needle:
            self.set_filter("")
        return self.move_to_key(key)

    def show_category(self, category: str) -> None:
        """Show the ops of a category."""
        if self._ops is not None:
            self._switch(self._ops)
            self.set_filter(category)
            self.action_edge(last=False)

    def action_other_view(self) -> None:
        """Change between ops and kernels; the filter goes along."""
        if self._ops is None or self._kernels is None:
            return
        needle = self.source.needle
        self._switch(self._kernels if self.shows_ops else self._ops)
        if self.source.needle != needle:
            self.set_filter(needle)

    def _switch(self, source: RowSource) -> None:
        """Show one of the two tables from its start."""
        if self.source is source:
            return
        self.source = source
        self.cursor = self.top = self.skip = 0
        self.forget_strips()
        self.refresh()
        self._moved()

    def status(self) -> str:
        """Return which table shows, and its rows."""
        if self.frame_source is None:
            return ""
        return f"{'ops' if self.shows_ops else 'kernels'} {super().status()}".rstrip()
