"""Which GPU work belongs to which step.

GPU work belongs to the step in which its launch was called, by the process that called it, whenever it runs; work
without a launch to the step in which it starts.  A step ends where the next one of its process begins.  Where the host
has no step marks, those on the rows of a GPU give the steps: all its work belongs by its own start.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.links import last_at_or_before
from tracelens_tui.trace.processes import NO_PROCESS, drivers, processes
from tracelens_tui.trace.steps import numbered_steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Kind, Trace

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepWork:
    """The steps of a trace and the GPU events that belong to them.

    ``steps``: one row per step by start: event (its mark), number, start_ns, end_ns, process.
    ``event``, ``step``, ``process``: every GPU event, its row of ``steps`` (-1 none) and the process it works for.
    """

    steps: pl.DataFrame
    on_host: bool  # whether the marks are those of the host, so that they tell how long it took
    event: Int64
    step: Int64
    process: Int64

    @property
    def working(self) -> pl.DataFrame:
        """The steps that have GPU work."""
        return self.steps[np.unique(self.step[self.step >= 0])]


def step_work(trace: Trace, tree: EventTree) -> StepWork:
    """Return the steps and which GPU event belongs to which of them."""
    events = trace.events
    kind, start = events["kind"].to_numpy(), events["start_ns"].to_numpy()
    process = processes(trace) if len(trace) else np.zeros(0, np.int64)
    gpu = np.flatnonzero(np.isin(kind, GPU_KINDS))
    found = numbered_steps(trace)
    found = found.with_columns(process=pl.Series(process[found["event"].to_numpy()], dtype=pl.Int64))
    on_host = bool((kind[found["event"].to_numpy()] == Kind.USER_ANNOTATION).all())
    if on_host:
        home, time = _by_launch(tree, gpu, process, start)
    else:
        found, home, time = _one_per_step(found), process[gpu], start[gpu]
    owner = found["process"].to_numpy()
    if len(np.unique(owner)) == 1:  # then it is the one that drives a GPU of which no launch is known
        home = np.where(home == NO_PROCESS, owner[0], home)
    step = last_at_or_before(owner, found["start_ns"].to_numpy(), home, time)
    step[(step >= 0) & (time >= np.append(found["end_ns"].to_numpy(), 0)[step])] = -1
    return StepWork(found, on_host, gpu, step, home)


def _by_launch(tree: EventTree, gpu: Int64, process: Int64, start: Int64) -> tuple[Int64, Int64]:
    """For each GPU event the process that launched it and when; of unlinked ones the driver and their own start."""
    launch = tree.launch[gpu]
    linked = launch >= 0
    home = np.where(linked, process[launch], drivers(tree, process)[process[gpu]])
    return home, np.where(linked, start[launch], start[gpu])


def _one_per_step(found: pl.DataFrame) -> pl.DataFrame:
    """The marks of one step on several rows of a GPU as one, from the first start to the last end."""
    groups = found.group_by("process", "number", maintain_order=True)
    merged = groups.agg(pl.col("event").first(), pl.col("start_ns").min(), pl.col("end_ns").max())
    return merged.sort("start_ns", "event")
