"""A part of a trace as a trace of its own.

What belongs to steps and annotations: the host events that start inside on any thread of the annotation's process (the
autograd threads work for the step of the main thread) and the GPU events that those launch, whenever these run.  GPU
events without a launch belong by their own start.  Where the host has no annotation of the name, those on the rows of
a GPU give the range: the GPU events of the same process belong by their own start.

To a stretch of time belongs all that starts inside, to a node its subtree.
"""

import fnmatch
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.errors import UserError
from tracelens_tui.trace import scope_faults as faults
from tracelens_tui.trace.intervals import union
from tracelens_tui.trace.navigate import origin_ns
from tracelens_tui.trace.processes import NO_PROCESS, drivers, processes
from tracelens_tui.trace.prune import pruned, with_ancestors
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.step_work import step_work
from tracelens_tui.trace.steps import STEP_PATTERN
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, HOST_KINDS, Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Half-open stretches of time, each of one process."""

    process: Int64
    start: Int64
    end: Int64


def scoped(trace: Trace, tree: EventTree, scope: Scope) -> tuple[Trace, EventTree]:
    """Return the part of a trace, its rows renumbered, and its tree.

    What surrounds the part's events on the host stays, so that parents and call stacks are whole; of GPU events only
    the part's own stay.  ``uid`` keeps the position in the file; metadata and quality are those of the file.  UserError
    where the part is not in the trace or has no GPU work.
    """
    members = _members(trace, tree, scope)
    kind = trace.events["kind"].to_numpy()
    if not (members & np.isin(kind, GPU_KINDS)).any():
        raise UserError(faults.no_gpu_work(trace, tree, scope))
    return pruned(trace, tree, with_ancestors(tree, members))


def annotations_of(trace: Trace, scope: Scope) -> Int64:
    """Return the annotations that make the part, those of the host where it has any; empty for times and nodes."""
    marks = _marks(trace, scope)
    kind = trace.events["kind"].to_numpy()[marks]
    host = marks[kind == Kind.USER_ANNOTATION]
    return host if len(host) else marks


def _marks(trace: Trace, scope: Scope) -> Int64:
    """The annotations of the names that the scope means, on the host and the rows of GPUs."""
    wanted = _wanted_names(trace, scope)
    kind, code = trace.events["kind"].to_numpy(), trace.events["name"].to_numpy()
    marks = np.flatnonzero(np.isin(kind, (Kind.USER_ANNOTATION, Kind.GPU_ANNOTATION)))
    return marks[wanted[code[marks]]] if len(wanted) else marks


def _members(trace: Trace, tree: EventTree, scope: Scope) -> Bool:
    if scope.kind == "node":
        return _subtree(trace, tree, scope)
    if scope.kind == "time":
        times = (np.array([bound + origin_ns(trace)], np.int64) for bound in (scope.first, scope.last))
        nowhere = np.full(len(trace), NO_PROCESS, np.int64)
        return _inside(_Ranges(nowhere[:1], *times), nowhere, trace.events["start_ns"].to_numpy())
    chosen = annotations_of(trace, scope)
    if not len(chosen):
        raise UserError(faults.no_annotation(trace, tree, scope))
    members = _annotated(trace, tree, chosen) if scope.kind == "annotation" else _stepped(trace, tree, scope)
    members[_marks(trace, scope)] = True
    return members


def _subtree(trace: Trace, tree: EventTree, scope: Scope) -> Bool:
    found = np.flatnonzero(trace.events["uid"].to_numpy() == scope.first)
    if not len(found):
        raise UserError(faults.no_event(trace, scope))
    members = np.zeros(len(trace), bool)
    members[tree.subtree(int(found[0]))] = True
    return members


def _stepped(trace: Trace, tree: EventTree, scope: Scope) -> Bool:
    """The members of steps; a step ends where the next one of its process begins."""
    work = step_work(trace, tree)
    steps = work.steps.with_columns(
        next=pl.col("start_ns").shift(-1).over("process"),
        chosen=pl.col("number").is_between(scope.first, scope.last),
    )
    mine = steps.filter("chosen").with_columns(end_ns=pl.min_horizontal("end_ns", "next"))
    members = np.zeros(len(trace), bool)
    if work.on_host:
        ranges = _Ranges(*(mine[name].to_numpy() for name in ("process", "start_ns", "end_ns")))
        members = _host_inside(trace, ranges, processes(trace)) & ~_steps(trace)
    members[work.event] = np.append(steps["chosen"].to_numpy(), False)[work.step]
    return members


def _annotated(trace: Trace, tree: EventTree, chosen: Int64) -> Bool:
    """The members of annotations."""
    kind, start = trace.events["kind"].to_numpy(), trace.events["start_ns"].to_numpy()
    process = processes(trace)
    ranges = _Ranges(process[chosen], start[chosen], start[chosen] + trace.events["dur_ns"].to_numpy()[chosen])
    gpu = np.isin(kind, GPU_KINDS)
    if kind[chosen[0]] == Kind.GPU_ANNOTATION:
        return _inside(ranges, process, start)
    members = _host_inside(trace, ranges, process)
    linked, unlinked = np.flatnonzero(gpu & (tree.launch >= 0)), np.flatnonzero(gpu & (tree.launch < 0))
    members[linked] = members[tree.launch[linked]]
    members[unlinked] = _inside(ranges, drivers(tree, process)[process[unlinked]], start[unlinked])
    return members


def _host_inside(trace: Trace, ranges: _Ranges, process: Int64) -> Bool:
    """Host events inside the ranges of their process; of what is on neither side, what is inside any range."""
    host = np.isin(trace.events["kind"].to_numpy(), HOST_KINDS)
    return _inside(ranges, np.where(host, process, NO_PROCESS), trace.events["start_ns"].to_numpy())


def _inside(ranges: _Ranges, process: Int64, time: Int64) -> Bool:
    """Whether each time lies in a range of its process; those of no process in any range."""
    inside = np.zeros(len(time), bool)
    for number in {NO_PROCESS, *np.unique(ranges.process).tolist()}:
        own = (ranges.process == number) | (number == NO_PROCESS)
        start, end = union(ranges.start[own], ranges.end[own])
        mine = np.flatnonzero(process == number)
        place = np.searchsorted(start, time[mine], "right") - 1
        inside[mine] = (place >= 0) & (time[mine] < np.append(end, 0)[place])
    return inside


def _steps(trace: Trace) -> Bool:
    """Which events are steps as the profiler marks them, on the host or a GPU row."""
    named = trace.names.str.contains(STEP_PATTERN).fill_null(value=False).to_numpy()
    marks = np.isin(trace.events["kind"].to_numpy(), (Kind.USER_ANNOTATION, Kind.GPU_ANNOTATION))
    return marks & named[trace.events["name"].to_numpy()] if len(named) else marks


def _wanted_names(trace: Trace, scope: Scope) -> Bool:
    """Which names the annotations have; none for times and nodes."""
    if scope.kind in ("step", "steps"):
        number = trace.names.str.extract(STEP_PATTERN).cast(pl.Int64, strict=False)
        return ((number >= scope.first) & (number <= scope.last)).fill_null(value=False).to_numpy()
    wanted = np.zeros(len(trace.names), bool)
    if scope.kind == "annotation":
        marks = trace.events.filter(pl.col("kind").is_in((Kind.USER_ANNOTATION, Kind.GPU_ANNOTATION)))
        codes = marks["name"].unique().to_list()
        names = {code: trace.names[code] for code in codes}
        exact = [code for code, name in names.items() if name == scope.name]
        wanted[exact or [code for code, name in names.items() if fnmatch.fnmatchcase(name, scope.name)]] = True
    return wanted
