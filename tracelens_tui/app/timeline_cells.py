"""From lanes and gaps to the cells of the timeline: glyph, word and colour each tell the kind of work."""

import numpy as np
from rich.cells import cell_len

from tracelens_tui.app.cells import Cell, fit
from tracelens_tui.app.lanes import Lane, Timeline, Work
from tracelens_tui.app.timeline_axis import Axis
from tracelens_tui.trace.intervals import covered

NAME_CELLS = 8
"""An event this wide carries its name."""
MOSTLY = 0.5
"""A bin is drawn full from this busy part on."""

LOOKS: dict[Work, tuple[str, str]] = {
    Work.MATRIX: ("█", "good"),
    Work.VECTOR: ("▓", "accent"),
    Work.COMM: ("▒", "warn"),
    Work.COPY: ("░", "bad"),
    Work.HOST: ("▓", ""),
}
"""Glyph and style of each kind of work."""
SOME = "▂"
CAUSES = {
    "launch": "L", "sync": "S", "copy": "C", "comm": "N", "loading": "D", "host": "H", "queued": "q", "unknown": "?",
}  # fmt: skip
"""Letter of each cause of idle time."""
LEGEND = (
    "█ GEMM, attention, convolution · ▓ other kernels, host · ▒ communication · ░ copies · ▂ busy less than half",
    "idle: L launch · S sync · C copy · N communication · D data loading · H host code · q queued · ? unknown",
)


def lane_cells(lane: Lane, data: Timeline, axis: Axis) -> list[Cell]:
    """Return one cell per bin: how much and what ran, and the names of events that are wide enough."""
    edges = axis.edges()
    edges[1:] = np.maximum(edges[1:], edges[:-1] + 1)
    share, kind = lane.shares(edges)
    cells: list[Cell] = []
    for part, code in zip(share.tolist(), kind.tolist(), strict=True):
        glyph, style = LOOKS[Work(code)]
        cells.append((" ", "") if part <= 0 else (glyph if part >= MOSTLY else SOME, style))
    for event, start, end in lane.long_events(axis.start, axis.end, int(NAME_CELLS * axis.bin_ns)):
        first, last = axis.bin_of(start) + 1, axis.bin_of(end - 1)
        for at, letter in enumerate(_single_cells(fit(f" {data.name_of(event)} ", max(0, last - first)))):
            cells[first + at] = (letter, cells[first + at][1])
    return cells


def idle_text(data: Timeline, axis: Axis) -> str:
    """Return the letter of the cause with most of each bin, where the device is idle for most of it."""
    if not data.idle:
        return ""
    edges = axis.edges()
    time = np.stack([np.diff(covered(gaps, edges)) for gaps in data.idle.values()])
    letters = np.array([CAUSES[cause] for cause in data.idle])
    shown = time.sum(axis=0) >= MOSTLY * np.maximum(np.diff(edges), 1)
    return "".join(np.where(shown, letters[time.argmax(axis=0)], " ").tolist())


def _single_cells(text: str) -> str:
    """The text with a dot for each character that does not take one terminal cell: bins keep their places."""
    return text if text.isascii() else "".join(one if cell_len(one) == 1 else "." for one in text)
