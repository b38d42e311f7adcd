"""The lanes of the timeline: what ran when on each stream and host thread, ready for any zoom.

A zoom asks for the busy time of each of a few hundred bins.  It is read off the running total of disjoint intervals, so
a picture costs a binary search per bin and kind of work, however many events there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.text import plain
from tracelens_tui.trace.intervals import Intervals, covered, union
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, Kind, Role

Int64 = NDArray[np.int64]

_MATRIX = ("gemm", "sdpa", "conv", "inferenceattention", "moe_fused", "moe_unfused")


class Work(IntEnum):
    """Kinds of work that the timeline tells apart."""

    MATRIX = 0  # matrix units: GEMM, attention, convolution
    VECTOR = 1  # every other kernel
    COMM = 2
    COPY = 3  # copies and sets of memory
    HOST = 4


@dataclass(frozen=True, slots=True)
class Lane:
    """One stream or host thread; its events are in the order of their starts."""

    label: str
    device: int | None  # None: a host thread
    events: NDArray[np.int64]  # ids
    start: Int64  # ns
    end: Int64
    reach: Int64  # latest end so far
    busy: Mapping[Work, Intervals]

    def shares(self, edges: Int64) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return for each bin between ``edges`` the part that is busy, and the kind of work with most of it."""
        width = np.diff(edges)
        time = np.stack([np.diff(covered(intervals, edges)) for intervals in self.busy.values()])
        kinds = np.array(list(self.busy), np.int64)
        return np.minimum(time.sum(axis=0) / width, 1.0), kinds[time.argmax(axis=0)]

    def within(self, start: int, end: int) -> slice:
        """Return which events may overlap the time; those that end before it lie between others that do not."""
        first = int(np.searchsorted(self.reach, start, "right"))
        return slice(first, max(first, int(np.searchsorted(self.start, end, "left"))))

    def event_in(self, start: int, end: int) -> int | None:
        """Return the event that takes most of the time; None where nothing runs in it."""
        part = self.within(start, end)
        if part.start == part.stop:
            return None
        overlap = np.minimum(self.end[part], end) - np.maximum(self.start[part], start)
        best = int(overlap.argmax())
        return int(self.events[part.start + best]) if overlap[best] > 0 else None

    def beside(self, time: int, step: int) -> int | None:
        """Return the place of the first event that starts after the time, or of the last that starts before it."""
        place = int(np.searchsorted(self.start, time, "right" if step > 0 else "left")) - (step < 0)
        return place if 0 <= place < len(self.events) else None

    def long_events(self, start: int, end: int, least: int) -> list[tuple[int, int, int]]:
        """Return event, start and end of what runs for ``least`` ns or longer in the time."""
        part = self.within(start, end)
        begin, stop = np.maximum(self.start[part], start), np.minimum(self.end[part], end)
        found = np.flatnonzero(stop - begin >= least)
        return [(int(self.events[part.start + at]), int(begin[at]), int(stop[at])) for at in found.tolist()]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The lanes of a trace and the idle gaps of its chosen device."""

    gpu: tuple[Lane, ...]
    host: tuple[Lane, ...]
    start: int  # ns, of everything in the lanes
    end: int
    origin: int  # start of the device's window: the zero of the axis
    window_end: int
    idle: Mapping[str, Intervals]  # by cause
    names: pl.Series
    codes: NDArray[np.uint32]  # event -> its name's place in ``names``

    def name_of(self, event: int) -> str:
        """Return the event's name, as plain text."""
        return plain(str(self.names[int(self.codes[event])]))

    def named(self, words: str, events: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of the events hold the words in their name, in any case of letters."""
        held = self.names.str.to_lowercase().str.contains(words.lower(), literal=True).to_numpy()
        return held[self.codes[events]]

    def lane_of(self, event: int) -> tuple[bool, int] | None:
        """Return whether a host lane holds the event, and its number among its kind; None where no lane does."""
        for host, lanes in ((False, self.gpu), (True, self.host)):
            for number, lane in enumerate(lanes):
                if (lane.events == event).any():
                    return host, number
        return None


def timeline_of(analysis: Analysis) -> Timeline:
    """Return the timeline of an analysis, the chosen device's streams first."""
    gpu, host = _gpu_lanes(analysis), _host_lanes(analysis)
    lanes = (*gpu, *host)
    split = analysis.splits.get(analysis.device) if analysis.device is not None else None
    start = min((int(lane.start[0]) for lane in lanes), default=0)
    end = max((int(lane.reach[-1]) for lane in lanes), default=1)
    origin = split.start_ns if split else start
    return Timeline(
        gpu=tuple(gpu),
        host=tuple(host),
        start=start,
        end=max(end, start + 1),
        origin=origin,
        window_end=origin + split.window if split else end,
        idle=_idle(analysis),
        names=analysis.trace.names,
        codes=analysis.trace.events["name"].to_numpy(),
    )


def _gpu_lanes(analysis: Analysis) -> list[Lane]:
    """A lane for each stream of each device, the chosen device first, by number."""
    columns = ("device", "stream", "start_ns", "dur_ns", "kind", "role")
    frame = pl.concat(
        [analysis.gpu.select("event", "row", "category"), analysis.trace.events.select(columns)[analysis.gpu["event"]]],
        how="horizontal",
    )
    named = frame.join(analysis.ops.select("row", pl.col("category").alias("of_op")), on="row", how="left")
    named = named.with_columns(pl.coalesce("of_op", "category").fill_null("").alias("category"))
    work = _work(named)
    out: list[tuple[tuple[bool, int, int], Lane]] = []
    for (device, stream), part in named.with_columns(work.alias("work")).group_by("device", "stream"):
        lane = _lane(f"GPU {device} s{stream}", int(str(device)), part)
        out.append(((device != analysis.device, int(str(device)), int(str(stream))), lane))
    return [lane for _, lane in sorted(out, key=lambda item: item[0])]


def _work(frame: pl.DataFrame) -> pl.Series:
    """The kind of work of each GPU event."""
    category = pl.col("category").str.to_lowercase()
    matrix = pl.any_horizontal([category.str.starts_with(word) for word in _MATRIX])
    memory = pl.col("kind").is_in([int(Kind.MEMCPY), int(Kind.MEMSET)]) | (pl.col("role") == Role.COPY)
    return frame.select(
        pl.when(pl.col("role") == Role.COMM)
        .then(int(Work.COMM))
        .when(memory)
        .then(int(Work.COPY))
        .when(matrix)
        .then(int(Work.MATRIX))
        .otherwise(int(Work.VECTOR))
        .alias("work")
    )["work"]


def _host_lanes(analysis: Analysis) -> list[Lane]:
    """A lane for each host thread with its outermost ops and runtime calls, the one with most of them first."""
    events, parent = analysis.trace.events, analysis.tree.parent
    kind = events["kind"].to_numpy()
    wanted = np.isin(kind, (Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)) & np.isin(kind, HOST_KINDS)
    outermost = np.flatnonzero(wanted & ~(wanted[np.maximum(parent, 0)] & (parent >= 0)))
    frame = events.select("thread", "start_ns", "dur_ns")[outermost].with_columns(
        pl.Series("event", outermost, pl.Int64), pl.lit(int(Work.HOST)).alias("work")
    )
    tids = analysis.trace.threads["tid"].to_list()
    parts = sorted(frame.group_by("thread"), key=lambda item: (-item[1].height, int(str(item[0][0]))))
    return [_lane(f"host {plain(tids[int(str(thread))], 40)}", None, part) for (thread,), part in parts]


def _lane(label: str, device: int | None, part: pl.DataFrame) -> Lane:
    part = part.sort("start_ns", "event")
    start, end = part["start_ns"].to_numpy(), part.select(pl.col("start_ns") + pl.col("dur_ns"))["start_ns"].to_numpy()
    work = part["work"].to_numpy()
    return Lane(
        label=label,
        device=device,
        events=part["event"].to_numpy().astype(np.int64),
        start=start,
        end=end,
        reach=np.maximum.accumulate(end),
        busy={Work(kind): union(start[work == kind], end[work == kind]) for kind in np.unique(work).tolist()},
    )


def _idle(analysis: Analysis) -> Mapping[str, Intervals]:
    """The idle gaps of the chosen device by cause."""
    gaps = analysis.gaps.filter(pl.col("device") == analysis.device) if analysis.device is not None else None
    if gaps is None or not gaps.height:
        return {}
    out: dict[str, Intervals] = {}
    for (cause,), part in gaps.group_by("cause", maintain_order=True):
        start, length = part["start_ns"].to_numpy(), part["dur_ns"].cast(pl.Int64).to_numpy()
        out[str(cause)] = union(start, start + length)
    return out


def gpu_event_under(analysis: Analysis, event: int) -> int | None:
    """Return the longest GPU event at or below an event of the tree; None where there is none."""
    tree, kind = analysis.tree, analysis.trace.events["kind"].to_numpy()
    if kind[event] in GPU_KINDS:
        return event
    first = tree.position[event]
    inside = np.flatnonzero((tree.position > first) & (tree.position < first + tree.size[event]))
    found = inside[np.isin(kind[inside], GPU_KINDS)]
    if not len(found):
        return None
    return int(found[analysis.trace.events["dur_ns"].to_numpy()[found].argmax()])
