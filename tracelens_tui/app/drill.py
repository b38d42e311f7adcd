"""From a finding to its op rows, from an op to its calls, from an event to its op."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.run.findings import Finding, Operation
from tracelens_tui.text import plain

_TOLD = 400
"""Characters by which kernels are told apart: a finding cuts longer names."""


def ops_of_finding(analysis: Analysis, finding: Finding) -> list[int]:
    """Return the rows of ``Analysis.ops`` that the finding's operations name, in its order.

    A row is taken by its number where the name agrees; else, in a run of another reading of the trace, by its name
    and count.  A finding on fusion names kernels: for each the row that spends most time in it, each row once.
    """
    if finding.kernels:
        return _rows_of_kernels(analysis, [kernel.name for kernel in finding.kernels])
    rows = (_op_row(analysis, operation) for operation in finding.operations)
    return [row for row in rows if row is not None]


def _rows_of_kernels(analysis: Analysis, names: Sequence[str]) -> list[int]:
    known = analysis.kernels.filter(pl.col("row").is_not_null()).sort("sum_ns", descending=True, maintain_order=True)
    first: dict[str, int] = {}
    for kernel, row in known.select("kernel", "row").iter_rows():
        first.setdefault(plain(str(kernel))[:_TOLD], int(row))
    return list(dict.fromkeys(first[name[:_TOLD]] for name in names if name[:_TOLD] in first))


def _op_row(analysis: Analysis, operation: Operation) -> int | None:
    ops = analysis.ops.select("row", "name", "count")
    same = ops.filter((pl.col("row") == operation.row) & (pl.col("name") == operation.name))
    if same.height:
        return operation.row
    alike = ops.filter((pl.col("name") == operation.name) & (pl.col("count") == operation.count))
    return int(alike["row"][0]) if alike.height == 1 else None


def calls_of_op(analysis: Analysis, row: int) -> list[int]:
    """Return the events of an op row's calls, the costliest first; equal ones by start."""
    calls = analysis.calls.filter(pl.col("row") == row)
    return calls.sort("kernel_ns", descending=True, maintain_order=True)["event"].to_list()


def calls_of_kernel(analysis: Analysis, kernel: dict[str, Any]) -> list[int]:
    """Return the GPU events of a row of ``Analysis.kernels``, the longest first; equal ones by start."""
    row = kernel["row"]
    of_row = pl.col("row").is_null() if row is None else pl.col("row") == row
    events = analysis.trace.events.select("name", "stream", "device", "dur_ns").with_row_index("event")
    mine = analysis.gpu.filter(of_row).select("event").join(events, on="event", how="left", maintain_order="left")
    code = analysis.trace.names.index_of(kernel["kernel"])
    mine = mine.filter(
        (pl.col("name") == code) & (pl.col("stream") == kernel["stream"]) & (pl.col("device") == kernel["device"])
    )
    return mine.sort("dur_ns", descending=True, maintain_order=True)["event"].to_list()


def op_of_event(analysis: Analysis, event: int) -> int | None:
    """Return the op row that an event is counted under: its own, that of the op around it, or of its kernel."""
    tree = analysis.tree
    gpu = analysis.gpu.filter(pl.col("event") == event)
    if gpu.height and gpu["row"][0] is not None:
        return int(gpu["row"][0])
    return _row_of_call(analysis, [event, *tree.ancestors(event)])


def _row_of_call(analysis: Analysis, events: Sequence[int]) -> int | None:
    """The row of the first of the events that is a call of an op."""
    calls = analysis.calls.filter(pl.col("event").is_in(list(events)))
    rows = dict(zip(calls["event"].to_list(), calls["row"].to_list(), strict=True))
    return next((rows[event] for event in events if event in rows), None)
