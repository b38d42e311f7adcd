"""Write a trace file as the PyTorch profiler writes it on ROCm: sections, ids, metadata, GPU queues.

Events stream to disk.  Host events go straight to the file, each when it ends; GPU events wait in a spool, since the
profiler writes them after the host's.  Every time is integer ns here and an exact decimal of µs in the file.  The same
calls with the same seed give the same bytes.
"""

import gzip
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from tracelens_tui.atomic import replacing
from tracelens_tui.evals.device import GpuSpan, Jitter, Stream
from tracelens_tui.evals.values import json_list, json_text

BASE_NS = 226 * 7_889_238 * 10**9
"""Epoch of the file's times: the profiler counts from the last multiple of 7,889,238 s."""
START_NS = 4_450_000_000_123_456
"""Where a trace begins after the base: large enough that 64-bit floats of µs lose ns."""

PID = 4711
GPU_ROW = 2
"""Process row of the GPU: ROCm counts the CPU agents of the node first."""
_GPU_ROWS = 10
_FLUSH = 2048  # events between writes
_SPOOL_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Capture:
    """What the pretended profiler was asked to record, and on what machine."""

    seed: int = 0
    with_cpu: bool = True  # without it: runtime calls and GPU events only
    with_stack: bool = True
    record_shapes: bool = True
    devices: int = 1  # GPUs in deviceProperties
    device_name: str = "AMD Instinct MI300X"
    world_size: int = 1
    trace_name: str = "trace.json"


def us(ns: int) -> str:
    """Return ns as µs with exactly three digits."""
    return f"{ns // 1000}.{ns % 1000:03d}"


@dataclass(slots=True)
class _Annotated:
    """GPU extent of one annotation on one stream."""

    start_ns: int
    end_ns: int


@dataclass(slots=True)
class Ids:
    """Number spaces of the file; they overlap, as real ones do."""

    external: int = 0
    correlation: int = 60_000
    index: int = -1
    python: int = 0
    sequence: int = 100


