"""The serving iteration around each call of an op whose work depends on the batch, not on its arguments alone."""

from collections.abc import Callable

import numpy as np
import polars as pl

from tracelens_tui.perf.iterations import iteration_of
from tracelens_tui.trace.processes import processes
from tracelens_tui.trace.types import Kind, Trace


def with_iterations(trace: Trace, calls: pl.DataFrame, asks: Callable[[str], bool]) -> pl.DataFrame:
    """Return the calls with the column ``iteration``: the name of the innermost iteration during which a call began.

    It is null for ops that do not ask for it (``asks``, by name), and where no annotation of the call's process says.
    """
    names = [name for name in calls["label"].unique(maintain_order=True) if asks(name)]
    marks = _marks(trace) if names else None
    if marks is None or marks.is_empty():
        return calls.with_columns(iteration=pl.lit(None, pl.String))
    asking = calls.filter(pl.col("label").is_in(names)).select("call", "event", "start_ns")
    process = processes(trace)[asking["event"].to_numpy()]
    begun = (
        asking.with_columns(process=pl.Series(process))
        .sort("start_ns")
        .join_asof(marks, on="start_ns", by="process", strategy="backward")
    )
    found = begun.select("call", iteration=pl.when(pl.col("start_ns") < pl.col("end_ns")).then(pl.col("iteration")))
    return calls.join(found, on="call", how="left", maintain_order="left")


def _marks(trace: Trace) -> pl.DataFrame:
    """The host's annotations that describe a batch, by start."""
    codes = trace.events["name"].to_numpy()
    at = np.flatnonzero(trace.events["kind"].to_numpy() == Kind.USER_ANNOTATION)
    known = [code for code in np.unique(codes[at]).tolist() if iteration_of(str(trace.names[code])) is not None]
    at = at[np.isin(codes[at], known)]
    start = trace.events["start_ns"][at]
    return pl.DataFrame(
        {
            "start_ns": start,
            "end_ns": start + trace.events["dur_ns"][at],
            "process": processes(trace)[at],
            "iteration": trace.names.gather(codes[at]),
        }
    ).sort("start_ns")
