"""A host thread of a generated trace: a clock, nested frames and ops, and calls into the HIP runtime."""

from dataclasses import dataclass
from typing import Literal

from tracelens_tui.evals.device import GpuSpan, Role, Stream
from tracelens_tui.evals.values import Arg, json_list, json_text, recorded
from tracelens_tui.evals.writer import GPU_ROW, PID, START_NS, TraceWriter, us

Direction = Literal["HtoD", "DtoH", "DtoD"]
FlowPhase = Literal["s", "f"]
_COPY_NAMES = {
    "HtoD": "Memcpy HtoD (Host -> Device)",
    "DtoH": "Memcpy DtoH (Device -> Host)",
    "DtoD": "Memcpy DtoD (Device -> Device)",
}
_COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 3}
_CALL_IDS = {
    "hipDeviceSynchronize": 48,
    "hipEventRecord": 59,
    "hipExtLaunchKernel": 62,
    "hipExtModuleLaunchKernel": 65,
    "hipLaunchKernel": 107,
    "hipMemcpyAsync": 134,
    "hipMemcpyWithStream": 153,
    "hipMemsetAsync": 159,
    "hipModuleLaunchKernel": 169,
    "hipStreamWaitEvent": 200,
    "hipStreamGetCaptureInfo": 288,
    "hipStreamIsCapturing": 290,
    "hipStreamGetDevice": 363,
    "hipGetDevicePropertiesR0600": 370,
}
_LAUNCH_NS = 4_200  # a launch call on the host
_QUEUE_NS = 6_500  # from the end of the call to a kernel on an empty queue
_OPEN_NS = 420  # entering or leaving an op or a frame
_FLOW_TAIL = {"s": "", "f": ', "bp": "e"'}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and how it is launched; ``grid`` is what the API was given (work-items for hipExtModuleLaunchKernel)."""

    name: str
    grid: tuple[int, int, int] = (304, 1, 1)
    block: tuple[int, int, int] = (256, 1, 1)
    api: str = "hipLaunchKernel"
    shared: int = 0


class Span:
    """One nested host event: written when it is left."""

    __slots__ = ("_args", "_cat", "_host", "_name", "_start", "written")

    def __init__(self, host: "HostThread", cat: str, name: str, args: str, *, written: bool = True) -> None:
        self._host, self._cat, self._name, self._args = host, cat, name, args
        self._start = 0
        self.written = written

    def __enter__(self) -> "Span":
        host = self._host
        host.spend(_OPEN_NS)
        self._start = host.now
        return self

    def __exit__(self, *_: object) -> None:
        host = self._host
        host.spend(_OPEN_NS)
        host.leave(self._cat)
        if self.written:
            host.write(self._cat, self._name, self._start, self._args)


class HostThread:
    """One thread of the process.  Enter spans with ``with``; times move forward only."""

    def __init__(self, writer: TraceWriter, tid: int = PID, name: str = "python3", start_ns: int = START_NS) -> None:
        self.writer = writer
        self.tid = tid
        self.now = start_ns
        self._ops: list[int] = []
        self._annotations: list[tuple[int, str]] = []
        self._frames: list[int] = []
        writer.name_thread(tid, name)

    def spend(self, ns: int, percent: int = 25) -> None:
        """Let the host work for about ``ns``."""
        self.now += self.writer.jitter.around(ns, percent)

    def frame(self, name: str, *, module: int | None = None) -> Span:
        """Return a python_function span; ``module`` is the instance number of an nn.Module frame."""
        ids = self.writer.ids
        ids.python += 1
        ids.index += 1
        parent = self._frames[-1] if self._frames else "null"
        self._frames.append(ids.python)
        number = "" if module is None else f'"Python module id": {module}, '
        args = f'"Python parent id": {parent}, {number}"Python id": {ids.python}, "Ev Idx": {ids.index}'
        capture = self.writer.capture
        return Span(self, "python_function", name, args, written=capture.with_stack and capture.with_cpu)

    def module(self, name: str, number: int) -> Span:
        """Return the frame of an nn.Module call, such as ``nn.Module: LlamaMLP_3``."""
        return self.frame(f"nn.Module: {name}_{number}", module=number)

    def op(self, name: str, args: tuple[Arg, ...] = (), *, sequence: int | None = None, extra: str = "") -> Span:
        """Return a cpu_op span; ``sequence`` is the autograd number, ``extra`` further fields as JSON text."""
        return self._record("cpu_op", name, args, sequence, 0, extra)

    def backward_op(self, name: str, args: tuple[Arg, ...], sequence: int) -> Span:
        """Return a cpu_op span of the autograd engine."""
        return self._record("cpu_op", name, args, sequence, 1, "")

    def annotation(self, name: str, args: tuple[Arg, ...] = ()) -> Span:
        """Return a user_annotation span."""
        span = self._record("user_annotation", name, args, None, 0, "")
        self._annotations.append((self.writer.ids.external, name))
        return span

    def call(self, api: str, ns: int, *, until_ns: int = 0) -> None:
        """Make a runtime call that starts no GPU work; it takes ``ns``, or lasts until ``until_ns``."""
        ids = self.writer.ids
        ids.correlation += 1
        start = self.now
        self.spend(ns)
        self.now = max(self.now, until_ns)
        self.write("cuda_runtime", api, start, self._runtime_args(api, ids.correlation, ""))
        self.flow("f", ids.correlation, self.tid, start)
        self.spend(150)

    def launch(
        self, kernel: Kernel, stream: Stream, dur_ns: int, *, role: Role = "compute", extra: str = ""
    ) -> GpuSpan:
        """Launch a kernel that runs for exactly ``dur_ns``; return when it runs."""
        shape = f'"grid": {json_list(kernel.grid)}, "block": {json_list(kernel.block)}'
        host_args = f'"kernel": {json_text(kernel.name)}, '
        runtime = f'{shape}, "shared memory": {kernel.shared}'
        args = f'"kind": "Dispatch Kernel", {shape}{extra}'
        return self._submit(
            (kernel.api, host_args, runtime), ("kernel", kernel.name, args), (stream, dur_ns, role), _LAUNCH_NS
        )

    def copy(
        self, direction: Direction, size: int, stream: Stream, dur_ns: int, *, api: str = "hipMemcpyWithStream"
    ) -> GpuSpan:
        """Copy ``size`` bytes; hipMemcpyWithStream blocks the host until the copy has ended."""
        runtime = (
            f'"src": "0x7f52c4a00000", "dst": "0x7f53e0000000", "bytes": "{size}", "kind": "{_COPY_KINDS[direction]}"'
        )
        args = f'"kind": "{direction}", "bytes": {size}, "memory bandwidth (GB/s)": {size / dur_ns!r}'
        blocking = api == "hipMemcpyWithStream"
        return self._submit(
            (api, "", runtime),
            ("gpu_memcpy", _COPY_NAMES[direction], args),
            (stream, dur_ns, "copy"),
            3_600,
            wait=blocking,
        )

    def fill(self, stream: Stream, dur_ns: int) -> GpuSpan:
        """Set device memory."""
        return self._submit(
            ("hipMemsetAsync", "", ""),
            ("gpu_memset", "Memset (Device)", '"kind": "Device"'),
            (stream, dur_ns, "compute"),
            3_600,
        )

    def leave(self, cat: str) -> None:
        """Take the innermost span of that category off the stacks."""
        if cat == "python_function":
            self._frames.pop()
            return
        self._ops.pop()
        if cat == "user_annotation":
            self._annotations.pop()

    def write(self, cat: str, name: str, start: int, args: str) -> None:
        """Write a complete event of this thread that ends now."""
        self.writer.host(
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": {json_text(name)}, "pid": {PID}, "tid": {self.tid},\n'
            f'    "ts": {us(start)}, "dur": {us(self.now - start)},\n    "args": {{\n      {args}\n    }}\n  }},\n'
        )

    def flow(self, phase: FlowPhase, number: int, tid: int, ns: int, cat: str = "ac2g") -> None:
        """Write one end of a flow on a host row."""
        self.writer.host(_flow(phase, number, PID, tid, ns, cat))

    def _record(
        self, cat: str, name: str, args: tuple[Arg, ...], sequence: int | None, forward_thread: int, extra: str
    ) -> Span:
        ids = self.writer.ids
        ids.external += 1
        ids.index += 1
        self._ops.append(ids.external)
        text = f'"External id": {ids.external}, "Record function id": 0'
        if sequence is not None:
            text += f', "Sequence number": {sequence}, "Fwd thread id": {forward_thread}'
        if args and self.writer.capture.record_shapes:
            text += f", {recorded(args)}"
        return Span(self, cat, name, f'{text}{extra}, "Ev Idx": {ids.index}', written=self.writer.capture.with_cpu)

    def _external(self) -> str:
        """The id of the op that is running, where ops are recorded."""
        return f'"External id": {self._ops[-1]}, ' if self._ops and self.writer.capture.with_cpu else ""

    def _runtime_args(self, api: str, correlation: int, extra: str) -> str:
        return f'{self._external()}{extra}"cid": {_CALL_IDS[api]}, "correlation": {correlation}'

    def _submit(
        self,
        call: tuple[str, str, str],
        event: tuple[str, str, str],
        work: tuple[Stream, int, Role],
        host_ns: int,
        *,
        wait: bool = False,
    ) -> GpuSpan:
        """Write a runtime call, the GPU event that it starts, and the flow between them."""
        (api, before, after), (cat, name, args), (stream, dur_ns, role) = call, event, work
        writer, ids = self.writer, self.writer.ids
        ids.correlation += 1
        begin = self.now
        self.spend(host_ns)
        self.now = max(self.now, stream.room_ns())
        start = stream.enqueue(self.now + writer.jitter.around(_QUEUE_NS), dur_ns)
        if wait:
            self.now = max(self.now, stream.free_ns + writer.jitter.around(9_000))
        self.write(
            "cuda_runtime", api, begin, self._runtime_args(api, ids.correlation, before) + (after and f", {after}")
        )
        self.flow("s", ids.correlation, self.tid, begin)
        writer.gpu(
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": {json_text(name)}, '
            f'"pid": {GPU_ROW}, "tid": {stream.number},\n'
            f'    "ts": {us(start)}, "dur": {us(dur_ns)},\n'
            f'    "args": {{\n      {self._external()}"device": {GPU_ROW}, '
            f'"stream": {stream.number}, "correlation": {ids.correlation}, {args}\n    }}\n  }},\n'
        )
        writer.gpu(_flow("f", ids.correlation, GPU_ROW, stream.number, start, "ac2g"))
        self.spend(300)
        span = GpuSpan(start, start + dur_ns, role)
        annotated = self._annotations[-1] if self._annotations and writer.capture.with_cpu else None
        writer.log(span, stream, annotated)
        return span


def _flow(phase: FlowPhase, number: int, pid: int, tid: int, ns: int, cat: str) -> str:
    return (
        f'  {{\n    "ph": "{phase}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {us(ns)},\n'
        f'    "cat": "{cat}", "name": "{cat}"{_FLOW_TAIL[phase]}\n  }},\n'
    )
