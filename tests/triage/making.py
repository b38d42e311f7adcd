"""Small traces and hand-made facts for the tests of the triage."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracelens_tui.run.findings import Operation
from tracelens_tui.triage.facts import KernelFact, OpFacts, OtherOp, RunContext

BF16 = "c10::BFloat16"
MI300X = "AMD Instinct MI300X"
TENSILE = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN"
STRIDED = "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl>"
VECTORISED = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"


@dataclass
class Tracing:
    """Writes ops one after another: each with a launch and a kernel; times in µs."""

    gpu_name: str = MI300X
    stacks: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)
    host_us: float = 1000.0
    gpu_us: float = 1000.0
    correlation: int = 0

    def op(
        self,
        name: str,
        dims: list[Any],
        kernel: str,
        kernel_us: float,
        *,
        types: list[str] | None = None,
        strides: list[Any] | None = None,
        concrete: list[str] | None = None,
        idle_us: float = 0.0,
        host_us: float = 4.0,
        function: str | None = None,
        stream: int = 0,
        gpu_start: float | None = None,
        launch: str = "hipLaunchKernel",
    ) -> "Tracing":
        """Add a call; with ``idle_us`` the device waits that long for it, while ``function`` runs on the host."""
        self.correlation += 1
        if idle_us:
            self.host_us = max(self.host_us, self.gpu_us) + idle_us - 1.5
        start = self.host_us
        kinds = types or [BF16 if shape else "Scalar" for shape in dims]
        args = {"External id": self.correlation, "Input Dims": dims, "Input type": kinds}
        if strides:
            args["Input Strides"] = strides
        if concrete:
            args["Concrete Inputs"] = concrete
        if function is not None:
            begin = start - idle_us if idle_us else start
            self.python(function, begin, start + host_us + 1 - begin)
        self.events.append(self._host("cpu_op", name, start, host_us, args))
        self.events.append(self._host("cuda_runtime", launch, start + 0.5, 1.0, {"correlation": self.correlation}))
        self.host_us = start + host_us + 1
        begin = gpu_start if gpu_start is not None else max(self.gpu_us, start + 1.5)
        where = {"device": 0, "stream": stream, "correlation": self.correlation}
        self.events.append(
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": begin, "dur": kernel_us,
             "args": where}
        )  # fmt: skip
        self.gpu_us = max(self.gpu_us, begin + kernel_us)
        return self

    def python(self, name: str, start: float, dur: float) -> None:
        """Add a Python function or module."""
        self.events.append(self._host("python_function", name, start, dur, {"Python id": len(self.events)}))

    def host(self, category: str, name: str, start: float, dur: float, **args: Any) -> None:
        """Add any host event."""
        self.events.append(self._host(category, name, start, dur, args))

    def write(self, path: Path) -> Path:
        """Write the trace."""
        document = {
            "schemaVersion": 1,
            "record_shapes": 1,
            "with_stack": int(self.stacks),
            "deviceProperties": [{"id": 0, "name": self.gpu_name, "numSms": 304}],
            "traceEvents": sorted(self.events, key=lambda event: event["ts"]),
        }
        path.write_text(json.dumps(document))
        return path

    @staticmethod
    def _host(category: str, name: str, start: float, dur: float, args: dict[str, Any]) -> dict[str, Any]:
        return {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": 100, "ts": start, "dur": dur, "args": args}


def mixed(path: Path, *, calls: int = 4) -> Path:
    """Write a trace with a slow GEMM, a strided addition, attention and a concatenation, all back to back."""
    trace = Tracing()
    for _ in range(calls):
        trace.op("aten::mm", [[4097, 4097], [4097, 4097]], TENSILE, 400)
        trace.op("aten::add", [[64, 1024, 1024], [64, 1024, 1024], []], STRIDED, 400)
        attention = [*[[16, 16, 512, 64]] * 3, [], [], [], []]
        trace.op("aten::_scaled_dot_product_flash_attention", attention, "attn_fwd", 150,
                 concrete=["", "", "", "0.", "False", "False", ""])  # fmt: skip
        trace.op("aten::cat", [[[16, 512, 512], [16, 512, 512]], []], "CatArrayBatchedCopy", 50,
                 types=["TensorList", "Scalar"])  # fmt: skip
    return trace.write(path)


def op_facts(
    name: str = "aten::mm",
    *,
    category: str = "gemm",
    row: int = 0,
    dims: tuple = (),
    types: tuple[str, ...] = (),
    strides: tuple = (),
    params: dict | None = None,
    count: int = 10,
    time_ms: float = 10.0,
    exposed_ms: float | None = None,
    efficiency: float | None = 0.5,
    bound: str | None = "compute",
    precision: str | None = "bf16",
    library: str | None = "Tensile",
    kernels: tuple[str, ...] = (TENSILE,),
    share: float = 10.0,
    mib: float | None = 64.0,
) -> OpFacts:
    """Return the facts of an operation, plausible where nothing is said."""
    mean_us = 1e3 * time_ms / count
    view = Operation(
        row=row,
        name=name,
        args="(8,8) bf16",
        count=count,
        time_ms=time_ms,
        percent_of_window=share,
        efficiency_percent=None if efficiency is None else 100 * efficiency,
        bound=bound,  # pyright: ignore[reportArgumentType]
    )
    return OpFacts(
        category=category,
        view=view,
        types=types,
        dims=dims,
        strides=strides,
        params=params or {},
        exposed_ms=time_ms if exposed_ms is None else exposed_ms,
        mean_us=mean_us,
        roof_us=None if efficiency is None else mean_us * efficiency,
        bytes=None if mib is None else mib * 2**20,
        precision=precision,
        library=library,
        kernels=tuple(KernelFact(kernel, time_ms) for kernel in kernels),
    )


def context(*others: OtherOp, vendor: str = "AMD", training: bool = False, arch: str = "gfx942", sms: int = 304):
    """Return the context of a run on an MI300X unless said otherwise."""
    return RunContext(
        window_ms=100.0, platform="MI300X", vendor=vendor, arch=arch, sm_count=sms, training=training, others=others
    )
