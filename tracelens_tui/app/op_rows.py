"""The kernel roofline table: an analysis' ops and kernels as row sources."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.args_text import args_text
from tracelens_tui.app.cells import NOTHING, Cell, Column, fixed, significant, thousands
from tracelens_tui.app.frames import WORDS, FrameSource
from tracelens_tui.text import plain


def op_source(analysis: Analysis) -> FrameSource:
    """Return the distinct ops with time, share, roofline and arguments; rows are named by ``Analysis.ops`` row."""
    ns = pl.col("kernel_ns_sum")
    frame = analysis.ops.select(
        "row",
        "name",
        "category",
        "count",
        "bound",
        "library",
        "dims",
        "types",
        "device",
        ns.alias("ns"),
        _share(ns, analysis).alias("share"),
        (pl.col("flops") / pl.col("bytes")).alias("intensity"),
        (pl.col("flops") * pl.col("count") / ns / 1e3).alias("tflops"),
        (pl.col("bytes") * pl.col("count") / ns / 1e3).alias("tbs"),
        (pl.col("efficiency") * 100).alias("roof"),
        _words("name", "category", "library", "dims", "types", "bound"),
    )
    frame = frame.with_columns(pl.col("intensity", "tflops", "tbs").replace([float("inf"), float("nan")], None))
    unit, scale, digits = _unit(frame["ns"])
    columns = [
        Column("name", "Op", 18, "left", grows=True),
        Column("ns", f"Time {unit}", 9),
        Column("share", "%", 5),
        Column("count", "Count", 6),
        Column("intensity", "FLOP/B", 6),
        Column("tflops", "TFLOPS", 6),
        Column("tbs", "TB/s", 5),
        Column("roof", "%roof", 5),
        Column("bound", "Bound", 7, "left"),
        Column("library", "Library", 11, "left"),
        Column("category", "Category", 14, "left"),
        *_device_column(analysis),
        Column("dims", "Arguments", 44, "left", sortable=False),
    ]

    def make(row: dict[str, Any]) -> Sequence[Cell]:
        matrix, memory = row["bound"] == "compute", row["bound"] == "memory"
        values = {
            "name": (plain(row["name"]), ""),
            "ns": (fixed(row["ns"] / scale, digits), ""),
            "share": _number(row["share"], 1),
            "count": (thousands(row["count"]), ""),
            "intensity": _figure(row["intensity"], "" if row["bound"] else "dim"),
            "tflops": _figure(row["tflops"], "bold" if matrix else "dim" if memory else ""),
            "tbs": _figure(row["tbs"], "bold" if memory else "dim" if matrix else ""),
            "roof": _roof(row["roof"]),
            "bound": (row["bound"], "") if row["bound"] else NOTHING,
            "library": (plain(row["library"]), "") if row["library"] else NOTHING,
            "category": (plain(row["category"]), ""),
            "device": (str(row["device"]), ""),
            "dims": (args_text(row["dims"], row["types"]), "") if row["dims"] else NOTHING,
        }
        return [values[column.key] for column in columns]

    return FrameSource(columns, frame, make, "row", sort_key="ns")


def kernel_source(analysis: Analysis) -> FrameSource:
    """Return the kernels, copies and sets, one row per op row, name and stream; named by their place in the frame."""
    ops = analysis.ops.select("row", pl.col("name").alias("op"))
    frame = (
        analysis.kernels.with_row_index("id")
        .join(ops, on="row", how="left", maintain_order="left")
        .with_columns(
            _share(pl.col("sum_ns"), analysis).alias("share"),
            _words("kernel", "category", "library", "op"),
        )
    )
    unit, scale, digits = _unit(frame["sum_ns"])
    columns = [
        Column("kernel", "Kernel", 24, "left", grows=True),
        Column("sum_ns", f"Time {unit}", 9),
        Column("share", "%", 5),
        Column("count", "Count", 6),
        Column("mean_ns", "Mean µs", 9),
        Column("min_ns", "Min µs", 8),
        Column("max_ns", "Max µs", 9),
        Column("stream", "Stream", 7),
        Column("category", "Category", 14, "left"),
        Column("library", "Library", 11, "left"),
        *_device_column(analysis),
        Column("op", "Op", 32, "left"),
    ]

    def make(row: dict[str, Any]) -> Sequence[Cell]:
        values = {
            "kernel": (plain(row["kernel"]), ""),
            "sum_ns": (fixed(row["sum_ns"] / scale, digits), ""),
            "share": _number(row["share"], 1),
            "count": (thousands(row["count"]), ""),
            "mean_ns": (fixed(row["mean_ns"] / 1e3, 2), ""),
            "min_ns": (fixed(row["min_ns"] / 1e3, 2), ""),
            "max_ns": (fixed(row["max_ns"] / 1e3, 2), ""),
            "stream": (str(row["stream"]), ""),
            "category": (plain(row["category"]), ""),
            "library": (plain(row["library"]), "") if row["library"] else NOTHING,
            "device": (str(row["device"]), ""),
            "op": (plain(row["op"]), "") if row["op"] else ("none: not linked", "dim"),
        }
        return [values[column.key] for column in columns]

    return FrameSource(columns, frame, make, "id", sort_key="sum_ns")


def _share(ns: pl.Expr, analysis: Analysis) -> pl.Expr:
    """Percent of the window of the row's device."""
    windows = {device: split.window for device, split in analysis.splits.items() if split.window}
    window = pl.col("device").replace_strict(windows, default=None, return_dtype=pl.Int64)
    return 100 * ns / window


def _words(*columns: str) -> pl.Expr:
    """The lower-case text that filter and search look into."""
    return pl.concat_str([pl.col(c).fill_null("") for c in columns], separator="\n").str.to_lowercase().alias(WORDS)


def _unit(times: pl.Series) -> tuple[str, float, int]:
    """Unit, nanoseconds in it and decimals for a column of times, by its largest."""
    largest = times.max()
    return ("µs", 1e3, 2) if not isinstance(largest, int) or largest < 1_000_000 else ("ms", 1e6, 3)


def _device_column(analysis: Analysis) -> list[Column]:
    """The device column, where there is more than one."""
    return [Column("device", "GPU", 4)] if len(analysis.splits) > 1 else []


def _number(value: float | None, digits: int) -> Cell:
    """A number with fixed decimals."""
    return NOTHING if value is None else (fixed(value, digits), "")


def _figure(value: float | None, style: str) -> Cell:
    """A number with about three significant digits."""
    return NOTHING if value is None else (significant(value), style)


def _roof(percent: float | None) -> Cell:
    """Percent of the roof; above 100 cannot be true and says so."""
    if percent is None:
        return NOTHING
    return (f"{percent:,.0f}!", "bad") if percent > 100 else (f"{percent:.1f}", "")
