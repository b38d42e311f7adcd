"""``ops_summary_by_category``, ``ops_summary``, ``ops_unique_args``: what launches GPU work, collectives apart."""

from collections.abc import Iterable

import polars as pl

from tracelens_tui.analysis.tables.details import kernel_details
from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import in_us, per, percent_of_total
from tracelens_tui.trace.types import Role

_KEY = ("name", "category", "process_name", "process_label", "thread_name", "args")
_TIMES = ("total_direct_kernel_time", "total_subtree_kernel_time")


def ops_summary_by_category(work: Work) -> pl.DataFrame:
    """Return the time that each category launches itself, largest first."""
    groups = _launchers(work).group_by("category").agg(pl.len().alias("Count"), pl.col("direct_ns").sum())
    return groups.sort(["direct_ns", "category"], descending=[True, False]).select(
        pl.col("category").alias("op category"),
        "Count",
        per("direct_ns", 1e6).alias("total_direct_kernel_time_ms"),
        *percent_of_total("direct_ns"),
    )


def ops_summary(work: Work) -> pl.DataFrame:
    """Return the time of each op name: what it launches itself and what its subtree launches."""
    groups = (
        _launchers(work)
        .group_by("name")
        .agg(
            pl.col("direct_ns").sum(),
            pl.col("subtree_ns").sum(),
            pl.len().alias("Count"),
            _json_strings(pl.col("category").unique().sort()).alias("Categories"),
        )
    )
    return groups.sort(["direct_ns", "name"], descending=[True, False]).select(
        "name",
        per("direct_ns", 1e3).alias(f"{_TIMES[0]}_sum"),
        per("subtree_ns", 1e3).alias(f"{_TIMES[1]}_sum"),
        per("direct_ns", 1e6).alias(f"{_TIMES[0]}_ms"),
        per("subtree_ns", 1e6).alias(f"{_TIMES[1]}_ms"),
        "Count",
        "Categories",
        *percent_of_total("direct_ns"),
    )


def ops_unique_args(work: Work) -> pl.DataFrame:
    """Return the same for each distinct op, thread and arguments, with the kernels it launches itself."""
    trace = work.analysis.trace
    launchers = _launchers(work).rename({"direct_ns": _TIMES[0], "subtree_ns": _TIMES[1]})
    groups = launchers.group_by(_KEY, maintain_order=True).agg(
        pl.len().alias("operation_count"),
        *_interleaved_stats(),
        pl.col("uid").first().alias("ex_UID"),
        pl.col("event"),
    )
    groups = groups.sort(f"{_TIMES[0]}_sum", descending=True, maintain_order=True).with_row_index("group")
    of_group = groups.select("group", pl.col("event").alias("launcher")).explode("launcher")
    kernels = work.gpu.filter(pl.col("role") != Role.COMM).join(of_group, on="launcher", maintain_order="left")
    arguments = trace.args[groups["args"]].with_columns(pl.col(pl.String).replace("", None))
    return (
        pl.concat([groups, arguments], how="horizontal")
        .join(kernel_details(kernels, "group", trace.names), on="group", how="left", maintain_order="left")
        .select(
            "name",
            pl.col("category").alias("op category"),
            "process_name",
            "process_label",
            "thread_name",
            pl.col("dims").alias("Input Dims"),
            pl.col("types").alias("Input type"),
            pl.col("strides").alias("Input Strides"),
            pl.col("concrete").alias("Concrete Inputs"),
            "operation_count",
            *in_us(*(expr.meta.output_name() for expr in _interleaved_stats())),
            "ex_UID",
            "kernel_details_summary",
            "trunc_kernel_details",
            *percent_of_total(f"{_TIMES[0]}_sum"),
        )
    )


def _launchers(work: Work) -> pl.DataFrame:
    """The launchers of anything that is no collective."""
    return work.launchers.filter(pl.col("count") > 0)


def _interleaved_stats() -> Iterable[pl.Expr]:
    for stat in ("mean", "median", "std", "min", "max", "sum"):
        for time in _TIMES:
            yield getattr(pl.col(time), stat)().alias(f"{time}_{stat}")


def _json_strings(strings: pl.Expr) -> pl.Expr:
    """A JSON list of category names, which hold no quotes."""
    return pl.format('["{}"]', strings.str.join('", "'))
