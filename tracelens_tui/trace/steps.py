"""The steps of a training or inference loop, as the profiler marks them."""

import polars as pl

from tracelens_tui.trace.types import Kind, Trace

STEP_PATTERN = r"^ProfilerStep#(\d+)$"
"""Its group is the step's number."""

STEP_SCHEMA: dict[str, type[pl.DataType]] = {
    "event": pl.UInt32,  # the annotation
    "name": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}


def steps(trace: Trace) -> pl.DataFrame:
    """Return the ``ProfilerStep#N`` annotations of the host by start (``STEP_SCHEMA``); empty where there are none."""
    found = annotations(trace, STEP_PATTERN, Kind.USER_ANNOTATION)
    unfinished = pl.col("event").is_in(_without_end(trace).implode())
    following = pl.col("start_ns").shift(-1).fill_null(pl.col("end_ns"))
    return found.with_columns(
        end_ns=pl.when(unfinished).then(pl.min_horizontal("end_ns", following)).otherwise("end_ns")
    )


def _without_end(trace: Trace) -> pl.Series:
    """The events whose end was not recorded; a step among them ends where the next one begins."""
    codes = ("missing_duration", "negative_duration")
    return trace.repairs.filter(pl.col("code").is_in(codes))["event"].cast(pl.UInt32)


def numbered_steps(trace: Trace) -> pl.DataFrame:
    """Return the steps with their ``number`` (Int64): those of the host or, where it has none, of the GPU's rows."""
    found = steps(trace)
    if not found.height:
        found = annotations(trace, STEP_PATTERN, Kind.GPU_ANNOTATION)
    number = pl.col("name").str.extract(STEP_PATTERN).cast(pl.Int64, strict=False)
    return found.with_columns(number=number).drop_nulls("number")


def annotations(trace: Trace, pattern: str, kind: Kind) -> pl.DataFrame:
    """Return the events of a kind whose name matches a regular expression, by start (``STEP_SCHEMA``)."""
    codes = trace.names.to_frame("name").with_row_index("code").filter(pl.col("name").str.contains(pattern))
    found = (
        trace.events.lazy()
        .select("kind", "start_ns", "dur_ns", code="name")
        .with_row_index("event")
        .filter(pl.col("kind") == int(kind))
        .join(codes.lazy().with_columns(pl.col("code").cast(pl.UInt32)), on="code")
        .select("event", "name", "start_ns", (pl.col("start_ns") + pl.col("dur_ns")).alias("end_ns"))
        .sort("start_ns", "event")
    )
    return found.cast(dict(STEP_SCHEMA.items())).collect()
