"""The time split of each step on each device: that of the GPU work which was launched in the step; exact in ns."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import STEPS_SCHEMA, conform
from tracelens_tui.analysis.timesplit import without_time
from tracelens_tui.trace.intervals import covered, segmented_union_length, union
from tracelens_tui.trace.step_work import StepWork, step_work
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Kind, Role, Trace

Int64 = NDArray[np.int64]


def step_split(trace: Trace, tree: EventTree) -> pl.DataFrame:
    """Return the split of every step (``STEPS_SCHEMA``): a row for each device that the step's process drives.

    A step without GPU work on a device has a row with counts of 0 and without times; where its process drives no
    device, ``device`` is null too.  Each GPU event counts in one step at most.
    """
    work = step_work(trace, tree)
    if not work.steps.height:
        return pl.DataFrame(schema=STEPS_SCHEMA)
    gpu = _gpu(trace, work)
    rows = _rows(work, gpu)
    mine = gpu.join(rows.select("row", "place", "device"), on=["place", "device"], maintain_order="left")
    counts = mine.group_by("row").agg(kernels=(pl.col("kind") == Kind.KERNEL).sum(), gpu_events=pl.len())
    times = _times(mine.filter("timed"), gpu.filter("timed"), rows.height)
    frame = rows.join(counts, on="row", how="left", maintain_order="left").join(
        times, on="row", how="left", maintain_order="left"
    )
    host = pl.col("end_ns") - pl.col("start_ns") if work.on_host else pl.lit(None, pl.Int64)
    return conform(frame.with_columns(pl.col("kernels", "gpu_events").fill_null(0), host_ns=host), STEPS_SCHEMA)


def _gpu(trace: Trace, work: StepWork) -> pl.DataFrame:
    """Every GPU event: place (row of the steps, null = in none), process, device, kind, role, start, end, timed."""
    events = trace.events.select("device", "kind", "role", start="start_ns", end=pl.col("start_ns") + pl.col("dur_ns"))
    place = pl.Series(work.step).cast(pl.Int64)
    return events[work.event].with_columns(
        place=place.set(place < 0, None),
        process=pl.Series(work.process),
        timed=~np.isin(work.event, without_time(trace).to_numpy()),
    )


def _rows(work: StepWork, gpu: pl.DataFrame) -> pl.DataFrame:
    """The steps with each device that their process drives: row, place, event, step, device, start and end."""
    driven = gpu.select("process", "device").unique().sort("process", "device")
    steps = work.steps.rename({"number": "step"}).with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
    return steps.join(driven, on="process", how="left").sort("place", "device").with_row_index("row")


def _times(mine: pl.DataFrame, gpu: pl.DataFrame, rows: int) -> pl.DataFrame:
    """The times of the rows that have GPU work; ``gpu`` is that of all steps and of none."""
    row, role = mine["row"].to_numpy(), mine["role"].to_numpy()
    start, end = mine["start"].to_numpy(), mine["end"].to_numpy()

    def length(*roles: Role) -> Int64:
        of = np.isin(role, roles)
        return segmented_union_length(row[of], start[of], end[of], rows)

    compute, kernels, busy = length(Role.COMPUTE), length(Role.COMPUTE, Role.COMM), length(*Role)
    found = mine.group_by("row").agg(pl.col("device").first(), pl.col("start").min(), pl.col("end").max()).sort("row")
    at = found["row"].to_numpy()
    window = (found["end"] - found["start"]).to_numpy()
    return pl.DataFrame(
        {
            "row": found["row"],
            "gpu_start_ns": found["start"],
            "window_ns": window,
            "busy_ns": busy[at],
            "idle_ns": window - busy[at],
            "compute_ns": compute[at],
            "comm_ns": length(Role.COMM)[at],
            "exposed_comm_ns": (kernels - compute)[at],
            "memcpy_ns": length(Role.COPY)[at],
            "exposed_memcpy_ns": (busy - kernels)[at],
            "elsewhere_ns": _device_busy(found, gpu) - busy[at],
        }
    )


def _device_busy(found: pl.DataFrame, gpu: pl.DataFrame) -> Int64:
    """How long the device of each row is busy in the row's window, with whatever work."""
    out = np.zeros(found.height, np.int64)
    device, start, end = (found[name].to_numpy() for name in ("device", "start", "end"))
    for number in np.unique(device).tolist():
        work = gpu.filter(pl.col("device") == number)
        busy = union(work["start"].to_numpy(), work["end"].to_numpy())
        mine = device == number
        out[mine] = covered(busy, end[mine]) - covered(busy, start[mine])
    return out
