"""Every key, on one page."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tracelens_tui.app.cells import Line, wrap
from tracelens_tui.app.lines import Lines

_KEYS: Sequence[tuple[str, Sequence[tuple[str, str]]]] = (
    (
        "Panes",
        (
            ("1 … 7", "findings, kernels, tree, time, agents, timeline, report"),
            ("tab, shift+tab", "next pane, pane before"),
            ("z", "zoom: the pane on the whole screen, and back"),
            ("d", "detail of the selection: read it, esc or d leaves"),
        ),
    ),
    (
        "Moving",
        (
            ("j k, ↑ ↓", "one row"),
            ("ctrl+d ctrl+u, pgdn pgup", "half a page, a page"),
            ("g G, home end", "first row, last row"),
            ("h l, ← →", "columns; in the tree fold and unfold"),
            ("/ then n N", "find words, next, before"),
            ("f", "filter: only rows that hold the words; esc clears"),
            ("s S", "sort by the next column, reverse"),
        ),
    ),
    (
        "From a finding to the event and back",
        (
            ("enter", "finding → its kernels row → its costliest call in the tree; bar → what is behind it"),
            ("t", "the tree node of the selection"),
            ("T", "the GPU event of the selection on the timeline"),
            ("K", "the kernels row of a tree node"),
            ("] [", "next, previous: operation of the finding, call of the op, section of the report"),
            ("backspace", "back to where you jumped from"),
        ),
    ),
    (
        "Kernels",
        (("v", "op rows with their roofline, or the kernels they launch"),),
    ),
    (
        "Tree",
        (
            ("space", "fold or unfold"),
            ("*", "unfold everything below"),
            ("w", "down along the most GPU time"),
            ("b", "the backward op of a forward op, the forward op of a backward op"),
        ),
    ),
    (
        "Timeline",
        (
            ("h l, ← →", "earlier, later by one cell; H L by half a window"),
            ("+ -, 0", "zoom in and out around the cursor, the whole window"),
            ("[ ]", "the event before, the next event of the lane"),
            ("v", "the host's threads too, or GPU streams alone"),
            ("enter, t", "the event in the tree"),
        ),
    ),
    (
        "Findings and report",
        (
            ("a x u", "accept, reject, undo (kept for you, outside the run)"),
            (".", "next finding you have not looked at"),
            ("e", "export the report to a file"),
            ("o", "the whole report in $PAGER"),
            ("y", "copy the row to the clipboard (OSC 52)"),
        ),
    ),
    (
        "Run",
        (
            ("c", "cancel the run (asks)"),
            ("r", "run the triage again into a fresh directory (asks)"),
            ("q, ctrl+c", "quit; a run goes on without the app"),
        ),
    ),
    (
        "Words",
        (
            ("Win %", "what can be won of the window, mid estimate; the detail has low and high"),
            ("window", "first GPU start to last GPU end of the device"),
            ("%", "share of the window; overlapping streams can add up to more than 100"),
            ("%roof", "least possible time ÷ time taken; above 100 (!) an input of the model is wrong"),
            ("Bound", "which roof is lower for the op: compute or memory"),
        ),
    ),
)


class Help(ModalScreen[None]):
    """The keys; any of the usual ones leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "leave")]

    def compose(self) -> ComposeResult:
        """Make the page."""
        yield Lines(label="Help: esc leaves", id="help")

    def on_mount(self) -> None:
        """Fill the page."""
        page = self.query_one(Lines)
        page.set_text(help_lines)
        page.focus()

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(None)


def help_lines(width: int) -> list[Line]:
    """Return the page."""
    column = 26
    lines: list[Line] = []
    for title, keys in _KEYS:
        lines += [((title, "title"),)]
        for key, what in keys:
            first, *rest = wrap(what, width, f"  {key:<{column}}")
            lines.append(((first[: column + 2], "bold"), (first[column + 2 :], "")))
            lines += [((line, ""),) for line in rest]
        lines.append(())
    return lines[:-1]
