"""What a generated trace contains: the truth that tables and findings are held against."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tracelens_tui.evals.device import GpuSpan
from tracelens_tui.evals.roof import Bound, LeastTime
from tracelens_tui.evals.values import Arg, Tensor, dims_text, types_text
from tracelens_tui.evals.writer import TraceWriter


@dataclass(slots=True)
class OpTruth:
    """All calls of one op with the same arguments."""

    op: str
    dims: str  # JSON text of Input Dims
    types: str  # JSON text of Input type
    bound: Bound
    roof_ns: float  # least time of one call
    calls: int = 0
    kernel_ns: int = 0
    ratio_sum: float = 0.0

    def add(self, kernel_ns: int) -> None:
        """Count one call."""
        self.calls += 1
        self.kernel_ns += kernel_ns
        self.ratio_sum += self.roof_ns / kernel_ns

    @property
    def efficiency(self) -> float:
        """Sum of roof times over sum of kernel times."""
        return self.roof_ns * self.calls / self.kernel_ns

    @property
    def mean_ratio(self) -> float:
        """Mean of the calls' ratios."""
        return self.ratio_sum / self.calls


@dataclass(frozen=True, slots=True)
class Split:
    """Time of the device in ns, as the time split defines it."""

    window: int
    busy: int
    compute: int
    comm: int
    exposed_comm: int
    memcpy: int
    exposed_memcpy: int

    @property
    def idle(self) -> int:
        """Window minus busy."""
        return self.window - self.busy


@dataclass(frozen=True, slots=True)
class Problem:
    """One planted problem.

    ``kind`` is the sub-agent that should find it.  ``share`` is ``time_ns`` as a part of the window; ``efficiency`` is
    a ratio, None where the problem is no inefficiency of a kernel.
    """

    kind: str
    op: str
    dims: str
    time_ns: int
    share: float
    efficiency: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """The truth about one generated trace."""

    path: Path
    events: int
    split: Split
    problems: tuple[Problem, ...] = ()
    ops: tuple[OpTruth, ...] = ()
    facts: dict[str, float] = field(default_factory=dict)  # further figures of a scenario

    def find(self, op: str, dims: str | None = None) -> OpTruth:
        """Return the truth of one op, with several shapes of it that of ``dims``; KeyError unless just one matches."""
        matches = [truth for truth in self.ops if truth.op == op and dims in {None, truth.dims}]
        if len(matches) != 1:
            raise KeyError(f"{len(matches)} ops match {op} {dims or ''}")
        return matches[0]


class Ledger:
    """Collects the calls of modelled ops while a trace is written."""

    def __init__(self) -> None:
        self._ops: dict[tuple[str, tuple[Arg, ...]], OpTruth] = {}

    def add(self, op: str, args: tuple[Arg, ...], roof: LeastTime, kernel_ns: int) -> OpTruth:
        """Count a call and return the record of its op."""
        tensors = tuple(arg for arg in args if isinstance(arg, Tensor | tuple))
        truth = self._ops.setdefault((op, tensors), OpTruth(op, dims_text(args), types_text(args), roof.bound, roof.ns))
        truth.add(kernel_ns)
        return truth

    def truths(self) -> tuple[OpTruth, ...]:
        """Return every op, by kernel time, longest first."""
        return tuple(sorted(self._ops.values(), key=lambda truth: -truth.kernel_ns))


def planted(writer: TraceWriter, ledger: Ledger, problems: Iterable[Problem] = (), **facts: float) -> Planted:
    """Return the truth of a trace whose writer has been closed."""
    return Planted(writer.path, writer.events, split(writer.gpu_log), tuple(problems), ledger.truths(), facts)


def problem(kind: str, truths: Iterable[OpTruth], window_ns: int, note: str = "") -> Problem:
    """Return a problem made of the calls of some ops; the first names it."""
    members = list(truths)
    total = sum(truth.kernel_ns for truth in members)
    roof = sum(truth.roof_ns * truth.calls for truth in members)
    return Problem(kind, members[0].op, members[0].dims, total, total / window_ns, roof / total, note)


Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return disjoint intervals that cover the same time, by start."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def length(intervals: Iterable[Interval]) -> int:
    """Return the time that the intervals cover."""
    return sum(end - start for start, end in union(intervals))


def split(log: Iterable[GpuSpan]) -> Split:
    """Return the time split of all GPU events."""
    spans: dict[str, list[Interval]] = {"compute": [], "comm": [], "copy": []}
    for span in log:
        spans[span.role].append((span.start_ns, span.end_ns))
    every = [interval for group in spans.values() for interval in group]
    if not every:
        return Split(0, 0, 0, 0, 0, 0, 0)
    compute, comm = length(spans["compute"]), length(spans["comm"])
    covered = length([*spans["compute"], *spans["comm"]])
    busy = length(every)
    window = max(end for _, end in every) - min(start for start, _ in every)
    return Split(window, busy, compute, comm, covered - compute, length(spans["copy"]), busy - covered)


def longest_gap(log: Iterable[GpuSpan]) -> Interval:
    """Return the longest time in which no GPU event runs, (0, 0) where there is none."""
    busy = union((span.start_ns, span.end_ns) for span in log)
    gaps = [(before[1], after[0]) for before, after in pairwise(busy)]
    return max(gaps, key=lambda gap: gap[1] - gap[0], default=(0, 0))