@dataclass(slots=True)
class TraceWriter:
    """Context manager that writes one trace to ``path`` (gzip where the name ends in ``.gz``), whole or not at all."""

    path: Path
    capture: Capture = field(default_factory=Capture)
    ids: Ids = field(default_factory=Ids)
    gpu_log: list[GpuSpan] = field(default_factory=list)
    streams: dict[int, Stream] = field(default_factory=dict)
    events: int = 0
    jitter: Jitter = field(init=False)
    last_ns: int = START_NS
    _threads: dict[int, str] = field(default_factory=dict)
    _annotations: dict[tuple[int, int], _Annotated] = field(default_factory=dict)
    _annotation_names: dict[int, str] = field(default_factory=dict)
    _host: list[str] = field(default_factory=list)
    _gpu: list[str] = field(default_factory=list)
    _file: IO[bytes] = field(init=False)
    _spool: IO[bytes] = field(init=False)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.jitter = Jitter(self.capture.seed)

    def __enter__(self) -> "TraceWriter":
        temporary = self._stack.enter_context(replacing(self.path))
        raw = self._stack.enter_context(temporary.open("wb"))
        self._file = raw
        if self.path.suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=5, fileobj=raw, mtime=0)
            self._file = cast("IO[bytes]", self._stack.enter_context(packed))
        self._spool = self._stack.enter_context(tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES))
        self._file.write(self._header().encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
        self._stack.__exit__(kind, error, trace)

    def stream(self, number: int) -> Stream:
        """Return the GPU stream of that number."""
        return self.streams.setdefault(number, Stream(number, START_NS))

    def name_thread(self, tid: int, name: str) -> None:
        """Declare a host thread."""
        self._threads[tid] = name

    def host(self, text: str) -> None:
        """Write one host event: a JSON object without what follows it."""
        self._host.append(text)
        self.events += 1
        if len(self._host) >= _FLUSH:
            self._flush()

    def gpu(self, text: str) -> None:
        """Write one event of the GPU section."""
        self._gpu.append(text)
        self.events += 1
        if len(self._gpu) >= _FLUSH:
            self._flush()

    def log(self, span: GpuSpan, stream: Stream, annotation: tuple[int, str] | None) -> None:
        """Remember a GPU event for the planted truth and for the annotation that surrounds its launch."""
        self.gpu_log.append(span)
        self.last_ns = max(self.last_ns, span.end_ns)
        if annotation is None:
            return
        number, self._annotation_names[number] = annotation
        key = (number, stream.number)
        seen = self._annotations.setdefault(key, _Annotated(span.start_ns, span.end_ns))
        seen.start_ns, seen.end_ns = min(seen.start_ns, span.start_ns), max(seen.end_ns, span.end_ns)

    def _flush(self) -> None:
        self._file.write("".join(self._host).encode())
        self._spool.write("".join(self._gpu).encode())
        self._host.clear()
        self._gpu.clear()

    def _header(self) -> str:
        capture = self.capture
        flags = "".join(
            f'  "{name}": 1,\n'
            for name, on in (("record_shapes", capture.record_shapes), ("with_stack", capture.with_stack))
            if on
        )
        devices = ",".join(_device(index, capture.device_name) for index in range(capture.devices))
        return (
            '\n{\n  "schemaVersion": 1,\n'
            f'  "deviceProperties": [{devices}\n  ],\n'
            '  "roctracer_version": 4.1,\n  "hip_runtime_version": 70051831,\n  "hip_driver_version": 70051831,\n'
            f"{_distributed(capture.world_size)}{flags}"
            f'  "trace_id": "{capture.seed & 0xFFFFFFFF:08X}D0C5ABF04E29B3714A6F58C2",\n'
            '  "displayTimeUnit": "ms",\n'
            f'  "baseTimeNanoseconds": {BASE_NS},\n'
            '  "traceEvents": [\n'
        )

    def _finish(self) -> None:
        for text in (*self._host_rows(), self._span()):
            self.host(text)
        for text in (*self._gpu_annotations(), *self._gpu_rows()):
            self.gpu(text)
        self._flush()
        self._spool.seek(0)
        while block := self._spool.read(1 << 20):
            self._file.write(block)
        end = us(self.last_ns + 5_000_000)
        self.events += 1
        self._file.write(
            '  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n'
            f'    "pid": "", "tid": "", "ts": {end}\n  }}\n  ],\n'
            f'  "traceName": {json_text(self.capture.trace_name)}\n}}\n'.encode()
        )

    def _span(self) -> str:
        start, dur = us(START_NS - 60_000), us(self.last_ns - START_NS + 4_000_000)
        self.events += 1
        return (
            f'  {{\n    "ph": "X", "cat": "Trace", "ts": {start}, "dur": {dur},\n'
            '    "pid": "Spans", "tid": "PyTorch Profiler",\n    "name": "PyTorch Profiler (0)",\n'
            '    "args": {\n      "Op count": 0\n    }\n  },\n'
            '  {\n    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",\n'
            f'    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": {start}\n  }},\n'
        )

    def _host_rows(self) -> list[str]:
        rows = [*_process(PID, "CPU", PID)]
        for tid, name in self._threads.items():
            rows += [
                _meta("thread_name", PID, tid, f'"name": {json_text(f"thread {tid} ({name})")}'),
                _meta("thread_sort_index", PID, tid, f'"sort_index": {tid}'),
            ]
        return rows

    def _gpu_rows(self) -> list[str]:
        rows: list[str] = []
        for row in range(_GPU_ROWS):
            rows += _process(row, f"GPU {row}", 5_000_000 + row)
        for number in sorted(self.streams):
            rows += [
                _meta("thread_name", GPU_ROW, number, f'"name": "stream {number} "'),
                _meta("thread_sort_index", GPU_ROW, number, f'"sort_index": {number}'),
            ]
        return rows

    def _gpu_annotations(self) -> list[str]:
        """Rows of the annotations' GPU extents, widened as the profiler widens them."""
        return [
            f'  {{\n    "ph": "X", "cat": "gpu_user_annotation", "name": {json_text(self._annotation_names[number])}, '
            f'"pid": {GPU_ROW}, "tid": {stream},\n'
            f'    "ts": {us(seen.start_ns - 1)}, "dur": {us(seen.end_ns - seen.start_ns + 3)},\n'
            f'    "args": {{\n      "External id": {number}\n    }}\n  }},\n'
            for (number, stream), seen in self._annotations.items()
        ]


def _meta(name: str, pid: int, tid: int, args: str) -> str:
    return (
        f'  {{\n    "name": "{name}", "ph": "M", "ts": {us(START_NS)}, "pid": {pid}, "tid": {tid},\n'
        f'    "args": {{\n      {args}\n    }}\n  }},\n'
    )


def _process(pid: int, label: str, sort_index: int) -> list[str]:
    return [
        _meta("process_name", pid, 0, '"name": "python3"'),
        _meta("process_labels", pid, 0, f'"labels": "{label}"'),
        _meta("process_sort_index", pid, 0, f'"sort_index": {sort_index}'),
    ]


def _device(index: int, name: str) -> str:
    return (
        f'\n    {{\n      "id": {index}, "name": {json_text(name)}, "totalGlobalMem": 206141652992,\n'
        '      "computeMajor": 9, "computeMinor": 4,\n'
        '      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,\n'
        '      "regsPerBlock": 131072, "warpSize": 64,\n'
        '      "sharedMemPerBlock": 65536, "numSms": 304\n'
        '      , "maxSharedMemoryPerMultiProcessor": 65536\n    }'
    )


def _distributed(world_size: int) -> str:
    if world_size < 2:
        return ""
    ranks = json_list(list(range(world_size)))
    return (
        f'  "distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": {world_size}, "pg_count": 1, '
        f'"pg_config": [{{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", '
        f'"pg_size": {world_size}, "ranks": {ranks}}}], "nccl_version": "2.26.6"}},\n'
    )
