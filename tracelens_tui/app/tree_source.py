"""The event tree as a row source: which positions show, folded or not, and the cells of one."""

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.args_text import args_text
from tracelens_tui.app.cells import Cell, Column, fixed, thousands
from tracelens_tui.app.tree_data import TreeData
from tracelens_tui.text import plain
from tracelens_tui.trace.types import Kind

KIND_WORDS = {
    Kind.OTHER: "other",
    Kind.CPU_OP: "op",
    Kind.PYTHON_FUNCTION: "py",
    Kind.RUNTIME: "call",
    Kind.DRIVER: "call",
    Kind.KERNEL: "kernel",
    Kind.MEMCPY: "copy",
    Kind.MEMSET: "set",
    Kind.USER_ANNOTATION: "mark",
    Kind.GPU_ANNOTATION: "mark",
    Kind.SYNC: "sync",
    Kind.OVERHEAD: "extra",
}
_STYLES = {Kind.KERNEL: "accent", Kind.MEMCPY: "accent", Kind.MEMSET: "accent", Kind.USER_ANNOTATION: "bold"}
_COLUMNS = (
    Column("name", "Event", 24, "left", grows=True, sortable=False),
    Column("gpu", "GPU ms", 11, sortable=False),
    Column("kernels", "GPU n", 7, sortable=False),
    Column("duration", "Dur ms", 11, sortable=False),
    Column("kind", "Kind", 6, "left", sortable=False),
)


_DEEPEST = 14
"""Levels that are shown by indenting; deeper ones by their number."""


_FOLDERS = re.compile(r"^.*/(?=[^/]+\(\d+\): )")
"""The folders before a Python function's file; the detail has them."""
_ENGINE = "autograd::engine::evaluate_function: "
"""What the name of every backward node begins with: on a small screen it would be all that shows."""


