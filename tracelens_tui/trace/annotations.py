"""The ranges that a program marks, the profiler's steps among them, and the GPU work launched in each.

To an annotation belongs the GPU work whose launch its process calls while it lasts, on whatever thread and whenever the
work runs.  Work whose launch is not known belongs to none.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.processes import processes
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Kind, Trace

Int64 = NDArray[np.int64]

ANNOTATION_SCHEMA: dict[str, type[pl.DataType]] = {
    "event": pl.UInt32,  # the annotation
    "name": pl.String,
    "thread": pl.UInt32,  # row of Trace.threads
    "start_ns": pl.Int64,  # on the host
    "end_ns": pl.Int64,
    "gpu_start_ns": pl.Int64,  # where the first work that was launched in it begins; null where there is none
    "gpu_end_ns": pl.Int64,  # where the last of it ends
    "gpu_ns": pl.Int64,  # sum of its durations
    "gpu_count": pl.Int64,  # GPU events
    "kernels": pl.Int64,  # those of them that are kernels
}


def annotation_table(trace: Trace, tree: EventTree) -> pl.DataFrame:
    """Return the user annotations of the host by start (``ANNOTATION_SCHEMA``), steps among them."""
    events = trace.events
    kind, start, dur = (events[name].to_numpy() for name in ("kind", "start_ns", "dur_ns"))
    marks = np.flatnonzero(kind == Kind.USER_ANNOTATION)
    marks = marks[np.argsort(start[marks], kind="stable")]
    if not len(marks):
        return pl.DataFrame(schema=ANNOTATION_SCHEMA)
    process, gpu = processes(trace), np.flatnonzero(tree.launch >= 0)
    gpu = gpu[np.lexsort((start[tree.launch[gpu]], process[tree.launch[gpu]]))]
    home, time = process[tree.launch[gpu]], start[tree.launch[gpu]]
    low = _places(home, time, process[marks], start[marks])
    high = np.maximum(low, _places(home, time, process[marks], start[marks] + dur[marks]))
    some = high > low
    sums = {"gpu_ns": dur[gpu], "gpu_count": np.ones(len(gpu), np.int64), "kernels": kind[gpu] == Kind.KERNEL}
    bounds = {
        "gpu_start_ns": range_min(start[gpu], low[some], high[some]),
        "gpu_end_ns": -range_min(-(start + dur)[gpu], low[some], high[some]),
    }
    columns = {
        "event": marks,
        "name": trace.names.gather(events["name"].gather(marks)),
        "thread": events["thread"].gather(marks),
        "start_ns": start[marks],
        "end_ns": start[marks] + dur[marks],
        **{name: _where(some, values) for name, values in bounds.items()},
        **{name: _range_sum(values, low, high) for name, values in sums.items()},
    }
    return pl.DataFrame(columns).cast(pl.Schema(ANNOTATION_SCHEMA))


def annotations_around(trace: Trace, tree: EventTree, table: pl.DataFrame, event: int) -> list[str]:
    """Return the annotations of a table during which an event began, or its launch if it has one, outermost first.

    They are those of the event's process, on whatever thread; itself is not among them.
    """
    launch = int(tree.launch[event])
    cause = launch if launch >= 0 else event
    pid = trace.threads["pid"]
    time, home = trace.events["start_ns"][cause], pid[int(trace.events["thread"][cause])]
    during = table.filter(
        pl.col("start_ns") <= time,
        pl.col("end_ns") > time,
        pl.col("event") != event,
        pl.col("thread").is_in((pid == home).arg_true().to_list()),
    )
    return during.sort("start_ns", pl.col("end_ns"), descending=[False, True])["name"].to_list()


def _places(group: Int64, time: Int64, asked: Int64, at: Int64) -> Int64:
    """How many entries, sorted by group and time, lie before each asked time of a group."""
    place = np.zeros(len(asked), np.int64)
    for number in np.unique(asked).tolist():
        low, high = np.searchsorted(group, (number, number + 1))
        mine = asked == number
        place[mine] = low + np.searchsorted(time[low:high], at[mine])
    return place


def _range_sum(values: NDArray[np.generic], low: Int64, high: Int64) -> Int64:
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)))
    return before[high] - before[low]


def _where(some: NDArray[np.bool_], values: Int64) -> pl.Series:
    """The values where there are some, null elsewhere."""
    return pl.repeat(None, len(some), dtype=pl.Int64, eager=True).scatter(np.flatnonzero(some), values)


def range_min(values: Int64, low: Int64, high: Int64) -> Int64:
    """Return the least value of each range ``[low, high)``, none of which is empty; ranges may overlap at will.

    A range is covered by two whose length is a power of two; those are made length by length.
    """
    least = values.copy()
    out = np.empty(len(low), np.int64)
    power = np.frexp(high - low)[1] - 1  # the length is at least 2 ** power and less than twice that
    for step in range(int(power.max(initial=-1)) + 1):
        if step:
            half = 1 << (step - 1)
            least = np.minimum(least[:-half], least[half:])
        mine = power == step
        out[mine] = np.minimum(least[low[mine]], least[high[mine] - (1 << step)])
    return out
