"""The part of time that the timeline shows, and the marks on its axis."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.app.cells import width_of

LABEL_CELLS = 14
"""Marks stand at least this far apart."""

_UNITS = ((1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s"))


@dataclass(frozen=True, slots=True)
class Axis:
    """The shown time ``[start, end)`` in ns within ``[first, last)``, in a number of bins."""

    first: int
    last: int
    start: int
    end: int
    bins: int
    origin: int = 0  # time that the marks count from

    @property
    def bin_ns(self) -> float:
        """Length of a bin."""
        return (self.end - self.start) / self.bins

    def edges(self) -> NDArray[np.int64]:
        """Return the ``bins + 1`` edges."""
        steps = np.arange(self.bins + 1, dtype=np.int64)
        return self.start + steps * (self.end - self.start) // self.bins

    def span(self, number: int) -> tuple[int, int]:
        """Return the time of a bin; it is never empty."""
        edges = self.edges()
        begin = int(edges[number])
        return begin, max(int(edges[number + 1]), begin + 1)

    def bin_of(self, time: int) -> int:
        """Return the bin of a time, the nearest one where it is not shown."""
        number = int(np.searchsorted(self.edges(), time, "right")) - 1
        return max(0, min(number, self.bins - 1))

    def zoomed(self, factor: float, around: int) -> "Axis":
        """Return the axis with a window ``factor`` times as long in which ``around`` keeps its place."""
        whole = self.last - self.first
        length = int(max(self.bins, min(whole, (self.end - self.start) * factor)))
        part = (around - self.start) / (self.end - self.start)
        return self._placed(int(around - part * length), length)

    def panned(self, part: float) -> "Axis":
        """Return the axis moved by that part of its length."""
        length = self.end - self.start
        return self._placed(int(self.start + part * length), length)

    def holding(self, start: int, end: int) -> "Axis":
        """Return the axis with a time in its middle, so long that it can be told from its neighbours."""
        length = min(self.last - self.first, max(self.bins, (end - start) * 8))
        return self._placed((start + end - length) // 2, length)

    def over(self, start: int, end: int) -> "Axis":
        """Return the axis over a time."""
        return self._placed(start, max(self.bins, end - start))

    def with_bins(self, bins: int) -> "Axis":
        """Return the axis for another width."""
        return replace(self, bins=max(1, bins))

    def _placed(self, start: int, length: int) -> "Axis":
        length = max(1, min(length, max(self.last - self.first, self.bins)))
        start = max(self.first, min(start, self.last - length))
        return replace(self, start=start, end=start + length)

    def marks(self) -> str:
        """Return the axis as a line: a stroke at each mark, and its time."""
        step = _step(self.bin_ns * LABEL_CELLS)
        scale, unit = next((one for one in reversed(_UNITS) if step >= one[0]), _UNITS[0])
        digits = _digits(step / scale)
        line = ""
        tick = -((self.origin - self.start) // step) * step + self.origin
        while tick < self.end:
            cell = int((tick - self.start) / self.bin_ns)
            label = f"│{(tick - self.origin) / scale:.{digits}f} {unit}"
            if cell >= width_of(line) and cell + width_of(label) <= self.bins:
                line += " " * (cell - width_of(line)) + label
            tick += step
        return line.ljust(self.bins)


def _step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, ... ns that is no less."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def _digits(step: float) -> int:
    """Decimals that tell multiples of a step of a unit apart."""
    return 0 if step >= 1 else 1 if step >= 0.1 else 2 if step >= 0.01 else 3
