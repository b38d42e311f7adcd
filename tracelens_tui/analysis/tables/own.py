"""Tables that TraceLens has not: ``kernel_launchers``, ``idle_gaps``, ``memcpy_summary`` and ``quality``."""

import polars as pl

from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import in_us, per, share_of, us_text
from tracelens_tui.trace.types import Role, Trace


def kernel_launchers(work: Work) -> pl.DataFrame:
    """Return every GPU event by start: ts and dur in µs as the file has them (exact text), nearest op and inputs."""
    trace = work.analysis.trace
    raw = trace.repairs.group_by("event", maintain_order=True).first().select("event", "raw_start_ns", "raw_dur_ns")
    gpu = work.gpu.join(raw, on="event", how="left", maintain_order="left").with_columns(
        pl.coalesce("raw_start_ns", "start_ns").alias("ts"), pl.coalesce("raw_dur_ns", "dur_ns").alias("dur")
    )
    of_op = trace.events.select("name", "args").select(pl.all().gather(gpu["op"]))
    arguments = trace.args.select(pl.col("dims", "types").replace("", None).gather(of_op["args"]))
    return gpu.select(
        us_text("ts"),
        us_text("dur"),
        "stream",
        trace.names.gather(gpu["name"]).alias("kernel"),
        trace.names.gather(of_op["name"]).alias("nearest_cpu_op"),
        arguments["dims"].alias("input_dims"),
        arguments["types"].alias("input_types"),
    )


def idle_gaps(work: Work) -> pl.DataFrame:
    """Return the gaps of the chosen device, longest first, with their cause and the numbers that decided it."""
    trace = work.analysis.trace
    gaps = work.analysis.gaps
    return gaps.select(
        "device",
        us_text("start_ns").alias("ts"),
        per("dur_ns", 1e3).alias("dur_us"),
        "cause",
        _name(trace, gaps["host_event"]).alias("host_event"),
        _name(trace, gaps["before_event"]).alias("kernel_before"),
        _name(trace, gaps["after_event"]).alias("kernel_after"),
        "in_step",
        "queue_empty",
        per("launch_lag_ns", 1e3).alias("launch_lag_us"),
        share_of("host_busy_ns", pl.col("dur_ns")).alias("host_busy_percent"),
        (100 * pl.col("awaited")).alias("awaited_percent"),
    )


def memcpy_summary(work: Work) -> pl.DataFrame:
    """Return the copies by device, stream and name: count, bytes, time and the rate of those with recorded bytes."""
    dur = pl.col("dur_ns")
    sized = pl.col("bytes") >= 0
    groups = (
        work.gpu.filter(pl.col("role") == Role.COPY)
        .group_by("device", "stream", "name", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            dur.sum().alias("dur_us_sum"),
            dur.mean().alias("dur_us_mean"),
            dur.min().alias("dur_us_min"),
            dur.max().alias("dur_us_max"),
            pl.when(sized.any()).then(pl.col("bytes").filter(sized).sum()).alias("bytes_sum"),
            pl.col("dur_ns").filter(sized).sum().alias("sized_ns"),
        )
    )
    groups = groups.with_columns(work.analysis.trace.names.gather(groups["name"]).alias("name"))
    rate = pl.when(pl.col("sized_ns") > 0).then(pl.col("bytes_sum") / pl.col("sized_ns"))
    return groups.sort(["dur_us_sum", "name", "stream"], descending=[True, False, False]).select(
        *("device", "stream", "name", "count", "bytes_sum"),
        *in_us("dur_us_sum", "dur_us_mean", "dur_us_min", "dur_us_max"),
        rate.alias("GB/s"),
    )


def quality(work: Work) -> pl.DataFrame:
    """Return what was repaired, dropped, impossible or missing, in the order of the record."""
    items = work.analysis.trace.quality.items
    return pl.DataFrame(
        [(item.code, item.count, item.message, item.effect, item.share_of_busy, item.gates) for item in items],
        schema={
            "code": pl.String,
            "count": pl.Int64,
            "message": pl.String,
            "effect": pl.String,
            "share_of_busy": pl.Float64,
            "gates": pl.Boolean,
        },
        orient="row",
    )


def _name(trace: Trace, events: pl.Series) -> pl.Series:
    """The names of events; null where there is none."""
    return trace.names.gather(trace.events["name"].gather(events))
