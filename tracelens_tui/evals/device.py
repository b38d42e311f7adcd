"""The GPU of a generated trace: queues of limited depth, and the small variations that make times look measured."""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["compute", "comm", "copy"]

_QUEUE_DEPTH = 1024


@dataclass(frozen=True, slots=True)
class GpuSpan:
    """One GPU event as it was written."""

    start_ns: int
    end_ns: int
    role: Role


@dataclass(slots=True)
class Stream:
    """A GPU queue of limited depth: kernels run one after the other."""

    number: int
    free_ns: int = 0
    _ends: deque[int] = field(default_factory=lambda: deque(maxlen=_QUEUE_DEPTH))

    def room_ns(self) -> int:
        """Return when the queue has a free slot: a launch call blocks until then."""
        return self._ends[0] if len(self._ends) == _QUEUE_DEPTH else 0

    def enqueue(self, ready_ns: int, dur_ns: int) -> int:
        """Return the start of work that may begin at ``ready_ns``; the queue is taken until its end."""
        start = max(ready_ns, self.free_ns + 1)
        self.free_ns = start + dur_ns
        self._ends.append(self.free_ns)
        return start

    def wait_for(self, other: "Stream") -> None:
        """Let later work begin only after everything that is queued on the other stream now."""
        self.free_ns = max(self.free_ns, other.free_ns)


class Jitter:
    """Deterministic small variations, the same on every Python version."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = (seed * 2 + 1) & 0xFFFFFFFFFFFFFFFF

    def around(self, value: int, percent: int = 25) -> int:
        """Return ``value`` changed by at most ``percent``."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        spread = value * percent // 100
        return value - spread + (self._state >> 33) % (2 * spread + 1)
