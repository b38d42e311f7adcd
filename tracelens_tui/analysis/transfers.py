"""Copies and collectives of one device: what each took, moved, and left without anything to hide it.

Exposure is that of the time split: of communication what no compute hides, of copies what neither compute nor
communication hides.  Where several transfers run at once an instant belongs to the one that started first, so that the
parts add up to the split's numbers exactly.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.timesplit import without_time
from tracelens_tui.trace.intervals import Intervals, covered, union
from tracelens_tui.trace.types import Role

Int64 = NDArray[np.int64]

_DIRECTIONS = {  # the first that fits: "Memcpy PtoP (Device -> Device)" is between devices
    "P2P": r"(?i)PtoP|\bP2P|peer",
    "H2D": r"(?i)HtoD|host ?-> ?device|host_?to_?device",
    "D2H": r"(?i)DtoH|device ?-> ?host|device_?to_?host",
    "D2D": r"(?i)DtoD|device ?-> ?device|device_?to_?device",
}
_ELEMENT_BYTES = {
    "float": 4, "int": 4, "long": 8, "bfloat16": 2, "bool": 1, "byte": 1, "double": 8, "half": 2, "short": 2, "char": 1,
}  # fmt: skip
_BUS_FACTORS = {"allreduce": 2.0, "allgather": 1.0, "reducescatter": 1.0, "alltoall": 1.0}
"""Bytes on the links over bytes of the message, times n / (n - 1) for n ranks (the factors of nccl-tests)."""


def transfers_of(analysis: Analysis, *, rated: bool = False) -> pl.DataFrame:
    """Return the copies and collectives of the chosen device that have valid times, by start.

    Copies inside the device that an op with a roofline makes among its kernels are left out unless ``rated``: the op
    answers for them.  Those of the :func:`copying_rows` stay.

    Columns: event, start_ns, dur_ns, exposed_ns, stream, collective (Boolean), name (direction, or kind of collective),
    pageable (Boolean, null where the name does not tell), group, group_size, bytes (null where not recorded), waiter
    (the compute event that begins next, null for none), same_stream (Boolean: the stream also computes).
    """
    gpu = _of_device(analysis)
    compute, comm, copies = (gpu.filter(pl.col("role") == role) for role in (Role.COMPUTE, Role.COMM, Role.COPY))
    busy, both = _union(compute), _union(pl.concat([compute, comm]))
    told = _described_copies(analysis, copies.with_columns(exposed_ns=_exposed(copies, both)))
    if not rated:
        told = told.filter(~_inside_rated(analysis, copies) | pl.col("name").is_in(["H2D", "D2H"]))
    frame = pl.concat([_described_comm(analysis, comm.with_columns(exposed_ns=_exposed(comm, busy))), told])
    frame = frame.sort("start_ns", "event")
    return frame.with_columns(
        waiter=_waiters(frame, compute), same_stream=pl.col("stream").is_in(compute["stream"].unique().implode())
    )


def _of_device(analysis: Analysis) -> pl.DataFrame:
    """The GPU events of the chosen device with valid times, by start."""
    trace = analysis.trace
    columns = ("start_ns", "dur_ns", "device", "stream", "role", "name", "bytes", "detail")
    gpu = trace.events.select(columns)[analysis.gpu["event"]]
    gpu = gpu.with_columns(event=analysis.gpu["event"].cast(pl.UInt32), row=analysis.gpu["row"])
    lost = without_time(trace).cast(pl.UInt32)
    valid = (pl.col("device") == analysis.device) & ~pl.col("event").is_in(lost.implode())
    return gpu.filter(valid).sort("start_ns", "event")


def copying_rows(analysis: Analysis) -> pl.Series:
    """Return the rows of ``Analysis.ops`` whose GPU time is copies for the larger part (``aten::copy_`` by memcpy).

    Their cost is that of transfers, not of kernels; times are summed over the row's GPU events on its device.
    """
    gpu = analysis.gpu.select("row", "event").drop_nulls("row")
    events = analysis.trace.events.select("dur_ns", "role")[gpu["event"]]
    copied = pl.col("dur_ns").filter(pl.col("role") == Role.COPY).sum()
    rows = pl.concat([gpu, events], how="horizontal").group_by("row").agg(copied=copied, total=pl.col("dur_ns").sum())
    return rows.filter(2 * pl.col("copied") > pl.col("total"))["row"].sort()


def _inside_rated(analysis: Analysis, copies: pl.DataFrame) -> pl.Series:
    """Which of the copies belong to an op with a roofline that does more than copy."""
    rated = analysis.ops.filter(pl.col("efficiency").is_not_null())["row"]
    answering = rated.filter(~rated.is_in(copying_rows(analysis).implode()))
    return copies.select(pl.col("row").is_in(answering.implode()) & pl.col("row").is_not_null()).to_series()


def _union(gpu: pl.DataFrame) -> Intervals:
    start = gpu["start_ns"].to_numpy()
    return union(start, start + gpu["dur_ns"].to_numpy())


def _exposed(gpu: pl.DataFrame, hiding: Intervals) -> pl.Series:
    """The part of each event that is neither hidden nor another earlier event's; the events come by start."""
    start = gpu["start_ns"].to_numpy()
    end = start + gpu["dur_ns"].to_numpy()
    reach = np.maximum.accumulate(end) if len(end) else end
    first = start.copy()
    first[1:] = np.maximum(start[1:], reach[:-1])
    last = np.maximum(end, first)
    return pl.Series((last - first) - (covered(hiding, last) - covered(hiding, first)), dtype=pl.Int64)


