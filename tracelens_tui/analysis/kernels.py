"""The kernel frames: every GPU event with the row it is counted under, and the kernels of each row."""

import polars as pl

from tracelens_tui.analysis.model import GPU_SCHEMA, KERNELS_SCHEMA, conform
from tracelens_tui.perf.categories import kernel_category
from tracelens_tui.perf.library import library_of
from tracelens_tui.trace.types import Trace

_KEY = ("row", "name", "device", "stream", "kind", "role")


def kernel_frames(trace: Trace, gpu: pl.DataFrame, ops: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return KERNELS_SCHEMA and GPU_SCHEMA from the GPU events (``row``, name code, times, place) and the op rows.

    The category is that of the op row, under none that of the kernel's name.
    """
    kernels = _classified(
        _grouped(trace, gpu).join(ops.select("row", op="name", of_row="category"), on="row", how="left")
    )
    events = gpu.join(
        kernels.select(*_KEY, "category", "library"), on=_KEY, how="left", nulls_equal=True, maintain_order="left"
    )
    kernels = kernels.sort(["sum_ns", "kernel", "first_event"], descending=[True, False, False])
    return conform(kernels, KERNELS_SCHEMA), conform(events, GPU_SCHEMA)


def _grouped(trace: Trace, gpu: pl.DataFrame) -> pl.DataFrame:
    dur = pl.col("dur_ns")
    kernels = gpu.group_by(_KEY, maintain_order=True).agg(
        dur.len().cast(pl.UInt32).alias("count"),
        dur.sum().alias("sum_ns"),
        dur.mean().alias("mean_ns"),
        dur.min().alias("min_ns"),
        dur.max().alias("max_ns"),
        pl.col("event").first().alias("first_event"),
    )
    return kernels.with_columns(trace.names.gather(kernels["name"]).alias("kernel"))


def _classified(kernels: pl.DataFrame) -> pl.DataFrame:
    """Add ``category`` and ``library``, asked once per distinct name."""
    bare = kernels.filter(pl.col("of_row").is_null())["kernel"].unique(maintain_order=True)
    categories = pl.DataFrame(
        {"kernel": bare, "of_kernel": [kernel_category(kernel) for kernel in bare]},
        schema={"kernel": pl.String, "of_kernel": pl.String},
    )
    pairs = kernels.select("op", "kernel").unique(maintain_order=True)
    libraries = [library_of(op or "", (kernel,)) for op, kernel in pairs.iter_rows()]
    pairs = pairs.with_columns(pl.Series("library", libraries, dtype=pl.String))
    joined = kernels.join(categories, on="kernel", how="left")
    joined = joined.join(pairs, on=["op", "kernel"], how="left", nulls_equal=True)
    return joined.with_columns(pl.coalesce("of_row", "of_kernel").alias("category"))
