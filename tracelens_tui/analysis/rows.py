"""The op rows: calls grouped by what they are, with cost, roofline and library."""

from collections.abc import Iterator

import msgspec
import polars as pl

from tracelens_tui.analysis.costs import CostBook
from tracelens_tui.analysis.model import OPS_SCHEMA
from tracelens_tui.perf.library import library_of
from tracelens_tui.perf.platforms import Platform
from tracelens_tui.perf.roofline import compute_spec, roof_of, roof_range
from tracelens_tui.perf.types import OpCost
from tracelens_tui.trace.types import Trace

_KEY = ("label", "category", "process_name", "process_label", "thread_name", "args", "device", "iteration")

_COST_SCHEMA: dict[str, type[pl.DataType]] = {
    name: OPS_SCHEMA[name]
    for name in ("flops", "bytes", "spec", "precision", "bound", "roof_ns", "library", "modelled", "params")
} | {"roof_low_ns": pl.Float64, "roof_high_ns": pl.Float64}
_ROOFS = {"efficiency": "roof_ns", "efficiency_low": "roof_low_ns", "efficiency_high": "roof_high_ns"}


def group_calls(calls: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows, most kernel time first, and the calls with the column ``row``."""
    seconds = pl.col("kernel_ns").filter(pl.col("kernel_ns") > 0)
    rows = calls.group_by(_KEY, maintain_order=True).agg(
        pl.col("event").first().alias("first_event"),
        pl.len().cast(pl.UInt32).alias("count"),
        pl.col("host_ns").sum().alias("host_ns_sum"),
        pl.col("kernel_ns").sum().alias("kernel_ns_sum"),
        pl.col("kernels").first(),
        (1.0 / seconds).mean().alias("mean_rate"),
        (pl.col("kernel_ns").std() / pl.col("kernel_ns").mean()).fill_nan(None).alias("kernel_time_cov"),
    )
    rows = rows.sort(["kernel_ns_sum", "label"], descending=[True, False], maintain_order=True)  # then by first start
    rows = rows.with_row_index("row")
    return rows, calls.join(rows.select("row", *_KEY), on=_KEY, how="left", nulls_equal=True, maintain_order="left")


def complete_rows(trace: Trace, rows: pl.DataFrame, costs: CostBook, platform: Platform | None) -> pl.DataFrame:
    """Return the rows with arguments, cost, roofline and library; ``exposed_ns`` is left to the caller."""
    arguments = trace.args[rows["args"]]
    found = [
        _cost_columns(costs.cost(label, args, kernels, iteration or ""), library_of(label, kernels), platform)
        for label, kernels, args, iteration in _op_of_row(trace, rows)
    ]
    rows = pl.concat([rows, arguments, pl.DataFrame(found, schema=_COST_SCHEMA, orient="row")], how="horizontal")
    busy = pl.col("kernel_ns_sum")
    return rows.with_columns(
        *(pl.when(busy > 0).then(pl.col(roof) * pl.col("count") / busy).alias(name) for name, roof in _ROOFS.items()),
        (100.0 * pl.col("roof_ns") * pl.col("mean_rate")).alias("pct_roofline_mean"),
    ).rename({"label": "name"})


def _op_of_row(trace: Trace, rows: pl.DataFrame) -> Iterator[tuple[str, tuple[str, ...], int, str | None]]:
    """What the cost of each row depends on: name, kernels, arguments, serving iteration."""
    for label, kernels, args, iteration in rows.select("label", "kernels", "args", "iteration").iter_rows():
        yield label, tuple(trace.names.gather(kernels)), args, iteration


def _cost_columns(cost: OpCost | None, library: str | None, platform: Platform | None) -> tuple[object, ...]:
    """The columns of ``_COST_SCHEMA`` for one row."""
    if cost is None:
        return (None, None, None, None, None, None, library, False, "{}", None, None)
    roof = None if platform is None else roof_of(cost, platform)
    ends = None if platform is None else roof_range(cost, platform)
    moved = cost.bytes_moved
    return (
        None if cost.flops is None else float(cost.flops),
        None if moved is None else float(moved),
        roof.spec if roof else compute_spec(cost),
        cost.precision,
        roof.bound if roof else None,
        roof.time_ns if roof else None,
        library,
        cost.flops is not None or moved is not None,
        msgspec.json.encode({**cost.params, **_open_ends(cost)}).decode(),
        ends[0].time_ns if ends else None,
        ends[1].time_ns if ends else None,
    )


def _open_ends(cost: OpCost) -> dict[str, int]:
    """The fewest and the most FLOPs and bytes where the arguments leave them open."""
    ranges = {"flops": cost.flops_range, "bytes": cost.bytes_range}
    return {
        f"{name}_{end}": value
        for name, ends in ranges.items()
        if ends is not None
        for end, value in zip(("min", "max"), ends, strict=True)
    }
