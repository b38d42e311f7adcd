"""Small traces for the tests of the analysis, written as the events of a Kineto file."""

from decimal import Decimal
from typing import Any

from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.perf.platform_types import Peak, Platform
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

Event = dict[str, Any]
Number = float | Decimal

PLATFORM = Platform(
    name="Test",
    vendor="AMD",
    arch="gfx942",
    sm_count=100,
    memory_gb=100,
    mem_bw_gbps=1000.0,
    measured_bw_gbps=None,
    peaks={"matrix_bf16": Peak(200.0, 100.0), "vector_bf16": Peak(20.0, 10.0), "vector_fp32": Peak(20.0, 10.0)},
)
"""1000 GB/s, 100 TFLOPS matrix, 10 TFLOPS vector: 1 B per ps, 100 FLOP per ps."""


def op(name: str, ts: Number, dur: Number, *, tid: int = 1, **args: Any) -> Event:
    """A cpu_op; ``dims``, ``types``, ``concrete`` and ``strides`` become Kineto's argument lists."""
    titles = {"dims": "Input Dims", "types": "Input type", "concrete": "Concrete Inputs", "strides": "Input Strides"}
    return _event("cpu_op", name, ts, dur, 1, tid, {titles[key]: value for key, value in args.items()})


def launch(
    correlation: int, ts: Number, *, name: str = "hipLaunchKernel", tid: int = 1, cat: str = "cuda_runtime"
) -> Event:
    return _event(cat, name, ts, 1, 1, tid, {"correlation": correlation})


def kernel(
    name: str,
    ts: Number,
    dur: Number,
    correlation: int = 0,
    *,
    stream: int = 7,
    device: int = 0,
    cat: str = "kernel",
    **args: Any,
) -> Event:
    fields = {"device": device, "stream": stream, "correlation": correlation} | args
    return _event(cat, name, ts, dur, device, stream, fields)


def python(name: str, ts: Number, dur: Number, *, tid: int = 1) -> Event:
    return _event("python_function", name, ts, dur, 1, tid, {})


def mm(ts: Number, dur: Number, m: int, n: int, k: int, *, tid: int = 1) -> Event:
    """``aten::mm`` of (m, k) and (k, n) in bf16."""
    types = ["c10::BFloat16", "c10::BFloat16"]
    return op(
        "aten::mm", ts, dur, tid=tid, dims=[[m, k], [k, n]], types=types, concrete=["", ""], strides=[[k, 1], [n, 1]]
    )


def opened(events: list[Event], **metadata: Any) -> tuple[Trace, EventTree]:
    trace = repaired(trace_from_objects(events, metadata=metadata))
    return trace, build_tree(trace)


def analysed(events: list[Event], platform: Platform | None = PLATFORM, *, device: int | None = None) -> Analysis:
    trace, tree = opened(events)
    return analyse(trace, tree, platform, "as the test says", device=device)


def _event(cat: str, name: str, ts: Number, dur: Number, pid: int, tid: int, args: dict[str, Any]) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}
