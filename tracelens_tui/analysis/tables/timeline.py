"""``gpu_timeline``, ``step_timeline`` and ``overlap_summary``: where the time of each device went."""

import polars as pl

from tracelens_tui.analysis.model import TimeSplit
from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import per, us_text

_ROWS = (
    ("computation_time", "compute"),
    ("exposed_comm_time", "exposed_comm"),
    ("exposed_memcpy_time", "exposed_memcpy"),
    ("busy_time", "busy"),
    ("idle_time", "idle"),
    ("total_time", "window"),
    ("total_comm_time", "comm"),
    ("total_memcpy_time", "memcpy"),
)

_SCHEMA: dict[str, type[pl.DataType]] = {
    "device": pl.Int32,
    "type": pl.String,
    "time ms": pl.Float64,
    "percent": pl.Float64,
}


_STEP_TIMES = {
    "host_time ms": "host_ns",
    "total_time ms": "window_ns",
    "computation_time ms": "compute_ns",
    "exposed_comm_time ms": "exposed_comm_ns",
    "exposed_memcpy_time ms": "exposed_memcpy_ns",
    "busy_time ms": "busy_ns",
    "idle_time ms": "idle_ns",
    "total_comm_time ms": "comm_ns",
    "comm_overlap_time ms": "comm_overlap_ns",
    "total_memcpy_time ms": "memcpy_ns",
    "elsewhere_time ms": "elsewhere_ns",
}


def gpu_timeline(work: Work) -> pl.DataFrame:
    """Return type, time ms and percent of the window; with several devices a block for each and ``device`` first."""
    splits = work.analysis.splits
    rows = [
        (device, label, _field(split, name) / 1e6, 100.0 * _field(split, name) / split.window if split.window else 0.0)
        for device, split in splits.items()
        for label, name in _ROWS
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return frame if work.several_devices else frame.drop("device")


def step_timeline(work: Work) -> pl.DataFrame:
    """Return the split of each step on each device its process drives, by start; times are empty without GPU work.

    ``ts`` is the start of the step's mark in µs as the file has it, ``dead`` says that the step launched no GPU work.
    """
    steps = work.analysis.steps.with_columns(comm_overlap_ns=pl.col("comm_ns") - pl.col("exposed_comm_ns"))
    return steps.select(
        "step",
        "device",
        us_text("start_ns").alias("ts"),
        *(per(column, 1e6).alias(title) for title, column in _STEP_TIMES.items()),
        "kernels",
        "gpu_events",
        (pl.col("gpu_events") == 0).alias("dead"),
    )


def overlap_summary(work: Work) -> pl.DataFrame:
    """Return how much of the communication and of the copies other work hides, one row per device.

    Communication is hidden by compute, copies by compute and communication.  Percentages are of the time of that kind,
    empty where there is none.
    """
    names = ("compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy")
    rows = [(device, *(_field(split, name) for name in names)) for device, split in work.analysis.splits.items()]
    frame = pl.DataFrame(rows, schema={"device": pl.Int32} | dict.fromkeys(names, pl.Int64), orient="row").with_columns(
        comm_overlap=pl.col("comm") - pl.col("exposed_comm"), memcpy_overlap=pl.col("memcpy") - pl.col("exposed_memcpy")
    )
    return frame.select(
        "device",
        per("compute", 1e6).alias("computation_time ms"),
        per("comm", 1e6).alias("total_comm_time ms"),
        per("comm_overlap", 1e6).alias("comm_overlap_time ms"),
        per("exposed_comm", 1e6).alias("exposed_comm_time ms"),
        _part("comm_overlap", "comm").alias("comm_overlap percent"),
        per("memcpy", 1e6).alias("total_memcpy_time ms"),
        per("memcpy_overlap", 1e6).alias("memcpy_overlap_time ms"),
        per("exposed_memcpy", 1e6).alias("exposed_memcpy_time ms"),
        _part("memcpy_overlap", "memcpy").alias("memcpy_overlap percent"),
    )


def _part(column: str, whole: str) -> pl.Expr:
    """A column in % of another, null of nothing."""
    return pl.when(pl.col(whole) > 0).then(100.0 * pl.col(column) / pl.col(whole))


def _field(split: TimeSplit, name: str) -> int:
    return int(getattr(split, name))
