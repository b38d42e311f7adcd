"""Link every GPU event to the runtime or driver call that launched it.

Correlations and External ids are number spaces of their own and are never compared with each other.  Both repeat in
files merged from several processes, so a number only means something within a process.
"""

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.types import GPU_KINDS, LAUNCH_KINDS, NONE_ID, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_LAUNCHING = re.compile(r"launch|mem(?:cpy|set)|copy|fill|enqueue|exec", re.IGNORECASE)
"""Tells the call that put work on the device from others of the same correlation; never a condition for a link."""


_AS_WELL = 0.9
"""A process that explains this share of what the best one does explains a GPU as well: ranks lose a few launches."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Either the GPU events of a trace or the calls that may have launched them."""

    event: Int64  # rows of Trace.events
    process: Int64  # code of the pid that its rows stand under
    thread: Int64
    start: Int64
    end: Int64
    correlation: Int64
    external: Int64

    def __len__(self) -> int:
        return len(self.event)

    def only(self, keep: Bool) -> "_Side":
        return _Side(
            self.event[keep],
            self.process[keep],
            self.thread[keep],
            self.start[keep],
            self.end[keep],
            self.correlation[keep],
            self.external[keep],
        )


def launch_of(trace: Trace) -> NDArray[np.int32]:
    """Return for each event the id of the launch that owns it, -1 for host events and what cannot be linked.

    The first of these that gives a launch decides: one correlation on both sides, an arrow that ends on the GPU row
    or, in files where no event has a correlation, one External id on both sides.  A graph launch owns every GPU event
    of its correlation.
    """
    launch = np.full(len(trace), -1, np.int32)
    gpu, calls = _side(trace, GPU_KINDS), _side(trace, LAUNCH_KINDS)
    if not len(gpu) or not len(calls):
        return launch
    if (trace.events["correlation"] != NONE_ID).any():
        found = _by_correlation(gpu, calls, _launching(trace, calls))
    else:
        found = _by_external_id(gpu, calls, _launching(trace, calls))
    arrows = trace.flows.filter(~pl.col("autograd"))
    if arrows.height:
        found = np.where(found < 0, _by_flow(gpu, calls, arrows), found)
    launch[gpu.event] = found
    return launch


def merged_processes(trace: Trace) -> int:
    """Return how many host processes launch work under the same correlation numbers; 0 unless ranks were merged."""
    launches = trace.events.lazy().filter(pl.col("kind").is_in(LAUNCH_KINDS) & (pl.col("correlation") != NONE_ID))
    pids = trace.threads.lazy().select("pid", thread=pl.int_range(pl.len(), dtype=pl.UInt32))
    if launches.select("thread").unique().join(pids, on="thread").select(pl.col("pid").n_unique()).collect().item() < 2:
        return 0
    owners = launches.join(pids, on="thread").select("pid", "correlation").unique()
    return owners.filter(pl.col("correlation").is_duplicated()).select(pl.col("pid").n_unique()).collect().item()


def ranks_on_one_gpu(trace: Trace) -> bool:
    """Return whether GPU events of several merged processes carry one device number, so that times mix."""
    processes = merged_processes(trace)
    if processes < 2:
        return False
    return trace.events.filter(pl.col("kind").is_in(GPU_KINDS))["device"].n_unique() < processes


def last_at_or_before(key_a: Int64, time_a: Int64, key_b: Int64, time_b: Int64) -> Int64:
    """Return for each b the index of the a with the same key and the greatest time <= its own, -1 where none."""
    n = len(key_a)
    key, time = np.concatenate((key_a, key_b)), np.concatenate((time_a, time_b))
    is_b = np.arange(len(key)) >= n
    order = np.lexsort((is_b, time, key))
    place = np.where(is_b[order], -1, np.arange(len(order)))
    last = np.maximum.accumulate(place)
    candidate = np.where(last >= 0, order[last], -1)
    good = (candidate >= 0) & (key[candidate] == key[order])
    out = np.full(len(key_b), -1, np.int64)
    b = is_b[order]
    out[order[b] - n] = np.where(good, candidate, -1)[b]
    return out


