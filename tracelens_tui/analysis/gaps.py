"""The times at which a device has nothing to do, and what its host threads did meanwhile.

The cause of a gap is read from the threads that launch on the device:

* ``unknown``: the event at the gap's end has no launch in the trace, or its launch had returned before the gap began,
  so that the host was not what the device waited for; or only runtime calls were recorded and none explains it;
* ``host``: the thread was loading data, whatever else it did;
* ``sync``: a call that waits for the device, or copies and waits, let the queue run empty;
* ``launch``: for at least half of the gap the thread was inside ops and runtime calls, busy with launching;
* ``host``: anything else, such as Python code.

The thread asked is the one that launches next.  Where it is not launching and in nothing at the gap's middle, another
one may have held it up (the autograd thread gets its work from the main thread): then the one that launched last is
asked, then those that launch most.  A wait counts on the launching thread if it is active when the gap begins or at
its middle, and on another thread if it begins before the gap and returns in it, before the next launch, while the
launching thread is in no op or call of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import GAPS_SCHEMA
from tracelens_tui.trace.intervals import Intervals, covered, union
from tracelens_tui.trace.links import last_at_or_before
from tracelens_tui.trace.navigate import innermost_at
from tracelens_tui.trace.steps import steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, LAUNCH_KINDS, Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_LOADING = "(?i)dataloader"
_BUSIEST = 4  # launching threads that are asked besides the one that launches next and the one that launched last


@dataclass(frozen=True, slots=True)
class _Gaps:
    start: Int64
    end: Int64
    before: Int64  # event ids
    after: Int64
    launch: Int64  # of the event after; -1 none
    thread: Int64  # of that launch; -1 none

    @property
    def middle(self) -> Int64:
        return self.start + (self.end - self.start) // 2


@dataclass(frozen=True, slots=True)
class _Asked:
    """The host thread that explains each gap, and its innermost event at the gap's middle; -1 none."""

    thread: Int64
    event: Int64


def idle_gaps(trace: Trace, tree: EventTree, device: int) -> pl.DataFrame:
    """Return the gaps between the busy intervals of a device, longest first (``GAPS_SCHEMA``).

    The gaps add up to the idle time of the device's window.
    """
    gaps = _gaps(trace, tree, device)
    threads = _launching_threads(trace, tree, device)
    asked = _asked(trace, tree, gaps, threads)
    wait = _waits(trace, gaps, threads)
    cause = _causes(trace, tree, gaps, asked, wait)
    frame = pl.DataFrame(
        {
            "device": np.full(len(cause), device),
            "start_ns": gaps.start,
            "dur_ns": gaps.end - gaps.start,
            "before_event": gaps.before,
            "after_event": gaps.after,
            "cause": cause.tolist(),
            "host_event": pl.Series(np.where(cause == "sync", wait, asked.event), dtype=pl.Int64),
            "in_step": _in_step(trace, tree, gaps),
        }
    ).with_columns(pl.when(pl.col("host_event") >= 0).then("host_event"))
    return frame.cast(dict(GAPS_SCHEMA.items())).sort("dur_ns", "start_ns", descending=[True, False])


def _gaps(trace: Trace, tree: EventTree, device: int) -> _Gaps:
    events = trace.events.with_row_index("event")
    gpu = events.filter(pl.col("kind").is_in(GPU_KINDS) & (pl.col("device") == device) & (pl.col("dur_ns") > 0))
    gpu = gpu.select("event", "start_ns", end=pl.col("start_ns") + pl.col("dur_ns")).sort("start_ns", "event")
    event, start, end = gpu["event"].to_numpy().astype(np.int64), gpu["start_ns"].to_numpy(), gpu["end"].to_numpy()
    reach = np.maximum.accumulate(end)
    last = np.maximum.accumulate(np.where(end == reach, np.arange(len(end)), 0))
    after = np.flatnonzero(start[1:] > reach[:-1]) + 1
    launch = tree.launch[event[after]].astype(np.int64)
    thread = _launcher(trace, launch)
    return _Gaps(reach[after - 1], start[after], event[last[after - 1]], event[after], launch, thread)


def _launcher(trace: Trace, launch: Int64) -> Int64:
    """The thread of each launch, -1 where there is none."""
    return np.where(launch >= 0, trace.events["thread"].to_numpy()[launch], -1).astype(np.int64)


def _launching_threads(trace: Trace, tree: EventTree, device: int) -> Int64:
    """The threads that launch on the device, those with most launches first."""
    launch = tree.launch[trace.events["device"].to_numpy() == device]
    thread, count = np.unique(trace.events["thread"].to_numpy()[launch[launch >= 0]], return_counts=True)
    return thread[np.lexsort((thread, -count))].astype(np.int64)


