"""The time split of each device: busy, idle, compute, exposed communication, exposed copies; exact in ns."""

import numpy as np
import polars as pl

from tracelens_tui.analysis.model import TimeSplit
from tracelens_tui.trace.intervals import total
from tracelens_tui.trace.types import GPU_KINDS, Role, Trace

_NO_TIME = ("negative_duration", "missing_duration")
"""GPU events with these repairs have no known extent: they take no part in the split, not even in its window."""


def time_split(trace: Trace) -> dict[int, TimeSplit]:
    """Return the split of each device in ns, by device id; empty in a trace without GPU events.

    A difference of unions needs no subtraction of intervals: comm minus compute is the union of both less compute.
    """
    return _splits(_gpu(trace).filter(~pl.col("event").is_in(without_time(trace).implode())))


def raw_time_split(trace: Trace) -> dict[int, TimeSplit]:
    """Return the split by the times in the file, before repairs; events without a valid duration are left out."""
    raw = trace.repairs.group_by("event", maintain_order=True).first()
    gpu = (
        _gpu(trace)
        .join(raw, on="event", how="left")
        .select(
            "device",
            "role",
            pl.coalesce("raw_start_ns", "start_ns").alias("start_ns"),
            pl.when(pl.col("code").is_null()).then("dur_ns").otherwise("raw_dur_ns").alias("dur_ns"),
        )
    )
    return _splits(gpu.filter(pl.col("dur_ns") >= 0))


def without_time(trace: Trace) -> pl.Series:
    """Return the events without a valid duration in the file."""
    return trace.repairs.filter(pl.col("code").is_in(_NO_TIME))["event"]


def _gpu(trace: Trace) -> pl.DataFrame:
    columns = ("device", "role", "start_ns", "dur_ns")
    return trace.events.with_row_index("event").filter(pl.col("kind").is_in(GPU_KINDS)).select("event", *columns)


def _splits(gpu: pl.DataFrame) -> dict[int, TimeSplit]:
    devices = gpu.partition_by("device", as_dict=True)
    return {int(key[0]): _split(devices[key]) for key in sorted(devices)}


def _split(gpu: pl.DataFrame) -> TimeSplit:
    role = gpu["role"].to_numpy()
    start = gpu["start_ns"].to_numpy()
    end = start + gpu["dur_ns"].to_numpy()

    def union(*roles: Role) -> int:
        of = np.isin(role, roles)
        return total(start[of], end[of])

    compute, kernels, busy = union(Role.COMPUTE), union(Role.COMPUTE, Role.COMM), union(*Role)
    window = int(end.max() - start.min())
    return TimeSplit(
        window=window,
        busy=busy,
        idle=window - busy,
        compute=compute,
        comm=union(Role.COMM),
        exposed_comm=kernels - compute,
        memcpy=union(Role.COPY),
        exposed_memcpy=busy - kernels,
        start_ns=int(start.min()),
    )
