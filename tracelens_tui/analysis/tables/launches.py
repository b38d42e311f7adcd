"""``launch_stats``: how kernels follow their launches."""

import polars as pl

from tracelens_tui.analysis.tables.work import Work
from tracelens_tui.analysis.units import per

_TIMES = ("latency", "delay", "queued")
_STATS = ("mean", "p50", "p90", "p99", "max")


def launch_stats(work: Work) -> pl.DataFrame:
    """Return latency, delay and queueing in µs and the queue's depth, per device (no stream) and stream.

    ``starved_percent`` is the share of kernels that start at most 10 µs after their launch has returned.
    """
    launches = work.analysis.launches
    return launches.select(
        "device",
        "stream",
        "kernels",
        *(per(f"{name}_{stat}", 1e3).alias(f"{name}_us_{stat}") for name in _TIMES for stat in _STATS),
        pl.when(pl.col("kernels") > 0).then(100.0 * pl.col("starved") / pl.col("kernels")).alias("starved_percent"),
        "depth_mean",
        "depth_median",
        "depth_max",
        "graph_launches",
        "graph_kernels",
        pl.col("early").alias("early_kernels"),
        pl.col("unlinked").alias("unlinked_kernels"),
    )
