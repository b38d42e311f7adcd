"""What several tables share: every GPU event with its nearest op and its launcher, and the launchers."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.perf.categories import op_category
from tracelens_tui.perf.registry import Registry
from tracelens_tui.trace.intervals import segmented_union_length
from tracelens_tui.trace.tree import EventTree, Int32, Int64
from tracelens_tui.trace.types import Kind, Role, Trace

_SKIPPED_OP = "execute"
"""An op of this name stands for a whole graph: TraceLens looks above it for the launcher, and so do we."""

_CHUNK = 1 << 22
"""Intervals laid out at a time where subtrees hold overlapping GPU events."""


@dataclass(frozen=True, slots=True)
class Work:
    """The GPU work of a trace, made once for all tables.

    ``gpu``: one row per GPU event by start: event, start_ns, dur_ns, device, stream, kind, role, name (code), op (event
    id of the nearest cpu_op, null = none), launcher (event id, null = unlinked).
    ``launchers``: one row per launcher by start: event, name, category, args, the thread's three names, direct_ns
    and subtree_ns (unions of GPU time), count (direct events that are no collectives).
    """

    analysis: Analysis
    gpu: pl.DataFrame
    launchers: pl.DataFrame

    @property
    def several_devices(self) -> bool:
        """Whether the trace holds the work of more than one device."""
        return len(self.analysis.splits) > 1

    def window(self) -> pl.DataFrame:
        """Return the window of each device: device, window_ns."""
        splits = self.analysis.splits
        return pl.DataFrame(
            {"device": list(splits), "window_ns": [split.window for split in splits.values()]},
            schema={"device": pl.Int32, "window_ns": pl.Int64},
        )


def gpu_work(analysis: Analysis) -> Work:
    """Return the GPU events and launchers of an analysis."""
    trace, tree = analysis.trace, analysis.tree
    ids = analysis.gpu["event"].to_numpy().astype(np.int32)
    gpu = trace.events.select("start_ns", "dur_ns", "device", "stream", "kind", "role", "name", "bytes")[ids]
    gpu = gpu.with_columns(
        event=pl.Series(ids, dtype=pl.UInt32),
        op=_ids(tree.op[ids]),
        launcher=_ids(_launchers(trace, tree, ids)),
        category=analysis.gpu["category"],
    )
    return Work(analysis, gpu, _launcher_frame(trace, tree, gpu, analysis.registry))


def _ids(values: Int32) -> pl.Series:
    """Event ids with null for -1."""
    series = pl.Series(values, dtype=pl.Int64)
    return series.set(series < 0, None).cast(pl.UInt32)


def _launchers(trace: Trace, tree: EventTree, gpu: Int32) -> Int32:
    """The launcher of each GPU event: its nearest cpu_op not named ``execute``, else its launch, -1 if unlinked."""
    name, kind = trace.events["name"].to_numpy(), trace.events["kind"].to_numpy()
    skipped = (kind == Kind.CPU_OP) & (name == _code(trace.names, _SKIPPED_OP))
    op = tree.op[gpu].copy()
    while (again := (op >= 0) & (skipped | (kind != Kind.CPU_OP))[op]).any():
        op[again] = tree.parent[op[again]]
    return np.where(op >= 0, op, tree.launch[gpu])


def _code(names: pl.Series, name: str) -> int:
    """The code of a name, -1 where the trace has no such name."""
    found = (names == name).arg_max()
    return found if found is not None and names[found] == name else -1


def _launcher_frame(trace: Trace, tree: EventTree, gpu: pl.DataFrame, registry: Registry) -> pl.DataFrame:
    linked = gpu.filter(pl.col("launcher").is_not_null()).with_columns(comm=pl.col("role") == Role.COMM)
    kernels = (
        linked.sort("comm", maintain_order=True)  # what an op computes says more about it than what it communicates
        .group_by("launcher", maintain_order=True)
        .agg(pl.col("name").alias("kernels"), (~pl.col("comm")).sum().cast(pl.Int64).alias("count"))
        .sort("launcher")
    )
    ids = kernels["launcher"].to_numpy().astype(np.int32)
    events = trace.events.select("start_ns", "name", "args", "thread", "uid")[ids]
    threads = trace.threads.select("process_name", "process_label", "thread_name")[events["thread"]]
    frame = pl.concat([kernels.rename({"launcher": "event"}), events.drop("name", "thread"), threads], how="horizontal")
    frame = frame.with_columns(
        name=trace.names.gather(events["name"]),
        direct_ns=_direct_ns(linked.filter(~pl.col("comm")), ids),
        subtree_ns=pl.Series(_subtree_ns(tree, ids, linked)),
    )
    return _categorised(frame, trace.names, registry).sort("start_ns", "event")


def _categorised(frame: pl.DataFrame, names: pl.Series, registry: Registry) -> pl.DataFrame:
    """Replace ``kernels`` by ``category``, asked once per distinct (name, kernels)."""
    distinct = frame.group_by("name", "kernels", maintain_order=True).agg("event")
    category = [
        op_category(name, tuple(names.gather(codes)), registry)
        for name, codes in distinct.select("name", "kernels").rows()
    ]
    found = distinct.select("event", pl.Series("category", category, dtype=pl.String)).explode("event")
    return frame.drop("kernels").join(found, on="event", how="left")


def _direct_ns(direct: pl.DataFrame, launchers: Int32) -> pl.Series:
    """The union of the GPU time that each launcher (ascending ids) launches itself."""
    group = np.searchsorted(launchers, direct["launcher"].to_numpy())
    start = direct["start_ns"].to_numpy()
    return pl.Series(segmented_union_length(group, start, start + direct["dur_ns"].to_numpy(), len(launchers)))


def _subtree_ns(tree: EventTree, launchers: Int32, linked: pl.DataFrame) -> Int64:
    """The union of the GPU time below each launcher.

    In preorder a subtree is a range.  Where its GPU events follow one another without overlap, as nearly always, their
    union is their sum and comes from prefix sums; only the others are laid out.
    """
    events = linked["event"].to_numpy().astype(np.int32)
    order = np.argsort(tree.position[events], kind="stable")
    position = tree.position[events][order]
    start = linked["start_ns"].to_numpy()[order]
    end = start + linked["dur_ns"].to_numpy()[order]
    low = np.searchsorted(position, tree.position[launchers])
    high = np.searchsorted(position, tree.position[launchers] + tree.size[launchers])
    sums = np.concatenate([[0], np.cumsum(end - start)])
    overlaps = np.concatenate([[0, 0], np.cumsum(start[1:] < end[:-1])])
    out = sums[high] - sums[low]
    tangled = np.flatnonzero(overlaps[high] - overlaps[np.minimum(low + 1, high)] > 0)
    for part in _parts(tangled, (high - low)[tangled]):
        length = (high - low)[part]
        group = np.repeat(np.arange(len(part)), length)
        index = np.arange(len(group)) - np.repeat(np.cumsum(length) - length - low[part], length)
        out[part] = segmented_union_length(group, start[index], end[index], len(part))
    return out


def _parts(items: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut ``items`` into runs of about ``_CHUNK`` intervals each, so that memory stays bounded."""
    runs = np.cumsum(sizes) // _CHUNK
    return [part for part in np.split(items, np.flatnonzero(np.diff(runs)) + 1) if len(part)]