def _asked(trace: Trace, tree: EventTree, gaps: _Gaps, threads: Int64) -> _Asked:
    """The launching thread where it did anything in the gap, else the first of the others that was active."""
    thread, event = gaps.thread.copy(), innermost_at(trace, tree, gaps.thread, gaps.middle)
    if len(threads) < 2:
        return _Asked(thread, event)
    silent = np.flatnonzero((thread >= 0) & (event < 0) & ~_launching(trace, gaps, thread))
    last = _launcher(trace, tree.launch[gaps.before[silent]].astype(np.int64))
    others = np.vstack((last, *(np.full(len(silent), one) for one in threads[:_BUSIEST])))
    found = innermost_at(trace, tree, others.ravel(), np.tile(gaps.middle[silent], len(others))).reshape(others.shape)
    first = (found >= 0).argmax(axis=0), np.arange(len(silent))
    active = found[first] >= 0
    thread[silent[active]], event[silent[active]] = others[first][active], found[first][active]
    return _Asked(thread, event)


def _causes(trace: Trace, tree: EventTree, gaps: _Gaps, asked: _Asked, wait: Int64) -> NDArray[np.str_]:
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["dur_ns"].to_numpy()
    late = (gaps.launch >= 0) & (end[gaps.launch] > gaps.start)
    loading = _under(tree, asked.event, _named(trace, trace.names.str.contains(_LOADING), HOST_KINDS))
    launching = _launching(trace, gaps, asked.thread)
    silent = (asked.event < 0) & ~_records_work(trace, asked.thread)
    choices = [~late, loading, wait >= 0, launching, silent]
    return np.select(choices, ["unknown", "host", "sync", "launch", "unknown"], "host")


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


def _waits(trace: Trace, gaps: _Gaps, threads: Int64) -> Int64:
    """The waiting call that let the queue run empty before or in each gap, -1 where there is none."""
    events = trace.events
    calls = np.flatnonzero(_named(trace, _waiting_names(trace.names), LAUNCH_KINDS))
    calls = calls[np.isin(events["thread"].to_numpy()[calls], threads)]
    start = events["start_ns"].to_numpy()[calls]
    end = start + events["dur_ns"].to_numpy()[calls]
    owner = events["thread"].to_numpy()[calls].astype(np.int64)
    found = _waits_elsewhere(trace, gaps, start, end)
    for time in (gaps.middle, gaps.start):
        call = last_at_or_before(owner, start, gaps.thread, time)
        active = call >= 0
        active[active] = end[call[active]] > time[active]
        found[active] = call[active]
    return np.where(found >= 0, np.append(calls, -1)[found], -1)


def _waits_elsewhere(trace: Trace, gaps: _Gaps, start: Int64, end: Int64) -> Int64:
    """For each gap the last of the calls that begins before it and returns in it, before the next launch; -1 none.

    What the launching thread does in an op or call of its own when the gap begins, it does without being told.
    """
    found = np.full(len(gaps.start), -1, np.int64)
    if not len(found) or not len(start):
        return found
    launched = trace.events["start_ns"].to_numpy()[gaps.launch]
    free = (gaps.launch >= 0) & ~_in_ops(trace, gaps.thread, gaps.start)
    gap = np.searchsorted(gaps.start, end, "left") - 1
    fits = (gap >= 0) & (start <= gaps.start[gap]) & (end <= launched[gap]) & free[gap]
    fitting = np.flatnonzero(fits)
    fitting = fitting[np.argsort(end[fitting], kind="stable")]
    np.maximum.at(found, gap[fitting], np.arange(len(fitting)))
    return np.where(found >= 0, np.append(fitting, -1)[found], -1)


def _in_ops(trace: Trace, thread: Int64, time: Int64) -> Bool:
    """Whether each thread is inside an op or a runtime call at a time."""
    inside = np.zeros(len(thread), bool)
    for mine, (start, end) in _work(trace, thread):
        place = np.searchsorted(start, time[mine], "right") - 1
        inside[mine] = (place >= 0) & (time[mine] < np.append(end, 0)[place])
    return inside


def _launching(trace: Trace, gaps: _Gaps, thread: Int64) -> Bool:
    """Whether each thread was inside ops and runtime calls for at least half of the gap."""
    inside = np.zeros(len(thread), np.int64)
    for mine, busy in _work(trace, thread):
        inside[mine] = covered(busy, gaps.end[mine]) - covered(busy, gaps.start[mine])
    return 2 * inside >= gaps.end - gaps.start


def _work(trace: Trace, thread: Int64) -> Iterator[tuple[Bool, Intervals]]:
    """For each of the threads: where it stands in the list, and when it is inside ops and runtime calls."""
    events = trace.events
    kind, owner = events["kind"].to_numpy(), events["thread"].to_numpy()
    start = events["start_ns"].to_numpy()
    end = start + events["dur_ns"].to_numpy()
    inside = np.isin(kind, (Kind.CPU_OP, *LAUNCH_KINDS))
    for number in np.unique(thread[thread >= 0]).tolist():
        work = inside & (owner == number)
        yield thread == number, union(start[work], end[work])


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
