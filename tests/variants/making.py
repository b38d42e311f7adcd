"""A trace of known numbers, and what ``info`` tells of any bytes."""

from pathlib import Path
from typing import Any

from tests.ingest.making import Event, event, text
from tracelens_tui.analysis.info import info_lines, trace_info
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.source import open_analysis_of

DEVICE = b'"deviceProperties": [{"id": 0, "name": "Synthetic GPU", "numSms": 132}], "baseTimeNanoseconds": 1700'


def op(name: str, ts: Any, dur: Any, number: int, tid: Any = 7, **args: Any) -> Event:
    return event("cpu_op", name, ts, dur, 7, tid, **{"External id": number}, **args)


def launch(ts: Any, link: Any, dur: Any = "4", tid: Any = 7, name: str = "cudaLaunchKernel") -> Event:
    return event("cuda_runtime", name, ts, dur, 7, tid, correlation=link)


def kernel(name: str, ts: Any, dur: Any, link: Any = 0, stream: int = 7, device: int = 0) -> Event:
    return event("kernel", name, ts, dur, device, stream, device=device, stream=stream, correlation=link)


def copy(ts: Any, dur: Any, link: Any = 0, stream: int = 14, name: str = "Memcpy HtoD (Pinned -> Device)") -> Event:
    return event("gpu_memcpy", name, ts, dur, 0, stream, device=0, stream=stream, correlation=link, bytes=64)


def two_ops() -> list[Event]:
    """Two ops with a launch and a kernel each: window 40 to 100 µs, busy 40 µs, idle 20 µs."""
    return [
        op("aten::relu", "10", "20", 1),
        launch("15", 1),
        kernel("relu_kernel", "40", "10", 1),
        op("aten::exp", "60", "20", 2),
        launch("65", 2),
        kernel("exp_kernel", "70", "30", 2),
    ]


TWO_OPS = {"window": 60, "busy": 40, "idle": 20, "compute": 40}


def texts() -> list[bytes]:
    """The six events as JSON."""
    return [text(item) for item in two_ops()]


def document(events: list[bytes], separator: bytes = b", ", tail: bytes = b"]}") -> bytes:
    return b"{" + DEVICE + b', "traceEvents": [' + separator.join(events) + tail


def analysis(folder: Path, data: bytes | list[Event], name: str = "trace.json") -> Analysis:
    path = folder / name
    path.write_bytes(document([text(item) for item in data]) if isinstance(data, list) else data)
    return open_analysis_of(path, use_cache=False)


def info(folder: Path, data: bytes | list[Event], name: str = "trace.json") -> dict[str, Any]:
    """Return the object of ``info --json``; what ``info`` prints must be plain text."""
    opened = analysis(folder, data, name)
    for line in info_lines(opened):
        assert line.isprintable()
        line.encode("utf-8")
    return trace_info(opened)


def split(info: dict[str, Any], *names: str) -> dict[str, Any]:
    """Some parts of the time split."""
    return {name: info["time_us"][name] for name in names or TWO_OPS}


def codes(info: dict[str, Any]) -> dict[str, int]:
    """The quality codes with their counts, without the one that every trace here has: no shapes."""
    return {item["code"]: item["count"] for item in info["quality"] if item["code"] != "no_shapes"}


def names_of(opened: Analysis) -> list[str]:
    trace = opened.trace
    return trace.names.gather(trace.events["name"]).to_list()


PYTHON = (
    b'{"ph": "X", "cat": "python_function", "name": "%s", "pid": 7, "tid": 7, "ts": 5, "dur": 90, '
    b'"args": {"Python id": 1}}'
)
"""A frame around all six events, whose name is to be filled in."""


def whole(told: dict[str, Any], events: int = 6) -> None:
    """Assert that nothing of the six events, and of others beside them, is missing."""
    assert (told["events"], told["events_lost"], told["partial"]) == (events, 0, False)
    assert split(told) == TWO_OPS
    assert (told["linked_count"], told["linked_percent"]) == (2, 100.0)
