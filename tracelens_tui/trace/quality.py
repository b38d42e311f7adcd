"""Say in plain sentences what was repaired, impossible or missing, and what it does to the numbers."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.intervals import segmented_union_length
from tracelens_tui.trace.links import merged_processes, ranks_on_one_gpu
from tracelens_tui.trace.steps import steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import (
    GPU_KINDS,
    HOST_KINDS,
    LAUNCH_KINDS,
    QUALITY_CODES,
    DataQuality,
    Kind,
    QualityItem,
    Trace,
)

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

GATE_SHARE = 0.001
"""Defects below this share of busy time occur in healthy traces."""

_NO_TIME_EFFECT = "GPU work without a duration takes no part in the time split; host events count as unfinished."
_CLIPPED_EFFECT = "Their time was cut at the next start on the stream; the raw times are kept."
_MOVED_EFFECT = "Waiting times between launch and start cannot be trusted; the clocks of host and GPU disagree."


def with_items(quality: DataQuality, items: Iterable[QualityItem]) -> DataQuality:
    """Return the record with the items added in the order of the closed list; of one code the first stays."""
    known = {item.code: item for item in items} | {item.code: item for item in quality.items}
    return replace(quality, items=tuple(sorted(known.values(), key=lambda item: QUALITY_CODES.index(item.code))))


def repair_items(raw: Trace, repaired: Trace) -> list[QualityItem]:
    """Return the items about times that were repaired, several ranks in one file, and steps without GPU work."""
    items = [_no_time(repaired, code, word) for code, word in _NO_TIME_CODES.items()]
    items += [_clipped(raw, repaired, code, words) for code, words in _CLIP_CODES.items()]
    items += [_merged_ranks(repaired), _dead_steps(repaired)]
    return [item for item in items if item is not None]


def finished_quality(trace: Trace, tree: EventTree) -> DataQuality:
    """Return the quality of a repaired trace with what only the tree can tell: links, shapes, missing sides."""
    gpu = _gpu_ids(trace)
    if not len(gpu):
        message = f"The trace holds no GPU work: no kernel, copy or set was recorded.{_unread_phases(trace)}"
        return with_items(
            trace.quality, [QualityItem("no_gpu", 1, message, "There is nothing to analyse.", gates=True)]
        )
    items = [
        _kernel_before_launch(trace, tree, gpu),
        _zero_duration(trace, gpu),
        _recorded_twice(trace, gpu),
        *_unattributed(trace, tree, gpu),
        _no_shapes(trace, tree, gpu),
    ]
    return with_items(trace.quality, [item for item in items if item is not None])


_NO_TIME_CODES = {"negative_duration": "a negative duration", "missing_duration": "no duration"}
_CLIP_CODES = {
    "duration_overflow": "last beyond all the work that was recorded after them",
    "stream_overlap": "overlap the next GPU event on the same stream",
}


def _gpu_ids(trace: Trace) -> Int64:
    return np.flatnonzero(np.isin(trace.events["kind"].to_numpy(), GPU_KINDS))


def busy_ns(trace: Trace) -> int:
    """Return the time in which a device is busy, summed over the devices."""
    gpu = trace.events.filter(pl.col("kind").is_in(GPU_KINDS) & (pl.col("dur_ns") > 0))
    device = gpu["device"].to_numpy().astype(np.int64) + 1  # unknown is -1
    start = gpu["start_ns"].to_numpy()
    lengths = segmented_union_length(device, start, start + gpu["dur_ns"].to_numpy(), int(device.max(initial=0)) + 1)
    return int(lengths.sum())


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0


def _events_with(trace: Trace, code: str) -> Int64:
    return trace.repairs.filter(pl.col("code") == code)["event"].unique().to_numpy().astype(np.int64)


def _no_time(trace: Trace, code: str, words: str) -> QualityItem | None:
    events = _events_with(trace, code)
    if not len(events):
        return None
    on_gpu = int(np.isin(trace.events["kind"].to_numpy()[events], GPU_KINDS).sum())
    message = f"{_count(len(events), 'event')} {'has' if len(events) == 1 else 'have'} {words}, {on_gpu} on the GPU."
    gates = on_gpu > GATE_SHARE * len(_gpu_ids(trace))
    return QualityItem(code, len(events), message, _NO_TIME_EFFECT, gates=gates)


def _clipped(raw: Trace, repaired: Trace, code: str, words: str) -> QualityItem | None:
    events = _events_with(repaired, code)
    if not len(events):
        return None
    rows = repaired.repairs.filter(pl.col("code") == code).unique("event", keep="first", maintain_order=True)
    ids = rows["event"].to_numpy()
    on_gpu = np.isin(repaired.events["kind"].to_numpy()[ids], GPU_KINDS)
    removed = rows["raw_dur_ns"].to_numpy() - repaired.events["dur_ns"].to_numpy()[ids]
    share = _share(float(removed[on_gpu].sum()), busy_ns(raw))
    message = f"{_count(len(events), 'event')} {words if len(events) > 1 else _singular(words)}."
    return QualityItem(code, len(events), message, _CLIPPED_EFFECT, share, gates=share > GATE_SHARE)


def _merged_ranks(trace: Trace) -> QualityItem | None:
    count = merged_processes(trace)
    if count < 2:
        return None
    if ranks_on_one_gpu(trace):
        message = f"The file holds the work of {count} processes, and their GPU events carry the same device number."
        return QualityItem("merged_ranks", count, message, "Times of different GPUs are mixed.", gates=True)
    message = f"The file holds the work of {count} processes with a GPU of its own each."
    return QualityItem("merged_ranks", count, message, "Time splits are per GPU; op tables hold every process.")


def _dead_steps(trace: Trace) -> QualityItem | None:
    """Steps in which nothing was launched and no GPU work started."""
    found = steps(trace)
    if not found.height or not len(_gpu_ids(trace)):
        return None
    kind, start = trace.events["kind"].to_numpy(), trace.events["start_ns"].to_numpy()
    correlation = trace.events["correlation"].to_numpy()
    gpu = np.isin(kind, GPU_KINDS)
    launching = np.isin(kind, LAUNCH_KINDS) & np.isin(correlation, correlation[gpu]) & (correlation != 0)
    times = np.sort(start[gpu | launching])
    low = np.searchsorted(times, found["start_ns"].to_numpy())
    dead = int((np.searchsorted(times, found["end_ns"].to_numpy()) == low).sum())
    if not dead:
        return None
    message = f"{dead:,} of {_count(found.height, 'step')} hold no GPU work."
    effect = "Averages per step and the idle share describe the capture, not the workload."
    return QualityItem("dead_steps", dead, message, effect, gates=2 * dead > found.height)


def _kernel_before_launch(trace: Trace, tree: EventTree, gpu: Int64) -> QualityItem | None:
    start = trace.events["start_ns"].to_numpy().copy()
    moved = trace.repairs.filter(pl.col("code") == "kernel_before_launch")
    start[moved["event"].to_numpy()] = moved["raw_start_ns"].to_numpy()
    linked = gpu[tree.launch[gpu] >= 0]
    early = linked[start[linked] < start[tree.launch[linked]]]
    strange = np.union1d(early, moved["event"].to_numpy().astype(np.int64))
    if not len(strange):
        return None
    dur = trace.events["dur_ns"].to_numpy()
    share = _share(float(dur[strange].sum()), busy_ns(trace))
    late = moved["raw_start_ns"].to_numpy() > trace.events["start_ns"].to_numpy()[moved["event"].to_numpy()]
    place = "far from" if late.any() else "before"
    verb = f"starts {place} its launch" if len(strange) == 1 else f"start {place} their launch"
    message = f"{_count(len(strange), 'GPU event')} {verb}."
    return QualityItem("kernel_before_launch", len(strange), message, _MOVED_EFFECT, share, gates=share > GATE_SHARE)


def _zero_duration(trace: Trace, gpu: Int64) -> QualityItem | None:
    """GPU work that was recorded as taking no time, beside what has no valid duration at all."""
    dur = trace.events["dur_ns"].to_numpy()[gpu]
    told = np.isin(gpu, trace.repairs["event"].to_numpy().astype(np.int64))
    count = int(((dur == 0) & ~told).sum())
    if not count:
        return None
    message = f"{_count(count, 'GPU event')} of {len(gpu):,} {'lasts' if count == 1 else 'last'} 0 ns."
    effect = "They take no part in the time split: its busy time is too small."
    return QualityItem("zero_duration", count, message, effect, gates=count > GATE_SHARE * len(gpu))


def _recorded_twice(trace: Trace, gpu: Int64) -> QualityItem | None:
    """GPU events that equal an earlier one in name, place, times and correlation."""
    frame = trace.events.select("device", "stream", "name", "start_ns", "dur_ns", "correlation", "thread")[gpu]
    again = (
        ~frame.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy() & (frame["dur_ns"] > 0).to_numpy()
    )
    count = int(again.sum())
    if not count:
        return None
    share = _share(float(frame["dur_ns"].to_numpy()[again].sum()), busy_ns(trace))
    message = f"{_count(count, 'GPU event')} {'stands' if count == 1 else 'stand'} in the file twice."
    effect = "Sums over kernels and ops count them twice; the time split does not."
    return QualityItem("recorded_twice", count, message, effect, share, gates=share > GATE_SHARE)


def _unread_phases(trace: Trace) -> str:
    """What the file holds in place of complete events, as the end of a message."""
    pairs = trace.metadata.phase_counts.get("B", 0)
    return f" Its {_count(pairs, 'pair')} of begin and end events (ph B and E) are not read." if pairs else ""


def _unattributed(trace: Trace, tree: EventTree, gpu: Int64) -> list[QualityItem | None]:
    dur = trace.events["dur_ns"].to_numpy()
    kinds = trace.events["kind"].to_numpy()
    any_host = bool(np.isin(kinds, HOST_KINDS).any())
    items = [_no_host(any_host=any_host, any_op=bool(np.isin(kinds, (Kind.CPU_OP, Kind.PYTHON_FUNCTION)).any()))]
    unlinked = gpu[tree.launch[gpu] < 0]
    if not len(unlinked) or not any_host:
        return items
    share = _share(float(dur[unlinked].sum()), float(dur[gpu].sum()))
    message = (
        f"{_count(len(unlinked), 'GPU event')} of {len(gpu):,} ({share:.1%} of GPU time) cannot be linked to a launch."
    )
    effect = "They count in the time split and the kernel tables, but under no op."
    return [*items, QualityItem("unlinked", len(unlinked), message, effect, share)]


def _no_host(*, any_host: bool, any_op: bool) -> QualityItem | None:
    """The item for a trace without a CPU side, or with launches as the whole of it."""
    if any_op:
        return None
    message = "The trace holds no CPU side: no ops and no Python functions" + (", only launches." if any_host else ".")
    return QualityItem("no_host", 1, message, "Kernels cannot be attributed to ops, shapes or the code that runs them.")


def _no_shapes(trace: Trace, tree: EventTree, gpu: Int64) -> QualityItem | None:
    """Most GPU time under ops is under ops whose argument shapes were not recorded."""
    owned = gpu[tree.op[gpu] >= 0]
    if not len(owned):
        return None
    dur = trace.events["dur_ns"].to_numpy()
    shaped = trace.args["dims"].to_numpy() != ""
    without = ~shaped[trace.events["args"].to_numpy()[tree.op[owned]]]
    share = _share(float(dur[owned[without]].sum()), float(dur[owned].sum()))
    if share <= 0.5:
        return None
    count = len(np.unique(tree.op[owned[without]]))
    message = f"{_count(count, 'op call')} with {share:.0%} of the GPU time under ops have no recorded argument shapes."
    effect = "Without shapes there is no roofline; record with record_shapes=True."
    return QualityItem("no_shapes", count, message, effect, share)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _singular(words: str) -> str:
    verb, rest = words.split(" ", 1)
    return f"{verb}s {rest}"
