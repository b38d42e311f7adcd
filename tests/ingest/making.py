"""A small trace for the tests of the ingest package, and ways to write it as a file."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from polars.testing import assert_frame_equal

from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.types import Trace

Event = dict[str, Any]
FRAMES = ("events", "threads", "args", "details", "repairs", "flows")

_encoder = msgspec.json.Encoder(decimal_format="number")


def event(cat: str, name: str, ts: str, dur: str, pid: Any, tid: Any, **args: Any) -> Event:
    spoken = {key.replace("_", " ") if key.startswith(("External", "Input")) else key: v for key, v in args.items()}
    made = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": Decimal(ts), "dur": Decimal(dur)}
    return {**made, "args": spoken} if args else made


def sample(steps: int = 3) -> list[Event]:
    """Events of all kinds that matter, with traps: braces and brackets in strings, nested lists, text as ids."""
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "python3"}},
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0, "args": {"name": "stream 7 "}},
        event("Trace", "PyTorch Profiler (0)", "1000000000000", "500", "Spans", "PyTorch Profiler", ops=0),
    ]
    for step in range(steps):
        start, link = 1_000_000_000_000 + 100 * step, 500 + step
        events += [
            event("python_function", '}, {"ph": "X", "a]": [', f"{start}.001", "90.5", 77, 77, **{"Python id": step}),
            event(
                "cpu_op",
                "aten::mm",
                f"{start + 1}.25",
                "40",
                77,
                77,
                **{
                    "External id": 10 + step,
                    "Input Dims": [[step + 2, 3], [3, 4], [], [[1], [2]]],
                    "Input type": ["float", 'a "quoted" },{ name', "Grüße", ""],
                    "Concrete Inputs": ["", "", "[1, 2]", "\\n{"],
                    "Sequence number": step,
                    "Fwd thread id": 1,
                    "nested": [{"ph": "X"}, {"ph": "X", "x": [{}, {"y": {}}]}],
                },
            ),
            event("cuda_runtime", "cudaLaunchKernel", f"{start + 3}.7", "2.125", 77, 77, correlation=link, cbid=211),
            {
                "ph": "s",
                "id": link,
                "pid": 77,
                "tid": 77,
                "ts": Decimal(f"{start + 3}.7"),
                "cat": "ac2g",
                "name": "ac2g",
            },
            {"ph": "f", "id": link, "pid": 0, "tid": 7, "ts": start + 9, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            event(
                "kernel",
                "void gemm<{lambda()#1}, 128>(float*)",
                f"{start + 9}",
                "30.999",
                0,
                7,
                device=0,
                stream=7,
                correlation=link if step else 0,
                grid=[step, 1, 1],
                block=[128, 1, 1],
                External_id=10 + step,
            ),
            {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "pid": 77, "tid": 77, "ts": start, "s": "t"},
            {},
        ]
    return events


def head() -> dict[str, Any]:
    device = {"id": 0, "name": "NVIDIA H100", "numSms": 132, "warpSize": 32, "totalGlobalMem": 85_000_000_000}
    return {
        "schemaVersion": 1,
        "deviceProperties": [device, {**device, "id": 1}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "with_stack": 1,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "notes": [{"ph": "X"}, {"traceEvents": "no [list"}],
    }


def text(value: Any) -> bytes:
    """JSON on one line with every digit of a Decimal."""
    return _encoder.encode(value)


def document(events: list[Event] | None = None, **top: Any) -> bytes:
    return text({**head(), **top, "traceEvents": sample() if events is None else events})


def load(folder: Path, data: bytes, **sizes: Any) -> Trace:
    path = folder / "trace.json"
    path.write_bytes(data)
    return load_trace(path, **sizes)


def same(one: Trace, other: Trace) -> None:
    """Assert that two traces are the same in all that does not depend on how the file was packed."""
    for name in FRAMES:
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert one.names.to_list() == other.names.to_list()
    for name in ("base_time_ns", "devices", "gpu_name_hints", "with_stack", "record_shapes", "rank", "world_size"):
        assert getattr(one.metadata, name) == getattr(other.metadata, name), name
    assert one.metadata.phase_counts == other.metadata.phase_counts
    assert one.metadata.category_counts == other.metadata.category_counts
    assert one.quality == other.quality


def decoded(data: bytes) -> Any:
    """The document as plain Python reads it, numbers with a point as Decimal."""
    return json.loads(data, parse_float=Decimal)
