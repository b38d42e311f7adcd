"""``kernel_summary``, ``short_kernel_histogram`` and ``short_kernels_summary``."""

import numpy as np
import polars as pl

from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import per, share_of
from tracelens_tui.trace.types import Kind

SHORT_NS = 10_000
"""A kernel below this many ns is short: launching it takes about as long."""

_BINS = 100
_KERNEL = "Kernel duration (µs)"
_SHORT = "Short Kernel"


def kernel_summary(work: Work) -> pl.DataFrame:
    """Return the time of each kernel, copy and set under each op name, by stream, largest first.

    The category is that of the op that launches it; without an op ``graph`` or ``runtime`` by the launch, and
    ``unlinked`` where no launch is known.  With several devices the column ``device`` comes first.
    """
    groups = _durations(_with_parent(work), "device", "Parent op category", "Parent cpu_op", "name", "stream")
    groups = groups.with_columns(work.analysis.trace.names.gather(groups["name"]).alias("Kernel name"))
    groups = groups.sort(["sum", "Kernel name", "Parent cpu_op", "stream"], descending=[True, False, False, False])
    frame = groups.join(work.window(), on="device", how="left", maintain_order="left").select(
        "device",
        "Parent op category",
        "Parent cpu_op",
        "Kernel name",
        pl.col("stream").alias("Kernel stream"),
        *_named(_KERNEL + "_"),
        share_of("sum", pl.col("sum").sum()).alias("Percent of kernels time (%)"),
        share_of("sum", pl.col("window_ns")).alias("Percent of total time (%)"),
    )
    return _for_devices(work, frame)


def short_kernel_histogram(work: Work) -> pl.DataFrame:
    """Return 100 bins over the durations of the short kernels in µs: bin_start, bin_end, count; empty without any."""
    short = _short(work)["dur_ns"].to_numpy() / 1_000
    counts, edges = np.histogram(short, bins=_BINS) if len(short) else (np.zeros(0, np.int64), np.zeros(1))
    return pl.DataFrame({"bin_start": edges[:-1], "bin_end": edges[1:], "count": counts.astype(np.int64)})


def short_kernels_summary(work: Work) -> pl.DataFrame:
    """Return the short kernels by the op that launches them and the arguments shown, most time first."""
    trace = work.analysis.trace
    short = _short(work)
    shown = trace.args.with_row_index("row").select(pl.col("row").first().over("dims", "strides", "concrete"))
    args = shown["row"].gather(trace.events["args"].gather(short["op"])).alias("args")
    groups = _durations(short.with_columns(args), "device", "Parent cpu_op", "args", "name")
    arguments = trace.args.select(pl.all().replace("", None).gather(groups["args"]))
    kernel = trace.names.gather(groups["name"]).alias("Kernel name")
    groups = pl.concat([groups, arguments, kernel.to_frame()], how="horizontal")
    groups = groups.sort(["sum", "Kernel name", "Parent cpu_op", "args"], descending=[True, False, False, False])
    title = f"{_SHORT} duration (µs)"
    total, count, mean, *_ = _named(f"{title} ", count=f"{_SHORT} count")
    frame = groups.join(work.window(), on="device", how="left", maintain_order="left").select(
        "device",
        "Parent cpu_op",
        pl.col("dims").alias("Input dims"),
        pl.col("strides").alias("Input strides"),
        pl.col("concrete").alias("Concrete Inputs"),
        "Kernel name",
        total,
        count,
        mean,
        share_of("sum", pl.col("window_ns")).alias(f"{title} percent of total time"),
    )
    return _for_devices(work, frame)


def _durations(gpu: pl.DataFrame, *key: str) -> pl.DataFrame:
    """``sum``, ``count``, ``mean``, ``min`` and ``max`` of the durations of each group in ns."""
    dur = pl.col("dur_ns")
    return gpu.group_by(key, maintain_order=True).agg(
        dur.sum().alias("sum"),
        pl.len().alias("count"),
        dur.mean().alias("mean"),
        dur.min().alias("min"),
        dur.max().alias("max"),
    )


def _named(prefix: str, *, count: str | None = None) -> list[pl.Expr]:
    """The columns of :func:`_durations` in µs under their titles."""
    total, mean, low, high = (per(name, 1e3).alias(prefix + name) for name in ("sum", "mean", "min", "max"))
    return [total, pl.col("count").alias(count or f"{prefix}count"), mean, low, high]


def _for_devices(work: Work, frame: pl.DataFrame) -> pl.DataFrame:
    return frame if work.several_devices else frame.drop("device")


def _short(work: Work) -> pl.DataFrame:
    return _with_parent(work).filter((pl.col("kind") == Kind.KERNEL) & (pl.col("dur_ns") < SHORT_NS))


def _with_parent(work: Work) -> pl.DataFrame:
    """The GPU events with the name and the category of the op that launches each."""
    trace = work.analysis.trace
    launchers = work.launchers.select(launcher="event", launcher_name="name", launcher_category="category")
    gpu = work.gpu.join(launchers, on="launcher", how="left", maintain_order="left")
    launch_name = pl.col("launcher_name").str.to_lowercase()
    launch = (
        pl.when(pl.col("launcher").is_null())
        .then(pl.lit("unlinked"))
        .when(launch_name.str.contains("cudagraph|graphlaunch"))
        .then(pl.lit("graph"))
        .otherwise(pl.lit("runtime"))
    )
    return gpu.with_columns(
        trace.names.gather(trace.events["name"].gather(gpu["op"])).alias("Parent cpu_op"),
        pl.when(pl.col("op").is_not_null()).then("launcher_category").otherwise(launch).alias("Parent op category"),
    )
