"""How kernels follow their launches: latency, queueing and the depth of the queue, per device and stream.

Of a kernel and the call that launched it:

* ``latency``: from the call's begin to the kernel's start;
* ``delay``: from the call's return to the kernel's start; negative where the kernel starts earlier;
* ``queued``: the part of the latency in which the kernel's stream was still busy with earlier work.

The depth of a queue at a time is the number of launches that were called and whose kernels have not all finished; the
launch of a graph is one, however many kernels it has.
"""

import numpy as np
import polars as pl

from tracelens_tui.analysis.model import LAUNCHES_SCHEMA, TimeSplit, conform
from tracelens_tui.analysis.timesplit import without_time
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Kind, Trace

STARVED_NS = 10_000
"""A kernel that starts so soon after its launch has returned found an empty queue: the GPU was waiting for it."""

_GRAPH = "(?i)graphlaunch"
_PLACE = ("device", "stream")


def launch_stats(trace: Trace, tree: EventTree, splits: dict[int, TimeSplit]) -> pl.DataFrame:
    """Return ``LAUNCHES_SCHEMA``: a row per device, its stream null, followed by one per stream of it.

    ``splits`` gives each device's window.  Kernels of graphs, kernels that start before their launch and kernels
    without a launch are counted apart; the first of these stand in the depth.
    """
    kernels = _kernels(trace, tree)
    if not kernels.height:
        return pl.DataFrame(schema=LAUNCHES_SCHEMA)
    levels = (("device",), _PLACE)
    parts = [_stats(kernels, key).join(_depths(kernels, key, splits), on=key, how="left") for key in levels]
    frame = pl.concat(parts, how="diagonal").sort(*_PLACE, nulls_last=False)
    counts = ("depth_median", "depth_max")
    some = pl.col("kernels") + pl.col("graph_launches") > 0
    return conform(frame.with_columns(pl.when(some).then(pl.col("depth_mean", *counts).fill_null(0))), LAUNCHES_SCHEMA)


def _kernels(trace: Trace, tree: EventTree) -> pl.DataFrame:
    """Every kernel: place, start, end, its launch and what kind of kernel it is to the statistics."""
    gpu = np.flatnonzero(np.isin(trace.events["kind"].to_numpy(), GPU_KINDS))
    launch = tree.launch[gpu].astype(np.int64)
    called = trace.events["start_ns"].to_numpy()[launch]
    moved = trace.repairs.filter(pl.col("code") == "kernel_before_launch")["event"]
    strange = np.isin(gpu, np.union1d(moved.to_numpy(), without_time(trace).to_numpy()))
    events = trace.events.select(*_PLACE, "kind", start="start_ns", end=pl.col("start_ns") + pl.col("dur_ns"))[gpu]
    frame = events.with_columns(
        launch=pl.Series(launch),
        called=pl.Series(called),
        returned=pl.Series(called + trace.events["dur_ns"].to_numpy()[launch]),
        linked=pl.Series(launch >= 0),
        graph=pl.Series(_graph_launches(trace)[launch] & (launch >= 0)),
        early=pl.Series((launch >= 0) & (strange | (events["start"].to_numpy() < called))),
    ).sort("start", "end", maintain_order=True)
    free = pl.col("end").cum_max().shift(1).over(_PLACE)  # when the stream has done all that started before
    waited = pl.when(free.is_not_null()).then((pl.min_horizontal(free, "start") - pl.col("called")).clip(0))
    return (
        frame.with_columns(
            latency=pl.col("start") - pl.col("called"),
            delay=pl.col("start") - pl.col("returned"),
            queued=waited.fill_null(0),
            graph=pl.col("graph") & ~pl.col("early"),
            single=pl.col("linked") & ~pl.col("graph") & ~pl.col("early"),
        )
        .filter(pl.col("kind") == Kind.KERNEL)
        .drop("kind")
    )


def _graph_launches(trace: Trace) -> np.ndarray:
    """Which events launch a graph, by name."""
    named = trace.names.str.contains(_GRAPH).fill_null(value=False).to_numpy()
    return named[trace.events["name"].to_numpy()] if len(named) else np.zeros(len(trace), bool)


def _stats(kernels: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The counts and the distribution of the three times of each group."""
    single = pl.col("single")
    times = [
        stat.alias(f"{name}_{label}")
        for name in ("latency", "delay", "queued")
        for label, stat in _distribution(pl.col(name).filter(single))
    ]
    graph, delay = pl.col("graph"), pl.col("delay").filter(single)
    return kernels.group_by(key).agg(
        single.sum().alias("kernels"),
        *times,
        (delay <= STARVED_NS).sum().alias("starved"),
        pl.col("launch").filter(graph).n_unique().alias("graph_launches"),
        graph.sum().alias("graph_kernels"),
        pl.col("early").sum(),
        (~pl.col("linked")).sum().alias("unlinked"),
    )


def _distribution(values: pl.Expr) -> list[tuple[str, pl.Expr]]:
    quantiles = [(f"p{share}", values.quantile(share / 100, "linear")) for share in (50, 90, 99)]
    return [("mean", values.mean()), *quantiles, ("max", values.max().cast(pl.Float64))]


def _depths(kernels: pl.DataFrame, key: tuple[str, ...], splits: dict[int, TimeSplit]) -> pl.DataFrame:
    """Mean, median and maximum of the depth of each group over its device's window."""
    pieces = _pieces(_entries(kernels, key, splits), key)
    length, depth = pl.col("length"), pl.col("depth")
    mean = (length.cast(pl.Float64) * depth).sum() / pl.col("window").first()
    levels = pieces.group_by(*key, "depth").agg(length.sum(), pl.col("window").first()).sort(*key, "depth")
    empty = pl.col("window") - length.sum().over(key)
    within = levels.with_columns(reached=2 * (length.cum_sum().over(key) + empty) >= pl.col("window"), empty=empty)
    median = pl.when(2 * pl.col("empty").first() < pl.col("window").first()).then(depth.filter(pl.col("reached")).min())
    return within.group_by(key).agg(depth_mean=mean, depth_median=median.otherwise(0), depth_max=depth.max())


def _entries(kernels: pl.DataFrame, key: tuple[str, ...], splits: dict[int, TimeSplit]) -> pl.DataFrame:
    """What stands in the queue of each group: one launch from its call to the end of its last kernel, in the window."""
    windows = pl.DataFrame(
        [(device, split.start_ns, split.window) for device, split in splits.items()],
        schema={"device": pl.Int32, "opens": pl.Int64, "window": pl.Int64},
        orient="row",
    )
    waiting = kernels.filter(pl.col("single") | pl.col("graph"))
    launches = waiting.group_by(*key, "launch").agg(pl.col("called").first(), pl.col("end").max())
    return launches.join(windows, on="device").with_columns(called=pl.max_horizontal("called", "opens"))


def _pieces(entries: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """The stretches between calls and ends in which the queue of a group is not empty: length and depth."""
    entries = entries.filter(pl.col("called") < pl.col("end"))
    edges = pl.concat(
        [
            entries.select(*key, "window", time=pl.col(column), change=pl.lit(change, pl.Int64))
            for column, change in (("called", 1), ("end", -1))
        ]
    ).sort(*key, "time")
    depth, length = pl.col("change").cum_sum().over(key), pl.col("time").shift(-1).over(key) - pl.col("time")
    return edges.with_columns(depth=depth, length=length).filter((pl.col("depth") > 0) & (pl.col("length") > 0))
