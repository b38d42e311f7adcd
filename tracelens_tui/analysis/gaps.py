"""The times at which a device has nothing to do, and why."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.gap_causes import verdict
from tracelens_tui.analysis.gap_hosts import Gaps, host_work, launcher
from tracelens_tui.analysis.model import GAPS_SCHEMA
from tracelens_tui.trace.intervals import Intervals, subtract, union
from tracelens_tui.trace.steps import steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


def idle_gaps(trace: Trace, tree: EventTree, device: int, elsewhere: Intervals | None = None) -> pl.DataFrame:
    """Return the gaps between the busy intervals of a device, longest first (``GAPS_SCHEMA``).

    The gaps add up to the idle time of the device's window.  Where the trace is a part of one, the time ``elsewhere``
    in which the device works outside of the part is no gap; what is left of one that such work ends has the cause
    unknown.
    """
    gaps = _gaps(trace, tree, device)
    if elsewhere is not None:
        gaps = _without(gaps, elsewhere)
    host = host_work(trace, tree, gaps, device)
    found = verdict(trace, tree, gaps, host, _busy(trace, device))
    waited = np.isin(found.cause, ("sync", "copy", "comm")) & found.queue_empty.fill_null(value=False).to_numpy()
    frame = pl.DataFrame(
        {
            "device": np.full(len(gaps.start), device),
            "start_ns": gaps.start,
            "dur_ns": gaps.length,
            "before_event": gaps.before,
            "after_event": gaps.after,
            "cause": found.cause.tolist(),
            "host_event": pl.Series(np.where(waited & (host.wait >= 0), host.wait, host.event), dtype=pl.Int64),
            "in_step": _in_step(trace, tree, gaps),
            "queue_empty": found.queue_empty,
            "launch_lag_ns": found.launch_lag_ns,
            "host_busy_ns": host.busy_ns,
            "awaited": found.awaited,
        }
    ).with_columns(pl.when(pl.col("host_event") >= 0).then("host_event"))
    return frame.cast(dict(GAPS_SCHEMA.items())).sort("dur_ns", "start_ns", descending=[True, False])


def _gaps(trace: Trace, tree: EventTree, device: int) -> Gaps:
    events = trace.events.with_row_index("event")
    gpu = events.filter(pl.col("kind").is_in(GPU_KINDS) & (pl.col("device") == device) & (pl.col("dur_ns") > 0))
    gpu = gpu.select("event", "start_ns", end=pl.col("start_ns") + pl.col("dur_ns")).sort("start_ns", "event")
    event, start, end = gpu["event"].to_numpy().astype(np.int64), gpu["start_ns"].to_numpy(), gpu["end"].to_numpy()
    reach = np.maximum.accumulate(end)
    last = np.maximum.accumulate(np.where(end == reach, np.arange(len(end)), 0))
    after = np.flatnonzero(start[1:] > reach[:-1]) + 1
    launch = tree.launch[event[after]].astype(np.int64)
    thread = launcher(trace, launch)
    return Gaps(reach[after - 1], start[after], event[last[after - 1]], event[after], launch, thread)


def _busy(trace: Trace, device: int) -> Intervals:
    work = trace.events.filter(pl.col("kind").is_in(GPU_KINDS) & (pl.col("device") == device))
    start = work["start_ns"].to_numpy()
    return union(start, start + work["dur_ns"].to_numpy())


def _without(gaps: Gaps, elsewhere: Intervals) -> Gaps:
    """What is left of the gaps; before and after stay the part's own events."""
    start, end = subtract((gaps.start, gaps.end), elsewhere)
    gap = np.searchsorted(gaps.start, start, "right") - 1
    launch, thread = (
        np.where(end == gaps.end[gap], ids[gap], -1).astype(np.int64) for ids in (gaps.launch, gaps.thread)
    )
    return Gaps(start, end, gaps.before[gap], gaps.after[gap], launch, thread)


def _in_step(trace: Trace, tree: EventTree, gaps: Gaps) -> Bool:
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
    if not len(low):  # steps without a length hold nothing
        return np.zeros(len(gaps.start), bool)
    place = np.searchsorted(low, gaps.middle, "right") - 1
    return (place >= 0) & (gaps.middle < high[place])
