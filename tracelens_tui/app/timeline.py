"""Pane 6: streams over time, the host's threads on demand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from tracelens_tui.app.cells import fit
from tracelens_tui.app.lanes import Lane, Timeline
from tracelens_tui.app.pane import Pane
from tracelens_tui.app.timeline_axis import Axis
from tracelens_tui.app.timeline_cells import idle_text, lane_cells
from tracelens_tui.text import duration

LABEL = 14
"""Cells of a lane's name, with the cursor's mark."""


class TimelinePane(Pane):
    """Lanes of coloured bins; the cursor is a bin of a lane and the event that takes most of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "step(1)", "later", show=False),
        Binding("left,h", "step(-1)", "earlier", show=False),
        Binding("L,shift+right", "pan(0.5)", "half a window later", show=False),
        Binding("H,shift+left", "pan(-0.5)", "half a window earlier", show=False),
        Binding("plus,equals_sign", "zoom(0.5)", "zoom in", show=False),
        Binding("minus", "zoom(2.0)", "zoom out", show=False),
        Binding("0", "whole", "the whole window", show=False),
        Binding("right_square_bracket", "event(1)", "next event of the lane", show=False),
        Binding("left_square_bracket", "event(-1)", "the event before", show=False),
        Binding("v", "threads", "host threads", show=False),
        Binding("enter", "choose", "its place in the tree", show=False),
    ]
    header_count = 2
    keys = "←→ move  + - zoom  H L pan  0 all  [ ] event  v threads  enter tree"
    searchable = True

    @dataclass
    class Moved(Message):
        """The cursor stands on another event, or on none."""

        event: int | None

        def can_replace(self, message: Message) -> bool:
            """Only the last of several moves matters."""
            return isinstance(message, TimelinePane.Moved)

    @dataclass
    class Chosen(Message):
        """Enter was pressed on an event."""

        event: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(label="6 Timeline", id=id)
        self.data: Timeline | None = None
        self.cursor = 0  # lane
        self.time = 0  # ns; in the bin of the cursor
        self._axis = Axis(0, 1, 0, 1, 1)
        self._threads = False
        self._words: Sequence[str] = ()

    # Data ----------------------------------------------------------------------------------------------------------

    def load(self, data: Timeline) -> None:
        """Take the lanes of a trace."""
        self.data = data
        self.cursor = self.top = 0
        self._axis = Axis(data.start, data.end, data.start, data.end, self._bins, data.origin)
        self.action_whole()

    def explain(self, words: Sequence[str]) -> None:
        """Say why there is nothing to show."""
        if words != self._words:
            self._words = words
            if self.data is None:
                self.refresh()

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes shown."""
        if self.data is None:
            return ()
        return (*self.data.gpu, *self.data.host) if self._threads or not self.data.gpu else self.data.gpu

    @property
    def event(self) -> int | None:
        """The event under the cursor."""
        lanes = self.lanes
        if not lanes:
            return None
        return lanes[self.cursor].event_in(*self._axis.span(self._axis.bin_of(self.time)))

    @property
    def _bins(self) -> int:
        return max(1, self.size.width - LABEL)

    # Drawing -------------------------------------------------------------------------------------------------------

    def body_count(self) -> int:
        """Return the number of lanes."""
        return len(self.lanes)

    def empty_lines(self) -> Sequence[str]:
        """Return why there are no lanes."""
        return self._words or ("nothing ran on a GPU or in an op",)

    def position(self) -> str:
        """Return the time under the cursor."""
        return "" if self.data is None else f"at {duration(self.time - self._axis.origin)}"

    def status(self) -> str:
        """Return how long the shown time and one bin are."""
        if self.data is None:
            return ""
        axis = self._axis
        return f"{duration(axis.end - axis.start)} shown · {duration(axis.bin_ns)} a cell"

    def header_strip(self, line: int) -> Strip:
        """Return the axis, or the idle gaps of the device by the letter of their cause."""
        if self.data is None:
            return self.strip([])
        if line == 0:
            return self.strip([(" " * LABEL, ""), (self._axis.marks(), "head")])
        return self.strip([(" idle".ljust(LABEL), "head"), (idle_text(self.data, self._axis), "warn")])

    def body_strip(self, index: int) -> Strip:
        """Return one lane."""
        lane, here = self.lanes[index], index == self.cursor
        label = ("▸" if here else " ") + fit(lane.label, LABEL - 2) + " "
        cells = [] if self.data is None else lane_cells(lane, self.data, self._axis)
        if here:
            number = self._axis.bin_of(self.time)
            text, style = cells[number]
            cells[number] = (text if text.strip() else "·", "cursor" if self.has_focus else style)
        return self.strip([(label, "bold" if here else ""), *cells])

    # Moving --------------------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Move by lanes."""
        lane = max(0, min(self.cursor + step, len(self.lanes) - 1))
        if lane == self.cursor or not self.lanes:
            return
        old, self.cursor = self.cursor, lane
        self.refresh_body_line(old)
        self.refresh_body_line(lane)
        if not self.top <= lane < self.top + self.body_height:
            self.scroll_body(lane - self.body_height // 2)
        self._moved()

    def action_step(self, step: int) -> None:
        """Move by bins; at the edge the window follows."""
        number = self._axis.bin_of(self.time) + step
        if not 0 <= number < self._axis.bins:
            self._show(self._axis.panned(0.5 if step > 0 else -0.5), self.time)
            number = self._axis.bin_of(self.time) + step
        self._to_bin(max(0, min(number, self._axis.bins - 1)))

    def _to_bin(self, number: int) -> None:
        begin, end = self._axis.span(number)
        self.time = (begin + end) // 2
        self.refresh_body_line(self.cursor)
        self.refresh_title()
        self._moved()

    def action_pan(self, part: float) -> None:
        """Move the window by a part of its length, the cursor with it."""
        number = self._axis.bin_of(self.time)
        axis = self._axis.panned(part)
        begin, end = axis.span(number)
        self._show(axis, (begin + end) // 2)
        self._moved()

    def action_zoom(self, factor: float) -> None:
        """Zoom around the cursor."""
        self._show(self._axis.zoomed(factor, self.time), self.time)
        self._moved()

    def action_whole(self) -> None:
        """Show the device's whole window."""
        if self.data is None:
            return
        axis = self._axis.with_bins(self._bins).over(self.data.origin, self.data.window_end)
        self._show(axis, max(axis.start, min(self.time, axis.end - 1)))
        self._moved()

    def action_threads(self) -> None:
        """Show or hide the host's threads."""
        self._threads = not self._threads
        self.cursor = min(self.cursor, max(0, len(self.lanes) - 1))
        self.top = max(0, min(self.top, self.body_count() - self.body_height))
        self.refresh()
        self._moved()

    def action_event(self, step: int) -> None:
        """Move to the next event of the lane, or the one before."""
        lanes = self.lanes
        if not lanes:
            return
        lane, event = lanes[self.cursor], self.event
        time = self.time
        if event is not None:
            time = int(lane.start[int(np.flatnonzero(lane.events == event)[0])])
        place = lane.beside(time, step)
        if place is not None:
            self._to_event(lane, place)

    def _to_event(self, lane: Lane, place: int) -> None:
        start, end = int(lane.start[place]), int(lane.end[place])
        self._show(self._around(start, end), (start + end) // 2)
        self._moved()

    def _around(self, start: int, end: int) -> Axis:
        """The same window where it holds the event in at least one bin, else one around it."""
        axis = self._axis
        if axis.start <= start and end <= axis.end and end - start >= axis.bin_ns:
            return axis
        if end - start >= axis.bin_ns and end - start < axis.end - axis.start:
            return axis.panned((start + end - axis.start - axis.end) / 2 / (axis.end - axis.start))
        return axis.holding(start, end)

    def show_event(self, event: int) -> bool:
        """Put the cursor on an event; False where no lane holds it."""
        found = None if self.data is None else self.data.lane_of(event)
        if found is None or self.data is None:
            return False
        host, number = found
        self._threads = self._threads or host
        self.cursor = number + (len(self.data.gpu) if host else 0)
        lane = self.lanes[self.cursor]
        self._to_event(lane, int(np.flatnonzero(lane.events == event)[0]))
        if not self.top <= self.cursor < self.top + self.body_height:
            self.scroll_body(self.cursor - self.body_height // 2)
        return True

    def find(self, needle: str, step: int) -> bool:
        """Move to the next event of the lane, in time, whose name holds the words."""
        if self.data is None or not self.lanes:
            return False
        lane = self.lanes[self.cursor]
        hits = np.flatnonzero(self.data.named(needle, lane.events))
        if not len(hits):
            return False
        at = int(np.searchsorted(lane.start[hits], self.time, "right" if step > 0 else "left"))
        event = self.event
        if step < 0:
            at -= 1
        elif event is not None and at < len(hits) and lane.events[hits[at]] == event:
            at += 1
        self._to_event(lane, int(hits[at % len(hits)]))
        return True

    def _show(self, axis: Axis, time: int) -> None:
        self._axis, self.time = axis, time
        self.refresh()

    def _moved(self) -> None:
        if self.data is not None:
            self.post_message(self.Moved(self.event))

    def action_choose(self) -> None:
        """Tell the screen that the event was chosen."""
        event = self.event
        if event is not None:
            self.post_message(self.Chosen(event))

    def on_resize(self, event: events.Resize) -> None:
        """Draw for another width."""
        self._axis = self._axis.with_bins(self._bins)
        super().on_resize(event)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Move to the bin that was clicked."""
        lane, number = self.top + event.y - self.fixed, event.x - LABEL
        if event.y < self.fixed or lane >= len(self.lanes) or not 0 <= number < self._axis.bins:
            return
        self.action_move(lane - self.cursor)
        self._to_bin(number)

    def copied(self) -> str | None:
        """Return the name of the event under the cursor, for copying."""
        event = self.event
        return None if event is None or self.data is None else self.data.name_of(event)