def _direction(analysis: Analysis, copies: pl.DataFrame) -> pl.Series:
    names = analysis.trace.names.gather(copies["name"])
    expr = pl.lit("other")
    for direction, pattern in reversed(_DIRECTIONS.items()):
        expr = pl.when(pl.col("text").str.contains(pattern)).then(pl.lit(direction)).otherwise(expr)
    return names.alias("text").to_frame().select(expr.alias("direction")).to_series()


def _described_copies(analysis: Analysis, copies: pl.DataFrame) -> pl.DataFrame:
    names = analysis.trace.names.gather(copies["name"])
    told = names.str.contains("(?i)pageable|pinned")
    return copies.select(
        *_COMMON,
        pl.lit(value=False).alias("collective"),
        _direction(analysis, copies).alias("name"),
        pl.when(told).then(names.str.contains("(?i)pageable")).alias("pageable"),
        pl.lit(None, pl.String).alias("group"),
        pl.lit(None, pl.Int64).alias("group_size"),
        pl.when(pl.col("bytes") >= 0).then(pl.col("bytes")).cast(pl.Int64).alias("bytes"),
    )


def _described_comm(analysis: Analysis, comm: pl.DataFrame) -> pl.DataFrame:
    """Kind, group and payload as they were recorded; the kind else as the kernel's name has it."""
    trace = analysis.trace
    told = trace.details[comm["detail"]].select("collective", "dtype", "group", "group_size", "in_nelems", "out_nelems")
    kernel = trace.names.gather(comm["name"]).alias("kernel")
    frame = pl.concat([comm.drop("name"), told, kernel.to_frame()], how="horizontal")
    number = {name: pl.col(name).cast(pl.Float64, strict=False) for name in ("group_size", "in_nelems", "out_nelems")}
    size = pl.col("dtype").str.to_lowercase().replace_strict(_ELEMENT_BYTES, default=None, return_dtype=pl.Int64)
    payload = pl.max_horizontal(number["in_nelems"], number["out_nelems"]) * size
    return frame.select(
        *_COMMON,
        pl.lit(value=True).alias("collective"),
        pl.coalesce(
            pl.col("collective").replace("", None),
            pl.col("kernel").str.extract(_KIND_IN_KERNEL).str.to_lowercase().str.replace_all("_", ""),
            pl.lit("unnamed"),
        ).alias("name"),
        pl.lit(None, pl.Boolean).alias("pageable"),
        pl.col("group").replace("", None),
        number["group_size"].cast(pl.Int64).alias("group_size"),
        pl.when(payload > 0).then(payload).cast(pl.Int64).alias("bytes"),
    )


_COMMON = ("event", "start_ns", "dur_ns", "exposed_ns", "stream")
_KIND_IN_KERNEL = r"(?i)(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv|cross_device_reduce)"


def _waiters(transfers: pl.DataFrame, compute: pl.DataFrame) -> pl.Series:
    """The compute event that begins first at or after each transfer's end; null where none does."""
    start = compute["start_ns"].to_numpy()
    end = (transfers["start_ns"] + transfers["dur_ns"]).to_numpy()
    place = np.searchsorted(start, end)
    found = (
        compute["event"].gather(pl.Series(np.minimum(place, max(len(start) - 1, 0)), dtype=pl.UInt32))
        if len(start)
        else None
    )
    if found is None:
        return pl.Series([None] * len(end), dtype=pl.UInt32)
    return pl.select(pl.when(pl.Series(place < len(start))).then(found)).to_series()


def bus_factor(kind: str, ranks: int | None) -> float | None:
    """Return bytes on the links over bytes of the message; None where the kind or the number of ranks is unknown.

    2 (n - 1) / n for an all-reduce, (n - 1) / n for all-gather, reduce-scatter and all-to-all, where the message is
    the whole gathered or scattered tensor.
    """
    factor = next((f for name, f in _BUS_FACTORS.items() if name in kind.lower().replace("_", "")), None)
    return None if factor is None or not ranks or ranks < 2 else factor * (ranks - 1) / ranks
