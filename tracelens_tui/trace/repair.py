"""Repair impossible times before anything is computed from them; the raw times are kept in ``Trace.repairs``.

What is repaired, and how:

* a negative or missing duration: GPU work gets none and takes no part in the time split; a host event is taken as
  unfinished and ends with the trace;
* work that runs on after a later start on its own stream, which is serial, ends at that start;
* GPU events more than ``FAR_NS`` before the first or ``60 * FAR_NS`` after the last host event move to their launch;
  those without one lose their time;
* durations beyond ``LONGEST_NS`` end with the trace, and so does a GPU event that alone takes longer than ``FAR_NS``
  and lasts more than ``FAR_NS`` beyond everything else.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.links import launch_of, ranks_on_one_gpu
from tracelens_tui.trace.quality import repair_items, with_items
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, REPAIR_SCHEMA, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

FAR_NS = 1_000_000_000
"""Clocks of host and GPU drift apart by milliseconds at most; a record this far off belongs to something else."""

LONGEST_NS = 30 * 24 * 3600 * 1_000_000_000


@dataclass(slots=True)
class _Times:
    """The times of a trace while they are repaired, and what was done to which event."""

    start: Int64
    dur: Int64
    gpu: Bool
    host: Bool
    unfinished: Bool  # host events whose end was never seen
    no_time: Bool  # GPU events without a valid duration
    notes: list[tuple[str, Int64]] = field(default_factory=list)

    def note(self, code: str, where: Bool) -> None:
        if where.any():
            self.notes.append((code, np.flatnonzero(where)))

    def changed(self, trace: Trace) -> bool:
        before = trace.events["start_ns"].to_numpy(), trace.events["dur_ns"].to_numpy()
        return bool(self.notes) or bool((self.start != before[0]).any() or (self.dur != before[1]).any())

    @property
    def end(self) -> Int64:
        return self.start + self.dur


def repaired(trace: Trace) -> Trace:
    """Return the trace with possible times; every change has a row in ``repairs`` and an item in ``quality``.

    Repairing a repaired trace changes nothing.
    """
    times = _times(trace)
    _drop_negative(times)
    _fence(times, trace)
    _serialise(times, trace)
    _close(times)
    result = trace
    if times.changed(trace):
        result = replace(trace, events=_with_times(trace.events, times), repairs=_with_rows(trace, times.notes))
    return replace(result, quality=with_items(trace.quality, repair_items(trace, result)))


def _times(trace: Trace) -> _Times:
    kind = trace.events["kind"].to_numpy()
    gpu, host = np.isin(kind, GPU_KINDS), np.isin(kind, HOST_KINDS)
    missing = np.zeros(len(trace), bool)
    missing[trace.repairs.filter(pl.col("code") == "missing_duration")["event"].to_numpy()] = True
    start, dur = (trace.events[name].to_numpy(writable=True) for name in ("start_ns", "dur_ns"))
    return _Times(start, dur, gpu, host, unfinished=missing & host & (dur == 0), no_time=missing & gpu)


def _drop_negative(times: _Times) -> None:
    negative = times.dur < 0
    times.note("negative_duration", negative)
    times.dur[negative] = 0
    times.no_time |= negative & times.gpu
    times.unfinished |= negative & times.host


def _fence(times: _Times, trace: Trace) -> None:
    """Bring back GPU events that lie far outside of the recorded time."""
    bounds = times.host if times.host.any() else times.gpu & (times.dur > 0)
    sane = bounds & (times.dur < LONGEST_NS)
    if not sane.any():
        return
    first = times.start[sane].min()
    far = times.gpu & (times.start < first - FAR_NS)
    far |= times.gpu & (times.start == 0) & (times.dur == 0) & (first > 0)  # the profiler lost both times
    if times.host.any():
        far |= times.gpu & (times.start > times.end[sane].max() + 60 * FAR_NS)
    if not far.any():
        return
    launch = launch_of(trace)
    lost = far & ((launch < 0) | (times.dur <= 0))
    linked = far & ~lost
    near = times.gpu & ~far
    times.note("kernel_before_launch", linked)
    times.note("missing_duration", lost & ~times.no_time)
    times.start[linked] = times.start[launch[linked]]
    times.start[lost] = times.start[near].min() if near.any() else first
    times.dur[lost] = 0
    times.no_time |= lost


def _serialise(times: _Times, trace: Trace) -> None:
    """End each GPU event at the next start on its stream."""
    if ranks_on_one_gpu(trace):
        return  # what overlaps there is the work of different GPUs
    ids, lane = _lanes(times, trace)
    if not len(ids):
        return
    start, end = times.start[ids], times.end[ids]
    head = np.flatnonzero(np.append(True, (np.diff(start) != 0) | (np.diff(lane) != 0)))
    group = np.repeat(np.arange(len(head)), np.diff(np.append(head, len(ids))))
    following = np.minimum(group + 1, len(head) - 1)  # the group of events that start next
    serial = lane[head[following]] == lane
    overlap = serial & (group != following) & (end > start[head[following]])
    runs_over = overlap & (end > np.maximum.reduceat(end, head)[following])
    for code, where in (("duration_overflow", runs_over), ("stream_overlap", overlap & ~runs_over)):
        marked = np.zeros(len(trace), bool)
        marked[ids[where]] = True
        times.note(code, marked)
    times.dur[ids[overlap]] = (start[head[following]] - start)[overlap]


def _lanes(times: _Times, trace: Trace) -> tuple[Int64, Int64]:
    """GPU events that take time on a known stream, by stream and start, and the number of each one's stream."""
    events = trace.events
    stream, device = events["stream"].to_numpy(), events["device"].to_numpy()
    ids = np.flatnonzero(times.gpu & (times.dur > 0) & (stream >= 0))
    pids = trace.threads["pid"].fill_null("").to_numpy()
    process = np.unique(pids, return_inverse=True)[1].reshape(-1)[events["thread"].to_numpy()[ids]]
    order = np.lexsort((times.start[ids], stream[ids], device[ids], process))
    ids, process = ids[order], process[order]
    new = (np.diff(stream[ids]) != 0) | (np.diff(device[ids]) != 0) | (np.diff(process) != 0)
    return ids, np.cumsum(np.append(0, new))


