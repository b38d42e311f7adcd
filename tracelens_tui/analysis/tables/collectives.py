"""``coll_analysis``: the collectives of one rank by group, kind and size."""

import polars as pl

from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import in_us
from tracelens_tui.trace.types import Kind, Role

_ELEMENT_BYTES = {
    "float": 4,
    "int": 4,
    "long": 8,
    "bfloat16": 2,
    "bool": 1,
    "byte": 1,
    "double": 8,
    "half": 2,
    "short": 2,
    "char": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "complexfloat": 8,
    "complexdouble": 16,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
}
"""Bytes of one element by the ``dtype`` that Kineto records, lower case."""

_KEY = {
    "group": "Process Group Name",
    "group_ranks": "Process Group Ranks",
    "collective": "Collective name",
    "group_size": "Group size",
    "dtype": "dtype",
    "in_nelems": "In msg nelems",
    "out_nelems": "Out msg nelems",
    "in_split": "In split size",
    "out_split": "Out split size",
    "stream": "stream",
}


def coll_analysis(work: Work) -> pl.DataFrame:
    """Return the collectives grouped by all that describes them, most time first; unrecorded fields are empty."""
    trace = work.analysis.trace
    comm = work.gpu.filter((pl.col("role") == Role.COMM) & (pl.col("kind") == Kind.KERNEL))
    details = trace.details[trace.events["detail"][comm["event"]]]
    kernel = trace.names.gather(comm["name"]).alias("kernel")
    frame = pl.concat([comm.select("stream", "dur_ns"), details, kernel.to_frame()], how="horizontal")
    dur = pl.col("dur_ns")
    groups = (
        frame.with_columns(pl.col(pl.String).replace("", None))
        .with_columns(
            _collective(),
            pl.col("group_size", "in_nelems", "out_nelems").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False),
        )
        .group_by(list(_KEY), maintain_order=True)
        .agg(
            dur.sum().alias("dur_sum"), dur.mean().alias("dur_mean"), dur.std().alias("dur_std"),
            dur.min().alias("dur_min"), dur.max().alias("dur_max"), pl.len().alias("operation_count"),
        )
    )  # fmt: skip
    return groups.sort("dur_sum", descending=True, maintain_order=True).select(
        pl.lit(trace.metadata.rank or 0, dtype=pl.Int64).alias("rank"),
        *(pl.col(name).alias(title) for name, title in _KEY.items()),
        _megabytes("in_nelems").alias("In msg size (MB)_first"),
        _megabytes("out_nelems").alias("Out msg size (MB)_first"),
        *in_us("dur_sum", "dur_mean", "dur_std", "dur_min", "dur_max"), "operation_count",
    )  # fmt: skip


def _collective() -> pl.Expr:
    """The recorded name, else what the kernel's name says: custom all-reduces record nothing."""
    custom = pl.col("kernel").str.contains("(?i)cross_device_reduce")
    return pl.coalesce("collective", pl.when(custom).then(pl.lit("allreduce"))).alias("collective")


def _megabytes(nelems: str) -> pl.Expr:
    """Message size in MiB, as TraceLens's MB; null where the element size is not known."""
    size = pl.col("dtype").str.to_lowercase().replace_strict(_ELEMENT_BYTES, default=None, return_dtype=pl.Int64)
    return pl.col(nelems) * size / 2**20
