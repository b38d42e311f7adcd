"""``gpu_timeline``: where the time of each device went."""

import polars as pl

from tracelens_tui.analysis.model import TimeSplit
from tracelens_tui.analysis.tables.work import Work

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


def _field(split: TimeSplit, name: str) -> int:
    return int(getattr(split, name))
