"""Small traces for the tests of the trace package, written as the events of a Kineto file; times in µs."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.quality import finished_quality
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import QualityItem, Trace

Event = dict[str, Any]
Number = float | Decimal


def event(cat: str, name: str, ts: Number, dur: Number | None, pid: Any, tid: Any, **args: Any) -> Event:
    made = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "args": args}
    return made if dur is None else made | {"dur": dur}


def op(name: str, ts: Number, dur: Number | None, *, pid: int = 1, tid: int = 1, **args: Any) -> Event:
    return event("cpu_op", name, ts, dur, pid, tid, **args)


def frame(name: str, ts: Number, dur: Number | None, *, pid: int = 1, tid: int = 1) -> Event:
    return event("python_function", name, ts, dur, pid, tid)


def mark(name: str, ts: Number, dur: Number | None, *, pid: int = 1, tid: int = 1) -> Event:
    return event("user_annotation", name, ts, dur, pid, tid)


def call(
    correlation: int | None,
    ts: Number,
    dur: Number = 1,
    *,
    name: str = "cudaLaunchKernel",
    cat: str = "cuda_runtime",
    pid: int = 1,
    tid: int = 1,
    **args: Any,
) -> Event:
    fields = args if correlation is None else {"correlation": correlation} | args
    return event(cat, name, ts, dur, pid, tid, **fields)


def kernel(
    correlation: int | None,
    ts: Number,
    dur: Number | None,
    *,
    name: str = "some_kernel",
    cat: str = "kernel",
    pid: int = 0,
    stream: int = 7,
    device: int = 0,
    **args: Any,
) -> Event:
    fields = {"device": device, "stream": stream} | args
    fields |= {} if correlation is None else {"correlation": correlation}
    return event(cat, name, ts, dur, pid, stream, **fields)


def external(number: int) -> dict[str, Any]:
    return {"External id": number}


def arrow(number: int, ts: Number, *, finish: bool, pid: int, tid: int) -> Event:
    kind = {"ph": "f", "bp": "e"} if finish else {"ph": "s"}
    return kind | {"cat": "ac2g", "name": "ac2g", "id": number, "pid": pid, "tid": tid, "ts": ts}


def read(*events: Event) -> Trace:
    """The trace as it is read, before repairs."""
    return trace_from_objects(events)


def finished(raw: Trace) -> tuple[Trace, EventTree]:
    """The trace as everything else sees it, and its tree."""
    trace = repaired(raw)
    tree = build_tree(trace)
    return replace(trace, quality=finished_quality(trace, tree)), tree


def opened(*events: Event) -> tuple[Trace, EventTree]:
    return finished(read(*events))


def ids(trace: Trace, name: str) -> list[int]:
    return [i for i, code in enumerate(trace.events["name"]) if trace.names[code] == name]


def item(trace: Trace, code: str) -> QualityItem:
    """The quality item of that code, which must be there."""
    found = trace.quality.get(code)
    assert found is not None
    return found


def only(trace: Trace, name: str) -> int:
    (found,) = ids(trace, name)
    return found


def names(trace: Trace, events: Any) -> list[str]:
    return [trace.names[int(trace.events["name"][int(e)])] for e in events]


def parent_name(trace: Trace, tree: EventTree, name: str) -> str | None:
    above = int(tree.parent[only(trace, name)])
    return names(trace, [above])[0] if above >= 0 else None