def _close(times: _Times) -> None:
    """End what has no believable end with the trace."""
    endless = (times.dur >= LONGEST_NS) | _outlasts_all(times)
    times.note("duration_overflow", endless)
    closed = endless | (times.unfinished & ~endless)
    sane = ~closed & ~times.no_time
    if closed.any() and sane.any():
        last = times.end[sane].max()
        times.dur[closed] = np.maximum(last - times.start[closed], 0)
    else:
        times.dur[endless] = 0


def _outlasts_all(times: _Times) -> Bool:
    """GPU events so long after the end of all others, and of the host, that nothing can have waited for them."""
    long = times.gpu & (times.dur > FAR_NS)
    others = (times.host & ~times.unfinished) | (times.gpu & ~long)
    if not long.any() or not times.host.any() or not others.any():
        return np.zeros(len(long), bool)
    return long & (times.end > times.end[others].max() + FAR_NS)


def _with_times(events: pl.DataFrame, times: _Times) -> pl.DataFrame:
    return events.with_columns(pl.Series("start_ns", times.start), pl.Series("dur_ns", times.dur))


def _with_rows(trace: Trace, notes: list[tuple[str, Int64]]) -> pl.DataFrame:
    raw = trace.events.select(raw_start_ns="start_ns", raw_dur_ns="dur_ns")
    rows = [
        raw[ids]
        .with_columns(event=pl.Series(ids), code=pl.lit(code))
        .select(*REPAIR_SCHEMA)
        .cast(dict(REPAIR_SCHEMA.items()))
        for code, ids in notes
    ]
    return pl.concat([trace.repairs, *rows])