def _side(trace: Trace, kinds: tuple[int, ...]) -> _Side:
    events = trace.events
    ids = np.flatnonzero(np.isin(events["kind"].to_numpy(), kinds))
    pids = trace.threads["pid"].fill_null("").to_numpy()
    process = np.unique(pids, return_inverse=True)[1].reshape(-1) if len(pids) else np.zeros(0, np.int64)
    thread = events["thread"].to_numpy()[ids].astype(np.int64)
    start = events["start_ns"].to_numpy()[ids]
    end = start + events["dur_ns"].to_numpy()[ids]
    columns = (events[name].to_numpy()[ids] for name in ("correlation", "external_id"))
    return _Side(ids, process[thread], thread, start, end, *columns)


def _launching(trace: Trace, calls: _Side) -> Bool:
    """Which of the calls put work on the device, by name."""
    codes, inverse = np.unique(trace.events["name"].to_numpy()[calls.event], return_inverse=True)
    return np.array([bool(_LAUNCHING.search(trace.names[int(code)])) for code in codes], bool)[inverse.reshape(-1)]


def _by_correlation(gpu: _Side, calls: _Side, launching: Bool) -> Int64:
    """The call with the GPU event's correlation in the process that drives its GPU, -1 none."""
    calls, launching = calls.only(calls.correlation != NONE_ID), launching[calls.correlation != NONE_ID]
    out = np.full(len(gpu), -1, np.int64)
    home, shared = _home_process(gpu.correlation, gpu, calls.correlation, calls)
    call_key, gpu_key = _keys(calls.correlation, calls.process, gpu.correlation, home)
    wanted = np.flatnonzero(gpu.correlation != NONE_ID)
    out[wanted] = _best_call(gpu_key[wanted], gpu.start[wanted], call_key, launching, calls)
    if shared:  # the GPU rows of several processes lie on top of each other: its home is only a preference
        rest = np.flatnonzero((gpu.correlation != NONE_ID) & (out < 0))
        out[rest] = _best_call(gpu.correlation[rest], gpu.start[rest], calls.correlation, launching, calls)
    return out


def _by_external_id(gpu: _Side, calls: _Side, launching: Bool) -> Int64:
    """Pair launching calls and GPU events of one External id in order of time; the last call owns what is left."""
    calls = calls.only(launching & (calls.external != NONE_ID))
    out = np.full(len(gpu), -1, np.int64)
    if not len(calls):
        return out
    home, _ = _home_process(gpu.external, gpu, calls.external, calls)
    call_key, gpu_key = _keys(calls.external, calls.process, gpu.external, home)
    by_key = np.lexsort((calls.start, call_key))
    first = np.searchsorted(call_key[by_key], gpu_key, "left")
    last = np.searchsorted(call_key[by_key], gpu_key, "right") - 1
    linked = np.flatnonzero((gpu.external != NONE_ID) & (last >= first))
    turn = _turn_in_group(gpu_key[linked], gpu.start[linked])
    out[linked] = calls.event[by_key[np.minimum(first[linked] + turn, last[linked])]]
    return out


def _turn_in_group(key: Int64, time: Int64) -> Int64:
    """How many entries of the same key come earlier."""
    order = np.lexsort((time, key))
    heads = np.flatnonzero(np.diff(key[order], prepend=key[order[:1]] - 1))
    turn = np.empty(len(key), np.int64)
    turn[order] = np.arange(len(key)) - np.repeat(heads, np.diff(np.append(heads, len(key))))
    return turn


def _keys(call_number: Int64, call_process: Int64, gpu_number: Int64, home: Int64) -> tuple[Int64, Int64]:
    """One key per (process, number), equal on both sides; numbers are made dense first, so that nothing overflows."""
    if len(np.unique(call_process)) <= 1:
        return call_number, gpu_number
    dense = np.unique(np.concatenate((call_number, gpu_number)), return_inverse=True)[1].reshape(-1)
    width = len(dense) + 1
    return call_process * width + dense[: len(call_number)], home * width + dense[len(call_number) :]


