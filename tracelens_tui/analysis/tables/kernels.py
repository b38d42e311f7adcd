"""``kernel_summary``, ``short_kernel_histogram`` and ``short_kernels_summary``."""

import numpy as np
import polars as pl

from tracelens_tui.analysis.tables.work import Work
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
    us = pl.col("dur_ns") / 1_000
    groups = (
        _with_parent(work)
        .group_by("device", "Parent op category", "Parent cpu_op", "name", "stream", maintain_order=True)
        .agg(
            us.sum().alias(f"{_KERNEL}_sum"),
            pl.len().alias(f"{_KERNEL}_count"),
            us.mean().alias(f"{_KERNEL}_mean"),
            us.min().alias(f"{_KERNEL}_min"),
            us.max().alias(f"{_KERNEL}_max"),
        )
    )
    total = f"{_KERNEL}_sum"
    groups = groups.with_columns(work.analysis.trace.names.gather(groups["name"]).alias("Kernel name"))
    groups = groups.sort([total, "Kernel name", "Parent cpu_op", "stream"], descending=[True, False, False, False])
    share = pl.when(pl.col(total).sum() > 0).then(100.0 * pl.col(total) / pl.col(total).sum()).otherwise(0.0)
    frame = groups.join(work.window(), on="device", how="left", maintain_order="left").select(
        "device",
        "Parent op category",
        "Parent cpu_op",
        "Kernel name",
        pl.col("stream").alias("Kernel stream"),
        *(f"{_KERNEL}_{stat}" for stat in ("sum", "count", "mean", "min", "max")),
        share.alias("Percent of kernels time (%)"),
        (100.0 * pl.col(total) * 1_000 / pl.col("window_ns")).fill_nan(0.0).alias("Percent of total time (%)"),
    )
    return frame if work.several_devices else frame.drop("device")


def short_kernel_histogram(work: Work) -> pl.DataFrame:
    """Return 100 bins over the durations of the short kernels in µs: bin_start, bin_end, count; empty without any."""
    short = _short(work)["dur_ns"].to_numpy() / 1_000
    counts, edges = np.histogram(short, bins=_BINS) if len(short) else (np.zeros(0, np.int64), np.zeros(1))
    return pl.DataFrame({"bin_start": edges[:-1], "bin_end": edges[1:], "count": counts.astype(np.int64)})


def short_kernels_summary(work: Work) -> pl.DataFrame:
    """Return the short kernels by the op that launches them and its arguments, most time first."""
    trace = work.analysis.trace
    us = pl.col("dur_ns") / 1_000
    short = _short(work)
    args = trace.events["args"].gather(short["op"]).alias("args")
    groups = (
        short.with_columns(args)
        .group_by("device", "Parent cpu_op", "args", "name", maintain_order=True)
        .agg(us.sum().alias("sum"), pl.len().alias("count"), us.mean().alias("mean"))
    )
    arguments = _arguments(trace.args, groups["args"])
    groups = pl.concat([groups, arguments], how="horizontal").with_columns(
        trace.names.gather(groups["name"]).alias("Kernel name")
    )
    title = f"{_SHORT} duration (µs)"
    frame = (
        groups.sort(["sum", "Kernel name", "Parent cpu_op", "args"], descending=[True, False, False, False])
        .join(work.window(), on="device", how="left", maintain_order="left")
        .select(
            "device",
            "Parent cpu_op",
            pl.col("dims").alias("Input dims"),
            pl.col("strides").alias("Input strides"),
            pl.col("concrete").alias("Concrete Inputs"),
            "Kernel name",
            pl.col("sum").alias(f"{title} sum"),
            pl.col("count").alias(f"{_SHORT} count"),
            pl.col("mean").alias(f"{title} mean"),
            (100.0 * pl.col("sum") * 1_000 / pl.col("window_ns")).fill_nan(0.0).alias(f"{title} percent of total time"),
        )
    )
    return frame if work.several_devices else frame.drop("device")


def _arguments(args: pl.DataFrame, rows: pl.Series) -> pl.DataFrame:
    """The argument lists of each row, null where there is none."""
    return args.select(pl.all().replace("", None).gather(rows))


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
    has_op = pl.col("op").is_not_null()
    return gpu.with_columns(
        trace.names.gather(trace.events["name"].gather(gpu["op"])).alias("Parent cpu_op"),
        pl.when(has_op).then("launcher_category").otherwise(launch).alias("Parent op category"),
    )
