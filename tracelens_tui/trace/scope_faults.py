"""What to say where a part is not in a trace or holds no GPU work: one sentence that names what there is."""

import difflib
from collections.abc import Sequence

import numpy as np
import polars as pl

from tracelens_tui.text import duration, plain
from tracelens_tui.trace.navigate import name_of, origin_ns
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.step_work import step_work
from tracelens_tui.trace.steps import numbered_steps
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Kind, Trace

_NAMES_SHOWN = 5
_RUNS_SHOWN = 8


def no_annotation(trace: Trace, tree: EventTree, scope: Scope) -> str:
    """Return the sentence for steps or an annotation that the trace has not."""
    path = trace.metadata.source.path
    if scope.kind != "annotation":
        found = _runs(numbered_steps(trace)["number"])
        if found:
            return f"{path}: {scope.describe()} is not in the trace; it has the steps {found}"
        return f"{path}: the trace has no ProfilerStep annotations; {_other_ways(trace, tree)}"
    names = _annotations(trace)["name"].unique().to_list()
    near = difflib.get_close_matches(scope.name, names, _NAMES_SHOWN, 0.5)
    near = near or [name for name in names if scope.name.lower() in name.lower()][:_NAMES_SHOWN]
    mend = f"near it are {_listed(near)}" if near else _other_ways(trace, tree)
    return f"{path}: no annotation is named {plain(scope.name, 60)!r}; {mend}"


def no_event(trace: Trace, scope: Scope) -> str:
    """Return the sentence for a uid that no event has."""
    uid = trace.events["uid"]
    path = trace.metadata.source.path
    if uid.is_empty():
        return f"{path}: the trace has no events"
    return f"{path}: {scope.first} is no event with a time; the events lie from {uid.min()} to {uid.max()} in the file"


def no_gpu_work(trace: Trace, tree: EventTree, scope: Scope) -> str:
    """Return the sentence for a part without GPU work."""
    path = trace.metadata.source.path
    gpu = np.flatnonzero(np.isin(trace.events["kind"].to_numpy(), GPU_KINDS))
    if not len(gpu):
        return f"{path} holds no GPU work, so no part of it can be analysed"
    if scope.kind == "time":
        start = trace.events["start_ns"].to_numpy()
        first, last = (_since_first(trace, int(bound)) for bound in (start[gpu].min(), start[gpu].max()))
        mend = f"GPU work starts from {first} to {last} after the window's start"
    elif scope.kind == "node":
        mend = _nearest_with_work(trace, tree, scope)
    elif scope.kind == "annotation":
        mend = _other_ways(trace, tree)
    else:
        found = _runs(step_work(trace, tree).working["number"])
        mend = f"steps with GPU work: {found}" if found else _other_ways(trace, tree)
    return f"{path}: {scope.describe()} holds no GPU work; {mend}"


def _nearest_with_work(trace: Trace, tree: EventTree, scope: Scope) -> str:
    """The innermost event around the node that has GPU work below it."""
    event = int(np.flatnonzero(trace.events["uid"].to_numpy() == scope.first)[0])
    found = next((above for above in tree.ancestors(event) if tree.gpu_count[above]), None)
    if found is None:
        return "nor does any event around it"
    return f"the next event around it that does is {trace.events['uid'][found]}, {plain(name_of(trace, found), 60)}"


def _other_ways(trace: Trace, tree: EventTree) -> str:
    """How else to choose a part: the most frequent annotations, of those with GPU work below them if there are any."""
    marks = _annotations(trace)
    working = marks.filter(pl.Series(tree.gpu_count[marks["event"].to_numpy()] > 0))
    counts = (working if working.height else marks).group_by("name").len().sort("len", "name", descending=[True, False])
    names = counts["name"].head(_NAMES_SHOWN).to_list()
    if not names:
        return "it has no annotations, so choose the part with --time or --node"
    return f"choose the part with --time, --node or --annotation, such as {_listed(names)}"


def _annotations(trace: Trace) -> pl.DataFrame:
    """Event and name of each annotation, on the host or a GPU row."""
    marks = trace.events.select("kind", "name").with_row_index("event")
    marks = marks.filter(pl.col("kind").is_in((Kind.USER_ANNOTATION, Kind.GPU_ANNOTATION)))
    return marks.select("event", name=trace.names.gather(marks["name"]))


def _runs(numbers: pl.Series) -> str:
    """Numbers as people write them: ``1-4, 7, 9-10``; of many runs the first and how many more."""
    ordered = np.unique(numbers.to_numpy())
    runs = (
        [run.tolist() for run in np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)] if len(ordered) else []
    )
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:_RUNS_SHOWN]]
    more = [f"and {len(runs) - _RUNS_SHOWN} more"] if len(runs) > _RUNS_SHOWN else []
    return ", ".join([*shown, *more])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(plain(name, 60)) for name in names)


def _since_first(trace: Trace, start_ns: int) -> str:
    return duration(start_ns - origin_ns(trace))
