"""``unified_perf_summary``: every op row with its kernel time, cost, rates and roofline."""

from collections.abc import Iterator

import polars as pl

from tracelens_tui.analysis.tables.details import kernel_details
from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import in_us, per, percent_of_total

_RATES = ("TB/s", "TFLOPS/s")
_PCT = "Pct Roofline"
_KERNEL = "Kernel Time (µs)"
_BOUNDS = {"compute": "COMPUTE_BOUND", "memory": "MEMORY_BOUND"}


def unified_perf_summary(work: Work) -> pl.DataFrame:
    """Return one row per op row, most kernel time first; roofline columns only where the platform is known."""
    analysis = work.analysis
    ops = analysis.ops.join(_stats(work), on="row", how="left", maintain_order="left")
    gpu = work.gpu.with_columns(analysis.gpu["row"])
    details = kernel_details(gpu, "row", analysis.trace.names)
    uid = analysis.trace.events["uid"][ops["first_event"]].alias("ex_UID")
    ops = ops.with_columns(uid).join(details, on="row", how="left", maintain_order="left")
    return ops.select(_columns(with_roofline=analysis.platform is not None))


def _stats(work: Work) -> pl.DataFrame:
    """Statistics over the calls of each row, times in ns; a call without kernel time has no rate."""
    ns = pl.when(pl.col("kernel_ns") > 0).then(pl.col("kernel_ns"))
    calls = work.analysis.calls.join(work.analysis.ops.select("row", "flops", "bytes", "roof_ns"), on="row").select(
        "row",
        pl.col("host_ns").alias("duration_us"),
        pl.col("kernel_ns").alias(_KERNEL),
        (pl.col("bytes") / ns / 1e3).alias("TB/s"),
        (pl.col("flops") / ns / 1e3).alias("TFLOPS/s"),
        (100.0 * pl.col("roof_ns") / ns).alias(_PCT),
    )
    names = [name for name in calls.columns if name != "row"]
    return calls.group_by("row").agg(
        getattr(pl.col(name), stat)().alias(f"{name}_{stat}")
        for name in names
        for stat in ("sum", "mean", "std", "median", "min", "max")
    )


def _columns(*, with_roofline: bool) -> Iterator[pl.Expr]:
    """The columns in TraceLens's order."""
    yield pl.col("name")
    yield pl.col("category").alias("op category")
    yield from (pl.col(name) for name in ("process_name", "process_label", "thread_name"))
    for name, title in (
        ("dims", "Input Dims"),
        ("types", "Input type"),
        ("strides", "Input Strides"),
        ("concrete", "Concrete Inputs"),
    ):
        yield pl.col(name).replace("", None).alias(title)
    yield pl.col("ex_UID")
    yield pl.col("count").alias("operation_count")
    for stat, title in (("sum", "total"), ("mean", "mean"), ("std", "std")):
        yield per(f"duration_us_{stat}", 1e3).alias(f"{title}_duration_us")
    yield per("flops", 1e9).alias("GFLOPS")
    yield (pl.col("bytes") / 2**20).alias("Data Moved (MB)")
    yield pl.when(pl.col("bytes") > 0).then(pl.col("flops") / pl.col("bytes")).alias("FLOPS/Byte")
    yield pl.col("spec").alias("Compute Spec")
    if with_roofline:
        yield pl.col("bound").replace(_BOUNDS).alias("Roofline Bound")
    yield from (pl.col(f"{rate}_{stat}") for rate in _RATES for stat in ("mean", "std"))
    yield from in_us(*(f"{_KERNEL}_{stat}" for stat in ("mean", "std", "sum")))
    yield from in_us(*(f"duration_us_{stat}" for stat in ("median", "min", "max")))
    yield from (pl.col(f"{name}_{stat}") for name in _RATES for stat in ("median", "min", "max"))
    if with_roofline:
        yield per("roof_ns", 1e3).alias("Roofline Time (µs)_first")
        yield from (pl.col(f"{_PCT}_{stat}") for stat in ("mean", "median", "std", "min", "max"))
    yield from in_us(*(f"{_KERNEL}_{stat}" for stat in ("median", "min", "max")))
    yield from (pl.col(name) for name in ("kernel_details_summary", "trunc_kernel_details"))
    yield pl.col("params").alias("perf_params")
    yield pl.col("modelled").alias("has_perf_model")
    yield from percent_of_total(f"{_KERNEL}_sum")
    if with_roofline:  # of the least and the most work, where the arguments leave it open
        yield from ((100.0 * pl.col(f"efficiency_{end}")).alias(f"{_PCT}_{end}") for end in ("low", "high"))
