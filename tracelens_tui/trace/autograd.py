"""Link every backward op to the forward op whose gradient it computes.

Autograd numbers its nodes, thread by thread.  A forward op carries the number that the next node of its thread gets,
whether it makes one or not; the backward op of a node carries the node's number and the profiler's ordinal of the
thread that made it.  So of the forward ops with that number on that thread the last one to start made the node: ops
without a gradient before it have the number too, and so have the composite ops around it.

The file does not say which thread an ordinal stands for: it is the thread of the process with the ops that the nodes
are named after.  Where none fits, or several do as well, the profiler's own arrows decide; where there are none,
nothing is linked.

Nodes that no recorded op made, those of C++ functions among them, have a number like all others.  The op before them
did not make them: a link must also pass the test of the names (:class:`MadeBy`).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.backward_ops import BackwardOps, MadeBy, backward_ops
from tracelens_tui.trace.links import last_at_or_before
from tracelens_tui.trace.processes import processes
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Kind, Trace

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_AS_WELL = 0.9
"""A thread that explains this share of what the best one does explains an ordinal as well."""

_MOST_PAIRS = 4_000_000
"""(Backward op, thread) pairs that are looked at to find the threads of the ordinals; beyond, a sample votes."""

_FEWEST_VOTES = 8


@dataclass(frozen=True, slots=True)
class AutogradLinks:
    """Arrays of one entry per event, -1 none."""

    forward: Int32  # node, and the engine's op around it -> the forward op that made the node
    backward: Int32  # forward op -> the outermost op of its backward; the first one where it ran several times

    @property
    def pairs(self) -> int:
        """How many forward ops have a backward op."""
        return int(np.count_nonzero(self.backward >= 0))


@dataclass(frozen=True, slots=True)
class _Ops:
    """Ops of the host, those around others before them."""

    event: Int64
    process: Int64
    thread: Int64
    start: Int64
    end: Int64
    number: Int64  # -1: none
    maker: Int64  # ordinal of the thread that made a node, <= 0: not recorded
    name: Int64

    def __len__(self) -> int:
        return len(self.event)

    def only(self, keep: Bool | Int64) -> "_Ops":
        return _Ops(
            self.event[keep],
            self.process[keep],
            self.thread[keep],
            self.start[keep],
            self.end[keep],
            self.number[keep],
            self.maker[keep],
            self.name[keep],
        )


def autograd_links(trace: Trace, tree: EventTree) -> AutogradLinks:
    """Return the links between forward and backward ops: never across processes, never to a forward op that is later.

    Both the node and the engine's op around it have their forward op; the forward op has the engine's.
    """
    forward, backward = (np.full(len(trace), -1, np.int32) for _ in range(2))
    found = backward_ops(trace, tree)
    if not found.some:
        return AutogradLinks(forward, backward)
    ops = _ops(trace, tree)
    made_by = MadeBy.of(trace.names, ops.name)
    returning = (found.node | found.engine)[ops.event]
    forth, back = ops.only(~returning & (ops.number >= 0)), ops.only(returning & (ops.number >= 0))
    maker = _maker_by_number(forth, back, made_by)
    forward[back.event] = np.where(maker >= 0, np.append(forth.event, -1)[maker], -1)
    arrows = trace.flows.filter("autograd")
    if arrows.height:
        forth, back = ops.only(~returning), ops.only(returning & (forward[ops.event] < 0))
        maker = _maker_by_arrow(forth, back, arrows, made_by)
        forward[back.event] = np.where(maker >= 0, np.append(forth.event, -1)[maker], -1)
    _share(forward, tree, found)
    linked = np.flatnonzero(forward >= 0)
    latest_first = linked[np.lexsort((tree.position[linked], trace.events["start_ns"].to_numpy()[linked]))[::-1]]
    backward[forward[latest_first]] = latest_first
    return AutogradLinks(forward, backward)


def _ops(trace: Trace, tree: EventTree) -> _Ops:
    events = trace.events
    mine = np.flatnonzero(events["kind"].to_numpy() == Kind.CPU_OP)
    mine = mine[np.argsort(tree.position[mine], kind="stable")]
    start = events["start_ns"].to_numpy()[mine]
    thread, name = (events[column].to_numpy()[mine].astype(np.int64) for column in ("thread", "name"))
    number, maker, dur = (events[column].to_numpy()[mine] for column in ("sequence", "fwd_thread", "dur_ns"))
    return _Ops(mine, processes(trace)[mine], thread, start, start + dur, number, maker, name)


def _maker_by_number(forth: _Ops, back: _Ops, made_by: MadeBy) -> Int64:
    """For each backward op the place of the forward op that made its node, by number and thread; -1 none."""
    numbers = _Numbers.of(forth, back)
    thread = _thread_of_maker(forth, back, numbers, made_by)
    found = numbers.last_before(back, np.arange(len(back)), thread)
    return np.where(_made(forth, found, back, made_by), found, -1)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The forward ops by thread and number."""

    key: Int64  # of each forward op
    start: Int64
    width: int
    back: Int64  # the numbers of the backward ops, made dense so that keys do not overflow

    @classmethod
    def of(cls, forth: _Ops, back: _Ops) -> "_Numbers":
        numbers = np.concatenate((forth.number, back.number))
        dense = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        width = len(numbers) + 1
        return cls(forth.thread * width + dense[: len(forth)], forth.start, width, dense[len(forth) :])

    def last_before(self, back: _Ops, which: Int64, thread: Int64) -> Int64:
        """For some backward ops the last forward op with their number on a thread (-1 none), -1 where none is."""
        return last_at_or_before(self.key, self.start, thread * self.width + self.back[which], back.start[which])


