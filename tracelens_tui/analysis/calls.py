"""The calls that make rows and the GPU events they own, as frames of codes."""

import numpy as np
import polars as pl

from tracelens_tui.analysis.collect import Selection
from tracelens_tui.perf.categories import op_category
from tracelens_tui.perf.registry import Registry
from tracelens_tui.trace.intervals import segmented_union_length
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

SYNTHETIC = "{}->{} (Synthetic Op)"
"""Name of the row of a GPU event under no collected op: its nearest op or launch, and the kernel."""


def gpu_frame(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Return one row per GPU event by start: event, call (null = none), name (code), times, place, kind, role."""
    columns = ("start_ns", "dur_ns", "name", "device", "stream", "kind", "role")
    call = pl.Series("call", selection.gpu_call, dtype=pl.Int32)
    events = trace.events.select(columns)[selection.gpu]
    return events.with_columns(event=pl.Series(selection.gpu, dtype=pl.UInt32), call=call.set(call < 0, None))


def call_frame(
    trace: Trace, tree: EventTree, selection: Selection, gpu: pl.DataFrame, registry: Registry
) -> pl.DataFrame:
    """Return one row per call by start of the call.

    Columns: call (index into the selection), event, label, args, the thread's three names, device, host_ns, kernel_ns
    (union of the call's GPU intervals), kernels (list of name codes in order) and category.
    """
    owned = gpu.filter(pl.col("call").is_not_null())
    per_call = owned.group_by("call", maintain_order=True).agg(
        pl.col("name").alias("kernels"), pl.col("device").first()
    )
    start, end = owned["start_ns"], owned["start_ns"] + owned["dur_ns"]
    busy = segmented_union_length(owned["call"].to_numpy(), start.to_numpy(), end.to_numpy(), len(selection.calls))
    calls = _identity(trace, tree, selection).with_columns(kernel_ns=pl.Series(busy, dtype=pl.Int64))
    calls = calls.join(per_call, on="call", how="inner")
    return _with_category(calls, trace.names, registry).sort("start_ns", "event")


def _identity(trace: Trace, tree: EventTree, selection: Selection) -> pl.DataFrame:
    """Name, arguments, thread and host time of each call; a synthetic call takes those of its op, else its launch."""
    ids = selection.calls
    above = np.where(tree.op[ids] >= 0, tree.op[ids], tree.launch[ids])
    holder = np.where(selection.synthetic, above, ids)
    events = trace.events.select("name", "args", "thread", host_ns="dur_ns")[holder]
    starts = trace.events["start_ns"][ids]
    label = trace.names.gather(events["name"]).alias("label")
    kernel = trace.names.gather(trace.events["name"][ids]).alias("kernel")
    threads = trace.threads.select("process_name", "process_label", "thread_name")[events["thread"]]
    frame = pl.concat(
        [events.select("args", "host_ns"), threads, label.to_frame(), kernel.to_frame()], how="horizontal"
    )
    synthetic = pl.Series(selection.synthetic)
    return frame.select(
        pl.int_range(pl.len(), dtype=pl.Int32).alias("call"),
        pl.Series("event", ids, dtype=pl.UInt32),
        starts,
        pl.when(synthetic).then(pl.format(SYNTHETIC, "label", "kernel")).otherwise("label").alias("label"),
        "args",
        "process_name",
        "process_label",
        "thread_name",
        "host_ns",
    )


def _with_category(calls: pl.DataFrame, names: pl.Series, registry: Registry) -> pl.DataFrame:
    """Add ``category``, asked once per distinct (label, kernels)."""
    distinct = calls.group_by("label", "kernels", maintain_order=True).agg("call")
    category = [
        op_category(label, tuple(names.gather(kernels)), registry)
        for label, kernels in distinct.select("label", "kernels").iter_rows()
    ]
    found = distinct.select("call", pl.Series("category", category, dtype=pl.String)).explode("call")
    return calls.join(found, on="call", how="left")
