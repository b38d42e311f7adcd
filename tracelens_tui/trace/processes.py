"""Which process an event belongs to, and which process drives a GPU."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

Int64 = NDArray[np.int64]

NO_PROCESS = -1
"""The process of a GPU whose driver is not known."""


def processes(trace: Trace) -> Int64:
    """Return a number for the process of each event; the rows of GPUs are processes of their own."""
    threads = trace.threads.select(pl.struct(pl.col("pid").fill_null(""), "is_gpu").rank("dense").cast(pl.Int64))
    return threads.to_series().to_numpy()[trace.events["thread"].to_numpy()]


def drivers(tree: EventTree, process: Int64) -> Int64:
    """Return for each process number of GPU rows the host process that launches most of their work.

    ``process`` is that of :func:`processes`; ``NO_PROCESS`` where none of the work has a launch.
    """
    driver = np.full(int(process.max(initial=0)) + 1, NO_PROCESS, np.int64)
    linked = np.flatnonzero(tree.launch >= 0)
    pairs = pl.DataFrame({"gpu": process[linked], "host": process[tree.launch[linked]]})
    count = pairs.group_by("gpu", "host", maintain_order=True).len().sort("len", maintain_order=True)
    driver[count["gpu"].to_numpy()] = count["host"].to_numpy()  # of one GPU the pair of most events comes last
    return driver