def _best_call(gpu_key: Int64, gpu_start: Int64, call_key: Int64, launching: Bool, calls: _Side) -> Int64:
    """The call of the same key; of several the innermost launching one before the GPU event, else the first."""
    out = np.full(len(gpu_key), -1, np.int64)
    usable = np.flatnonzero(launching | ~np.isin(call_key, call_key[launching]))
    usable = usable[np.lexsort((calls.start[usable], call_key[usable]))]
    keys = call_key[usable]
    first, last = np.searchsorted(keys, gpu_key, "left"), np.searchsorted(keys, gpu_key, "right")
    known = last > first
    out[known] = calls.event[usable[first[known]]]
    several = np.flatnonzero(last > first + 1)
    before = last_at_or_before(keys, calls.start[usable], gpu_key[several], gpu_start[several])
    out[several[before >= 0]] = calls.event[usable[before[before >= 0]]]
    return out


def _home_process(gpu_number: Int64, gpu: _Side, call_number: Int64, calls: _Side) -> tuple[Int64, bool]:
    """For each GPU event the process that drives its GPU, and whether other processes may have launched it too.

    They may where there are more processes than GPUs, or where no number is used by two processes.

    The process that explains most events of a GPU drives it; where several explain them equally well, as ranks that
    run the same program do, GPUs and processes are paired in file order.
    """
    processes, process = np.unique(calls.process, return_inverse=True)
    if len(processes) <= 1:
        return np.full(len(gpu), processes[0] if len(processes) else 0), False
    devices, device = np.unique(gpu.process, return_inverse=True)
    process, device = process.reshape(-1), device.reshape(-1)
    explained = np.zeros((len(devices), len(processes)), np.int64)
    for p in range(len(processes)):
        mine = process == p
        before = last_at_or_before(call_number[mine], calls.start[mine], gpu_number, gpu.start)
        np.add.at(explained[:, p], device[(before >= 0) & (gpu_number != NONE_ID)], 1)
    paired = _file_order(device, gpu.thread)[:, None] == _file_order(process, calls.thread)[None, :]
    near_best = explained >= _AS_WELL * explained.max(axis=1, keepdims=True)
    home = np.argmax(near_best * (explained + paired * (len(gpu) + 1)), axis=1)
    distinct, number = np.unique(call_number, return_inverse=True)
    apart = len(distinct) == len(np.unique(process * len(distinct) + number.reshape(-1)))
    return processes[home[device]], apart or len(devices) < len(processes)


def _file_order(group: Int64, thread: Int64) -> Int64:
    """The rank of each group by the first of its threads."""
    first = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, group, thread)
    return np.argsort(np.argsort(first))


def _by_flow(gpu: _Side, calls: _Side, flows: pl.DataFrame) -> Int64:
    """The call at the tail of the arrow whose head lies on the GPU event, else the call of the arrow's number."""
    out = np.full(len(gpu), -1, np.int64)
    flows = flows.filter((pl.col("id") > NONE_ID) | ((pl.col("id") == NONE_ID) & _one_pair()))
    heads, tails = flows.filter("finish"), flows.filter(~pl.col("finish")).unique("id", keep="none")
    target = _under(gpu, heads["thread"].to_numpy().astype(np.int64), heads["start_ns"].to_numpy())
    origin = _under(calls, tails["thread"].to_numpy().astype(np.int64), tails["start_ns"].to_numpy())
    call_of_id = pl.concat(
        [
            pl.DataFrame({"id": tails["id"], "call": origin}, schema={"id": pl.Int64, "call": pl.Int64}),
            pl.DataFrame({"id": calls.correlation, "call": np.arange(len(calls), dtype=np.int64)}),
        ]
    ).filter(pl.col("call") >= 0)
    call_of_id = call_of_id.unique("id", keep="first", maintain_order=True)
    arrows = pl.DataFrame({"id": heads["id"], "target": target}).filter(pl.col("target") >= 0)
    links = arrows.join(call_of_id, on="id").unique("target", keep="first", maintain_order=True)
    out[links["target"].to_numpy()] = calls.event[links["call"].to_numpy()]
    return out


def _one_pair() -> pl.Expr:
    """Whether an arrow's number is that of one tail and one head: 0 may stand for none, or be the first number."""
    return (pl.len().over("id") == 2) & (pl.col("finish").sum().over("id") == 1)


def _under(side: _Side, thread: Int64, time: Int64) -> Int64:
    """The entry of ``side`` that is active on the thread at that time and started last, -1 where none."""
    found = last_at_or_before(side.thread, side.start, thread, time)
    if not len(side):
        return found
    return np.where((found >= 0) & (side.end[found] >= time), found, -1)
