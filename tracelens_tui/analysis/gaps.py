"""The times at which a device has nothing to do, and what its host thread did meanwhile.

The cause of a gap is read from the thread that launches the event at its end:

* ``unknown``: that event has no launch in the trace, or its launch had returned before the gap began, so that the
  host was not what the device waited for; or only runtime calls were recorded on that thread and none explains it;
* ``host``: the thread was loading data, whatever else it did;
* ``sync``: a call that waits for the device, or copies and waits, was active when the gap began or at its middle: it
  let the queue run empty;
* ``launch``: for at least half of the gap the thread was inside ops and runtime calls, busy with launching;
* ``host``: anything else, such as Python code.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import GAPS_SCHEMA
from tracelens_tui.trace.intervals import covered, union
from tracelens_tui.trace.links import last_at_or_before
from tracelens_tui.trace.navigate import innermost_at
from tracelens_tui.trace.steps import steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, LAUNCH_KINDS, Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_LOADING = "(?i)dataloader"


@dataclass(frozen=True, slots=True)
class _Gaps:
    start: Int64
    end: Int64
    before: Int64  # event ids
    after: Int64

    @property
    def middle(self) -> Int64:
        return self.start + (self.end - self.start) // 2


def idle_gaps(trace: Trace, tree: EventTree, device: int) -> pl.DataFrame:
    """Return the gaps between the busy intervals of a device, longest first (``GAPS_SCHEMA``).

    The gaps add up to the idle time of the device's window.
    """
    gaps = _gaps(trace, device)
    launch = tree.launch[gaps.after].astype(np.int64)
    thread = np.where(launch >= 0, trace.events["thread"].to_numpy()[launch], -1).astype(np.int64)
    host_event = innermost_at(trace, tree, thread, gaps.middle)
    frame = pl.DataFrame(
        {
            "device": np.full(len(launch), device),
            "start_ns": gaps.start,
            "dur_ns": gaps.end - gaps.start,
            "before_event": gaps.before,
            "after_event": gaps.after,
            "cause": _causes(trace, tree, gaps, launch, thread, host_event),
            "host_event": pl.Series(host_event, dtype=pl.Int64),
            "in_step": _in_step(trace, tree, gaps),
        }
    ).with_columns(pl.when(pl.col("host_event") >= 0).then("host_event"))
    return frame.cast(dict(GAPS_SCHEMA.items())).sort("dur_ns", "start_ns", descending=[True, False])


def _gaps(trace: Trace, device: int) -> _Gaps:
    events = trace.events.with_row_index("event")
    gpu = events.filter(pl.col("kind").is_in(GPU_KINDS) & (pl.col("device") == device) & (pl.col("dur_ns") > 0))
    gpu = gpu.select("event", "start_ns", end=pl.col("start_ns") + pl.col("dur_ns")).sort("start_ns", "event")
    event, start, end = gpu["event"].to_numpy().astype(np.int64), gpu["start_ns"].to_numpy(), gpu["end"].to_numpy()
    reach = np.maximum.accumulate(end)
    last = np.maximum.accumulate(np.where(end == reach, np.arange(len(end)), 0))
    after = np.flatnonzero(start[1:] > reach[:-1]) + 1
    return _Gaps(reach[after - 1], start[after], event[last[after - 1]], event[after])


def _causes(trace: Trace, tree: EventTree, gaps: _Gaps, launch: Int64, thread: Int64, host_event: Int64) -> list[str]:
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["dur_ns"].to_numpy()
    late = (launch >= 0) & (end[launch] > gaps.start)
    loading = _under(tree, host_event, _named(trace, trace.names.str.contains(_LOADING), HOST_KINDS))
    waiting = _waits(trace, gaps, thread)
    working = _time_in_ops(trace, gaps, thread)
    launching = 2 * working >= gaps.end - gaps.start
    silent = (host_event < 0) & ~_records_work(trace, thread)
    choices = [~late, loading, waiting, launching, silent]
    return np.select(choices, ["unknown", "host", "sync", "launch", "unknown"], "host").tolist()


def _named(trace: Trace, names: pl.Series, kinds: tuple[Kind, ...]) -> Bool:
    """Which events of the kinds have one of the marked names."""
    of_kind = np.isin(trace.events["kind"].to_numpy(), kinds)
    return of_kind & names.fill_null(value=False).to_numpy()[trace.events["name"].to_numpy()]


def _waiting_names(names: pl.Series) -> pl.Series:
    copies = names.str.contains("(?i)memcpy") & ~names.str.contains("(?i)async")
    return (
        copies | names.str.contains("(?i)synchronize") | names.str.contains("^(?:cuda|hip)(?:Free|FreeHost|HostFree)$")
    )


def _records_work(trace: Trace, thread: Int64) -> Bool:
    """Whether anything but runtime calls was recorded on each thread, so that its silence means Python code."""
    working = np.isin(trace.events["kind"].to_numpy(), [kind for kind in HOST_KINDS if kind not in LAUNCH_KINDS])
    return np.isin(thread, np.unique(trace.events["thread"].to_numpy()[working]))


def _under(tree: EventTree, events: Int64, marked: Bool) -> Bool:
    """Whether each event (-1 none) or one of its ancestors is marked."""
    found = np.zeros(len(events), bool)
    current = events.copy()
    while (current >= 0).any():
        found |= (current >= 0) & marked[current]
        current = np.where((current >= 0) & ~found, tree.parent[current], -1)
    return found


def _waits(trace: Trace, gaps: _Gaps, thread: Int64) -> Bool:
    """Whether a waiting call of the thread is active at the start or in the middle of each gap."""
    calls = np.flatnonzero(_named(trace, _waiting_names(trace.names), LAUNCH_KINDS))
    start = trace.events["start_ns"].to_numpy()[calls]
    end = start + trace.events["dur_ns"].to_numpy()[calls]
    owner = trace.events["thread"].to_numpy()[calls].astype(np.int64)
    active = np.zeros(len(thread), bool)
    for time in (gaps.start, gaps.middle):
        call = last_at_or_before(owner, start, thread, time)
        active[call >= 0] |= end[call[call >= 0]] > time[call >= 0]
    return active


def _time_in_ops(trace: Trace, gaps: _Gaps, thread: Int64) -> Int64:
    """How many ns of each gap its thread was inside an op or a runtime call."""
    events = trace.events
    kind, owner = events["kind"].to_numpy(), events["thread"].to_numpy()
    start = events["start_ns"].to_numpy()
    end = start + events["dur_ns"].to_numpy()
    inside = np.isin(kind, (Kind.CPU_OP, *LAUNCH_KINDS))
    out = np.zeros(len(thread), np.int64)
    for number in np.unique(thread[thread >= 0]).tolist():
        mine = thread == number
        work = inside & (owner == number)
        busy = union(start[work], end[work])
        out[mine] = covered(busy, gaps.end[mine]) - covered(busy, gaps.start[mine])
    return out


def _in_step(trace: Trace, tree: EventTree, gaps: _Gaps) -> Bool:
    """Whether the middle of each gap lies in a step: from its begin on the host to the end of the work it launched."""
    found = steps(trace)
    if not found.height:
        return np.ones(len(gaps.start), bool)
    first, last = found["start_ns"].to_numpy(), found["end_ns"].to_numpy(writable=True)
    linked = np.flatnonzero(tree.launch >= 0)
    start = trace.events["start_ns"].to_numpy()
    launched = start[tree.launch[linked]]
    step = np.searchsorted(first, launched, "right") - 1
    owned = (step >= 0) & (launched < last[step])
    end = start[linked] + trace.events["dur_ns"].to_numpy()[linked]
    np.maximum.at(last, step[owned], end[owned])
    low, high = union(first, last)
    place = np.searchsorted(low, gaps.middle, "right") - 1
    return (place >= 0) & (gaps.middle < high[place])
