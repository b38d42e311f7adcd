"""The threads of a file and the arrows between them."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.batch import ABSENT
from tracelens_tui.trace.types import FLOW_SCHEMA, THREAD_SCHEMA

_LABEL = {"kind": pl.String, "pid": pl.String, "tid": pl.String, "text": pl.String}


def thread_frame(rows: list[tuple[str, str, bool]], labels: list[tuple[str, str, str, str]]) -> pl.DataFrame:
    """Return ``THREAD_SCHEMA`` of (pid, tid, is GPU row) and of the labels (kind, pid, tid, text) of a file."""
    threads = pl.DataFrame(rows, schema={"pid": pl.String, "tid": pl.String, "is_gpu": pl.Boolean}, orient="row")
    known = pl.DataFrame(labels, schema=_LABEL, orient="row")
    return threads.select(
        "pid",
        "tid",
        _label(known, "process_name", threads, ["pid"]),
        _label(known, "process_labels", threads, ["pid"]).alias("process_label"),
        _label(known, "thread_name", threads, ["pid", "tid"]),
        "is_gpu",
    ).cast(pl.Schema(THREAD_SCHEMA))


def _label(labels: pl.DataFrame, kind: str, threads: pl.DataFrame, key: list[str]) -> pl.Series:
    """The last label of that kind for each thread, "" where there is none."""
    last = labels.filter(pl.col("kind") == kind).unique(key, keep="last").select(*key, pl.col("text").alias(kind))
    found = threads.select(key).join(last, on=key, how="left", maintain_order="left")[kind]
    return found.fill_null("").str.strip_chars()


def flow_frame(flows: dict[str, NDArray[Any]], threads: NDArray[np.intp], *, launches: bool) -> pl.DataFrame:
    """Return the arrows between forward and backward ops and, with ``launches``, those that may tell a launch.

    The latter have their tail on a host row and their head on a GPU row; profilers write others too.  ``threads`` has,
    for each thread, twice its place plus whether it is a GPU row.
    """
    on_gpu = flows["finish"] & ~flows["autograd"]
    frame = pl.DataFrame({**flows, "key": 2 * flows["place"].astype(np.int64) + on_gpu})
    if not launches:
        frame = frame.filter("autograd")
    rows = pl.DataFrame({"key": threads.astype(np.int64), "thread": np.arange(len(threads), dtype=np.uint32)})
    known = frame.filter((pl.col("id") != ABSENT) & (pl.col("start_ns") != ABSENT))
    return (
        known.join(rows, on="key", how="inner", maintain_order="left").select(*FLOW_SCHEMA).cast(pl.Schema(FLOW_SCHEMA))
    )