def _made(forth: _Ops, found: Int64, back: _Ops, made_by: MadeBy) -> Bool:
    """Whether there is a forward op for each backward op, and the names say that it can be the right one."""
    made = found >= 0
    made[made] = made_by(forth.name[found[made]], back.name[made])
    return made


def _thread_of_maker(forth: _Ops, back: _Ops, numbers: _Numbers, made_by: MadeBy) -> Int64:
    """For each backward op the thread that its ordinal stands for in its process, -1 where that is not clear."""
    which, thread = _candidates(forth, back, numbers)
    found = numbers.last_before(back, which, thread)
    votes = pl.DataFrame(
        {
            "process": back.process[which],
            "maker": back.maker[which],
            "thread": thread,
            "found": found >= 0,
            "made": _made(forth, found, back.only(which), made_by),
        }
    )
    of_ordinal = ["process", "maker"]
    tally = votes.group_by(*of_ordinal, "thread").agg(pl.col("found", "made").sum())
    tally = tally.with_columns(best=pl.col("made").max().over(of_ordinal))
    tally = tally.with_columns(rivals=(pl.col("made") >= _AS_WELL * pl.col("best")).sum().over(of_ordinal))
    by_chance = 2 * pl.col("made") < pl.col("found")  # numbers that are the same on threads that count for themselves
    clear = tally.filter(pl.col("made") > 0, pl.col("made") == pl.col("best"), pl.col("rivals") == 1, ~by_chance)
    best = pl.col("made").max().over("thread")  # a thread has one ordinal, and a few names agree by chance
    clear = clear.filter(pl.col("made") == best, (2 * pl.col("made") >= best).sum().over("thread") == 1)
    asked = pl.DataFrame({"process": back.process, "maker": back.maker})
    named = asked.join(clear, on=of_ordinal, how="left", maintain_order="left")
    return named["thread"].fill_null(-1).to_numpy()


def _candidates(forth: _Ops, back: _Ops, numbers: _Numbers) -> tuple[Int64, Int64]:
    """Backward ops, each with a thread of its process that has forward ops with its number; a sample of too many."""
    number = numbers.key - forth.thread * numbers.width
    made = pl.DataFrame({"process": forth.process, "number": number, "thread": forth.thread}).unique()
    asked = pl.DataFrame({"process": back.process, "number": numbers.back, "maker": back.maker}).with_row_index("which")
    threads = made.group_by("process", "number").len()
    count = asked.join(threads, on=["process", "number"])["len"].sum()
    turn = pl.int_range(pl.len()).over("process", "maker")
    asked = asked.filter((turn % (1 + count // _MOST_PAIRS) == 0) | (turn < _FEWEST_VOTES))
    pairs = asked.join(made, on=["process", "number"])
    return pairs["which"].cast(pl.Int64).to_numpy(), pairs["thread"].to_numpy()


def _maker_by_arrow(forth: _Ops, back: _Ops, arrows: pl.DataFrame, made_by: MadeBy) -> Int64:
    """For each backward op the place of the forward op at the tail of the arrow whose head lies on it; -1 none."""
    ends = [
        _ends(side, arrows.filter(pl.col("finish") == finish), name)
        for side, finish, name in ((forth, False, "forth"), (back, True, "back"))
    ]
    pairs = ends[0].join(ends[1], on=["process", "id"]).unique("back", keep="none")
    found = np.full(len(back), -1, np.int64)
    found[pairs["back"].to_numpy()] = pairs["forth"].to_numpy()
    found[forth.start[found] > back.start] = -1
    return np.where(_made(forth, found, back, made_by), found, -1)


def _ends(side: _Ops, arrows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The arrows that have one end on an op of that side, by process and id; the innermost op, as a place."""
    thread, time = arrows["thread"].to_numpy().astype(np.int64), arrows["start_ns"].to_numpy()
    place = last_at_or_before(side.thread, side.start, thread, time)
    held = place >= 0
    held[held] = side.end[place[held]] >= time[held]
    ends = pl.DataFrame({"process": side.process[place[held]], "id": arrows["id"].filter(held), name: place[held]})
    return ends.unique(["process", "id"], keep="none")


def _share(forward: Int32, tree: EventTree, found: BackwardOps) -> None:
    """Give a node and the engine's op around it the same forward op where one of the two lacks it."""
    node = np.flatnonzero(found.node & (tree.parent >= 0))
    node = node[found.engine[tree.parent[node]]]
    around = tree.parent[node]
    forward[node] = np.where(forward[node] < 0, forward[around], forward[node])
    forward[around] = np.where(forward[around] < 0, forward[node], forward[around])
