"""Why a device was idle: one cause for each gap, the first that applies.

1. ``unknown``: the event at the gap's end has no launch in the trace.
2. The launch of that event had returned before the gap began, so the host was not what the device waited for:
   ``comm`` where a collective stands on either side of the gap (one stream waits for another's), ``copy`` where a copy
   between host and device does, else ``queued``: the device's own time between two pieces of work.
3. ``loading``: the host was loading data, whatever else it did.
4. A call that waits for the device let the queue run empty.  What it waited for is the event before the gap where that
   makes at least half of what the device did from the call's begin to the gap: ``comm`` for a collective, ``copy`` for
   a copy between host and device; else ``sync``.  A call that itself makes the copy at the gap's end is a ``copy``.
5. ``comm``: the host was waiting for other ranks.
6. ``copy``: for at least half of the gap the host was in the call that makes the copy at its end.
7. ``launch``: for at least half of the gap the host was inside ops and runtime calls, busy with launching.
8. ``unknown``: nothing was recorded on the thread but runtime calls, and none explains the gap.
9. ``host``: anything else, such as Python code.

A collective that runs is never part of a gap: the device is busy with it.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.gap_hosts import Gaps, HostWork, named, under
from tracelens_tui.trace.intervals import Intervals, covered
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import HOST_KINDS, Role, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

CAUSES = ("launch", "sync", "copy", "comm", "loading", "host", "queued", "unknown")
"""Every cause that a gap can have."""

_LOADING = "(?i)dataloader"
_WAITING_FOR_RANKS = (
    r"^(?:gloo|mpi):|wait_tensor|^c10d::(?:monitored_)?barrier|^<built-in method wait of PyCapsule"
    r"|torch/distributed/.*: (?:\w*barrier|wait|recv|\w+_object(?:_list)?)$"
)
_HOST_COPIES = "(?i)HtoD|DtoH|(?:host_?to_?device)|(?:device_?to_?host)"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The cause of each gap and the numbers that decided it."""

    cause: NDArray[np.str_]
    queue_empty: (
        pl.Series
    )  # Boolean: the launch of the event after had not returned at the gap's begin; null: no launch
    launch_lag_ns: pl.Series  # Int64: from that launch's return to the gap's end; null: no launch
    awaited: pl.Series  # Float64: part of the event before in the busy time from the wait's begin on; null: no wait


def verdict(trace: Trace, tree: EventTree, gaps: Gaps, host: HostWork, busy: Intervals) -> Verdict:
    """Return the cause of each gap, by the rules above; ``busy`` is when the device works."""
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["dur_ns"].to_numpy()
    linked = gaps.launch >= 0
    late = linked & (end[gaps.launch] > gaps.start)
    awaited = _awaited(start, end, gaps, host, busy)
    waits, mostly = host.wait >= 0, np.nan_to_num(awaited, nan=0.0) >= 0.5
    comm, copy = _sides(trace, gaps, end[gaps.before] == gaps.start)
    copying = copy.after & (host.wait == gaps.launch)
    call_ns = np.minimum(end[gaps.launch], gaps.end) - np.maximum(start[gaps.launch], gaps.start)
    rules = [
        (~linked, "unknown"),
        (~late & (comm.before | comm.after), "comm"),
        (~late & (copy.before | copy.after), "copy"),
        (~late, "queued"),
        (_doing(trace, tree, host, _LOADING), "loading"),
        (waits & mostly & comm.before, "comm"),
        (waits & ((mostly & copy.before) | copying), "copy"),
        (waits, "sync"),
        (_doing(trace, tree, host, _WAITING_FOR_RANKS), "comm"),
        (copy.after & (2 * call_ns >= gaps.length), "copy"),
        (2 * host.busy_ns >= gaps.length, "launch"),
        ((host.event < 0) & ~host.recorded, "unknown"),
    ]
    cause = np.select([holds for holds, _ in rules], [name for _, name in rules], "host")
    lag = pl.Series(gaps.end - end[gaps.launch], dtype=pl.Int64)
    return Verdict(
        cause,
        pl.Series(late).set(pl.Series(~linked), None),
        lag.set(pl.Series(~linked), None),
        pl.Series(awaited, dtype=pl.Float64).fill_nan(None),
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """Whether the event before and the one after each gap are of a sort."""

    before: Bool
    after: Bool


def _sides(trace: Trace, gaps: Gaps, touches: Bool) -> tuple[_Sides, _Sides]:
    """Which gaps have a collective, and which a copy between host and device, on each side.

    The event before the gap counts where it ``touches`` it: in a part of a trace other work may run in between.
    """
    role = trace.events["role"].to_numpy()
    crossing = trace.names.str.contains(_HOST_COPIES).fill_null(value=False).to_numpy()
    code = trace.events["name"].to_numpy()

    def copies(events: Int64) -> Bool:
        return (role[events] == Role.COPY) & crossing[code[events]]

    return (
        _Sides(touches & (role[gaps.before] == Role.COMM), role[gaps.after] == Role.COMM),
        _Sides(touches & copies(gaps.before), copies(gaps.after)),
    )


def _awaited(start: Int64, end: Int64, gaps: Gaps, host: HostWork, busy: Intervals) -> NDArray[np.float64]:
    """The event before each gap as a part of the device's busy time from the wait's begin to the gap; NaN: no wait."""
    begun = start[host.wait]
    worked = covered(busy, gaps.start) - covered(busy, begun)
    known = (host.wait >= 0) & (worked > 0)
    ran = np.maximum(end[gaps.before] - np.maximum(begun, start[gaps.before]), 0)
    return np.where(known, ran / np.where(known, worked, 1), np.nan)


def _doing(trace: Trace, tree: EventTree, host: HostWork, pattern: str) -> Bool:
    """Whether what the host did in the middle of each gap, or anything around it, has such a name."""
    return under(tree, host.event, named(trace, trace.names.str.contains(pattern), HOST_KINDS))