class TreeSource:
    """Visible positions, always in display order; rows are named by event id (a heading by ``-1 - group``)."""

    columns = _COLUMNS
    sort_key = ""
    descending = False

    def __init__(self, analysis: Analysis, data: TreeData) -> None:
        self.data = data
        self.needle = ""
        self._trace = analysis.trace
        self._tree = analysis.tree
        events = analysis.trace.events
        self._name, self._kind = events["name"].to_numpy(), events["kind"].to_numpy()
        self._dur, self._args = events["dur_ns"].to_numpy(), events["args"].to_numpy()
        self._open = np.zeros(len(data), np.bool_)
        self._rows = data.heads
        self._found: tuple[str, NDArray[Any]] = ("", np.empty(0, np.int64))

    # Rows ----------------------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """All events."""
        return len(self._trace)

    def __len__(self) -> int:
        """Return how many rows are visible."""
        return len(self._rows)

    def position(self, index: int) -> int:
        """Return the display position of a visible row."""
        return int(self._rows[index])

    def key(self, index: int) -> Hashable:
        """Return the event id of a row."""
        return int(self.data.event[self._rows[index]])

    def index(self, key: Hashable) -> int | None:
        """Return where the event is visible; None where it is folded away."""
        if not isinstance(key, int):
            return None
        position = int(self.data.heads[-1 - key]) if key < 0 else int(self.data.place[key])
        at = int(np.searchsorted(self._rows, position))
        return at if at < len(self._rows) and self._rows[at] == position else None

    def text(self, index: int) -> str:
        """Return the event's name."""
        return self._label(int(self.data.event[self._rows[index]]))

    def cells(self, index: int) -> Sequence[Cell]:
        """Return name with arguments, GPU time and count below it, duration and kind."""
        position = int(self._rows[index])
        event, depth = int(self.data.event[position]), int(self.data.depth[position])
        fold = "  " if self.data.size[position] == 1 else "▾ " if self._open[position] else "▸ "
        indent = " " * depth if depth <= _DEEPEST else f"{depth:>{_DEEPEST}} "
        if event < 0:
            group = self.data.groups[-1 - event]
            values = (group.gpu_ns, group.gpu_count)
            return [(fold + group.label, "bold"), *_gpu(*values), ("", ""), ("", "")]
        kind = Kind(int(self._kind[event]))
        return [
            (indent + fold + self._label(event), _STYLES.get(kind, "")),
            *_gpu(int(self._tree.gpu_ns[event]), int(self._tree.gpu_count[event])),
            (fixed(int(self._dur[event]) / 1e6, 3), ""),
            (KIND_WORDS[kind], ""),
        ]

    def _label(self, event: int) -> str:
        """An event's name and arguments."""
        if event < 0:
            return self.data.groups[-1 - event].label
        name = plain(str(self._trace.names[int(self._name[event])]))
        if self._kind[event] == Kind.PYTHON_FUNCTION:
            name = _FOLDERS.sub("", name)
        elif name.startswith(_ENGINE):
            name = f"backward: {name.removeprefix(_ENGINE)}"
        code = int(self._args[event])
        if not code:
            return name
        dims, types = self._trace.args["dims"][code], self._trace.args["types"][code]
        return f"{name}  {args_text(dims, types)}"

    def sort(self, key: str, *, descending: bool) -> None:
        """Do nothing: a tree is in the order of time."""

    # Folding -------------------------------------------------------------------------------------------------------

    def is_open(self, index: int) -> bool:
        """Say whether the row shows what is below it."""
        return bool(self._open[self._rows[index]])

    def expand(self, index: int) -> bool:
        """Show the children of a row; False where there is nothing to show."""
        position = int(self._rows[index])
        if self.data.size[position] == 1 or self._open[position]:
            return False
        self._open[position] = True
        self._rows = np.insert(self._rows, index + 1, self.data.children(position))
        return True

    def collapse(self, index: int) -> bool:
        """Hide everything below a row; False where nothing showed."""
        position = int(self._rows[index])
        if not self._open[position]:
            return False
        self._hide(index)
        return True

    def _hide(self, index: int) -> None:
        """Take the rows below a row away."""
        position = int(self._rows[index])
        end = position + int(self.data.size[position])
        self._open[position:end] = False
        last = int(np.searchsorted(self._rows, end))
        self._rows = np.delete(self._rows, np.s_[index + 1 : last])

    def expand_all(self, index: int) -> None:
        """Show everything below a row."""
        position = int(self._rows[index])
        self._hide(index)
        end = position + int(self.data.size[position])
        self._open[position:end] = self.data.size[position:end] > 1
        self._rows = np.insert(self._rows, index + 1, np.arange(position + 1, end, dtype=np.int32))

    def reveal(self, event: int) -> int:
        """Unfold whatever hides the event, taking the filter off if need be; return its row."""
        position = int(self.data.place[event])
        ancestors = self.data.ancestors(position)
        at = self.index(event)
        if at is None and self.needle:
            self.filter("")
        for above in ancestors:
            self.expand(int(np.searchsorted(self._rows, above)))
        return int(np.searchsorted(self._rows, position))

    def hottest(self, index: int) -> int:
        """Return the child's event with the most GPU time below it, or the row's own where it has no children."""
        position = int(self._rows[index])
        children = self.data.children(position)
        events = self.data.event[children]
        return int(events[np.argmax(self._tree.gpu_ns[events])]) if len(events) else int(self.data.event[position])

    def parent_index(self, index: int) -> int | None:
        """Return the row of the parent; None for a heading."""
        above = self.data.ancestors(int(self._rows[index]))
        return int(np.searchsorted(self._rows, above[-1])) if above else None

    # Search and filter ---------------------------------------------------------------------------------------------

    def hits(self, needle: str) -> NDArray[Any]:
        """Return the positions whose event name holds the words, folded or not."""
        if self._found[0] != needle:
            names = self._trace.names.str.to_lowercase().str.contains(needle.lower(), literal=True).to_numpy()
            held = names[self._name]
            real = self.data.event >= 0
            mask = real & held[np.where(real, self.data.event, 0)]
            self._found = (needle, np.flatnonzero(mask))
        return self._found[1]

    def find(self, needle: str, start: int, step: int) -> int | None:
        """Unfold the next event that holds the words, around the end; return its row."""
        hits = self.hits(needle)
        if not len(hits):
            return None
        position = int(self._rows[start]) if start < len(self._rows) else -1
        side = "right" if step > 0 else "left"
        at = int(np.searchsorted(hits, position, side=side)) - (0 if step > 0 else 1)
        return self.reveal(int(self.data.event[hits[at % len(hits)]]))

    def filter(self, needle: str) -> None:
        """Show only events that hold the words, and what is above them; "" folds everything but the headings."""
        self.needle = needle
        self._open[:] = False
        if not needle:
            self._rows = self.data.heads
            return
        upto = np.zeros(len(self.data) + 1, np.int32)  # hits before each position: those of a subtree by difference
        upto[self.hits(needle) + 1] = 1
        np.cumsum(upto, out=upto)
        after = upto[np.arange(len(self.data)) + self.data.size]
        self._rows = np.flatnonzero(after > upto[:-1]).astype(np.int32)
        self._open[self._rows] = after[self._rows] > upto[self._rows + 1]


def _gpu(gpu_ns: int, count: int) -> list[Cell]:
    """GPU time and number of GPU events, faint where there is none."""
    if not count:
        return [("-", "dim"), ("-", "dim")]
    return [(fixed(gpu_ns / 1e6, 3), ""), (thousands(count), "")]
