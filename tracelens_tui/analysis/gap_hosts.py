"""What the host threads that launch on a device did while it was idle.

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

from tracelens_tui.trace.intervals import Intervals, covered, union
from tracelens_tui.trace.links import last_at_or_before
from tracelens_tui.trace.navigate import innermost_at
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import HOST_KINDS, LAUNCH_KINDS, Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_BUSIEST = 4  # launching threads that are asked besides the one that launches next and the one that launched last


@dataclass(frozen=True, slots=True)
class Gaps:
    """The idle times of a device, by start."""

    start: Int64
    end: Int64
    before: Int64  # event ids
    after: Int64
    launch: Int64  # of the event after; -1 none
    thread: Int64  # of that launch; -1 none

    @property
    def middle(self) -> Int64:
        """Where half of each gap has passed."""
        return self.start + (self.end - self.start) // 2

    @property
    def length(self) -> Int64:
        """The length of each gap in ns."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class HostWork:
    """What the host did in each gap; -1 none."""

    thread: Int64  # the one asked
    event: Int64  # its innermost event at the gap's middle
    wait: Int64  # the waiting call that let the queue run empty
    busy_ns: Int64  # how long the thread was inside ops and runtime calls
    recorded: Bool  # whether anything but runtime calls was recorded on the thread, so that its silence means Python


def host_work(trace: Trace, tree: EventTree, gaps: Gaps, device: int) -> HostWork:
    """Return what the threads that launch on the device did in each of its gaps."""
    threads = _launching_threads(trace, tree, device)
    thread, event = _asked(trace, tree, gaps, threads)
    return HostWork(
        thread, event, _waits(trace, gaps, threads), _busy_ns(trace, gaps, thread), _records_work(trace, thread)
    )


def launcher(trace: Trace, launch: Int64) -> Int64:
    """Return the thread of each launch, -1 where there is none."""
    return np.where(launch >= 0, trace.events["thread"].to_numpy()[launch], -1).astype(np.int64)


def named(trace: Trace, names: pl.Series, kinds: tuple[Kind, ...]) -> Bool:
    """Return which events of the kinds have one of the marked names."""
    of_kind = np.isin(trace.events["kind"].to_numpy(), kinds)
    return of_kind & names.fill_null(value=False).to_numpy()[trace.events["name"].to_numpy()]


def under(tree: EventTree, events: Int64, marked: Bool) -> Bool:
    """Return whether each event (-1 none) or one of its ancestors is marked."""
    found = np.zeros(len(events), bool)
    current = events.copy()
    while (current >= 0).any():
        found |= (current >= 0) & marked[current]
        current = np.where((current >= 0) & ~found, tree.parent[current], -1)
    return found


def _launching_threads(trace: Trace, tree: EventTree, device: int) -> Int64:
    """The threads that launch on the device, those with most launches first."""
    launch = tree.launch[trace.events["device"].to_numpy() == device]
    thread, count = np.unique(trace.events["thread"].to_numpy()[launch[launch >= 0]], return_counts=True)
    return thread[np.lexsort((thread, -count))].astype(np.int64)


def _asked(trace: Trace, tree: EventTree, gaps: Gaps, threads: Int64) -> tuple[Int64, Int64]:
    """The launching thread where it did anything in the gap, else the first of the others that was active."""
    thread, event = gaps.thread.copy(), innermost_at(trace, tree, gaps.thread, gaps.middle)
    if len(threads) < 2:
        return thread, event
    launching = 2 * _busy_ns(trace, gaps, thread) >= gaps.length
    silent = np.flatnonzero((thread >= 0) & (event < 0) & ~launching)
    last = launcher(trace, tree.launch[gaps.before[silent]].astype(np.int64))
    others = np.vstack((last, *(np.full(len(silent), one) for one in threads[:_BUSIEST])))
    found = innermost_at(trace, tree, others.ravel(), np.tile(gaps.middle[silent], len(others))).reshape(others.shape)
    first = (found >= 0).argmax(axis=0), np.arange(len(silent))
    active = found[first] >= 0
    thread[silent[active]], event[silent[active]] = others[first][active], found[first][active]
    return thread, event


def _waiting_names(names: pl.Series) -> pl.Series:
    copies = names.str.contains("(?i)memcpy") & ~names.str.contains("(?i)async")
    return (
        copies | names.str.contains("(?i)synchronize") | names.str.contains("^(?:cuda|hip)(?:Free|FreeHost|HostFree)$")
    )


def _records_work(trace: Trace, thread: Int64) -> Bool:
    """Whether anything but runtime calls was recorded on each thread."""
    working = np.isin(trace.events["kind"].to_numpy(), [kind for kind in HOST_KINDS if kind not in LAUNCH_KINDS])
    return np.isin(thread, np.unique(trace.events["thread"].to_numpy()[working]))


def _waits(trace: Trace, gaps: Gaps, threads: Int64) -> Int64:
    """The waiting call that let the queue run empty before or in each gap, -1 where there is none."""
    events = trace.events
    calls = np.flatnonzero(named(trace, _waiting_names(trace.names), LAUNCH_KINDS))
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


def _waits_elsewhere(trace: Trace, gaps: Gaps, start: Int64, end: Int64) -> Int64:
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


def _busy_ns(trace: Trace, gaps: Gaps, thread: Int64) -> Int64:
    """How long each thread was inside ops and runtime calls in its gap."""
    inside = np.zeros(len(thread), np.int64)
    for mine, busy in _work(trace, thread):
        inside[mine] = covered(busy, gaps.end[mine]) - covered(busy, gaps.start[mine])
    return inside


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
