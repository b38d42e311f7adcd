"""The cells ``kernel_details_summary`` and ``trunc_kernel_details``: the kernels of a row as JSON."""

import polars as pl

from tracelens_tui.analysis.units import in_us

_NAME_LIMIT = 64


def kernel_details(gpu: pl.DataFrame, key: str, names: pl.Series) -> pl.DataFrame:
    """Return ``key``, kernel_details_summary and trunc_kernel_details, one row per key that is not null.

    ``gpu`` holds the GPU events by start: ``key``, name (code), stream, dur_ns.  Every kernel is counted under its
    name and stream, however many kernels a single call has; entries come by total time, as in TraceLens the largest
    last.
    """
    dur = pl.col("dur_ns")
    stats = (
        gpu.filter(pl.col(key).is_not_null())
        .group_by(key, "name", "stream", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            dur.sum().alias("total_duration_us"),
            dur.mean().alias("mean_duration_us"),
            dur.median().alias("median_duration_us"),
            dur.std(ddof=0).alias("std_dev_duration_us"),
            dur.min().alias("min_duration_us"),
            dur.max().alias("max_duration_us"),
        )
    )
    times = [column for column in stats.columns if column.endswith("_us")]
    stats = stats.with_columns(names.gather(stats["name"]).alias("name"), *in_us(*times)).sort(
        key, "total_duration_us", "name", "stream"
    )
    name = pl.col("name")
    short = pl.when(name.str.len_chars() > _NAME_LIMIT).then(name.str.head(_NAME_LIMIT) + "...").otherwise(name)
    full = pl.struct(pl.exclude(key))
    brief = pl.struct(short.alias("name"), "stream", pl.col("mean_duration_us").round(2))
    return stats.group_by(key, maintain_order=True).agg(
        _json_list(full).alias("kernel_details_summary"), _json_list(brief).alias("trunc_kernel_details")
    )


def _json_list(struct: pl.Expr) -> pl.Expr:
    return pl.format("[{}]", struct.struct.json_encode().str.join(", "))
