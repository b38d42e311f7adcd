"""Measure what the GPU of this machine reaches, with PyTorch: GEMMs with random operands, and a copy of memory.

PyTorch is no dependency: it is looked up when a measurement is asked for.
"""

import importlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from tracelens_tui.errors import UserError
from tracelens_tui.perf.platform_types import Platform
from tracelens_tui.perf.platforms import load_platform

Operands = Callable[[int, int, int], Callable[[], object]]
"""Makes the operands of one shape and returns the call that multiplies them."""

SHAPES = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 8192, 4096))
"""(M, N, K): large, and multiples of every tile, so that they show what the matrix units sustain."""

BATCHES = 5
"""Timed batches per shape; their median counts."""

BATCH_MS = 100.0
"""About how long a batch takes: long enough that power and clocks settle."""

COPY_BYTES = 2 << 30
"""Size of the copied buffer: larger than every cache, smaller where the memory has no room for two of them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One result: ``value`` in TFLOPS (TOPS for int8) of a compute spec or in GB/s, None where ``why`` says why not."""

    spec: str  # "matrix_bf16", ..., "copy"
    value: float | None
    how: str = ""  # the shape that reached it, or the size of the copy
    why: str = ""


def find_torch() -> ModuleType:
    """Return PyTorch with a usable GPU; a UserError says which of the two is missing."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise UserError(
            f"platforms measure needs PyTorch and a GPU, but torch cannot be imported ({error});"
            " install tracelens-tui into the environment of your job and run it there"
        ) from error
    if not torch.cuda.is_available():
        raise UserError(
            "platforms measure needs PyTorch and a GPU, but this PyTorch sees no GPU;"
            " run it on a GPU node with the CUDA or ROCm build of PyTorch"
        )
    return torch


def measure(torch: ModuleType) -> Iterator[Measured]:
    """Yield the rate of each precision that this GPU and PyTorch have, then the bandwidth of a copy.

    A GEMM of M, N, K is 2·M·N·K operations.  Operands are random normal numbers (constant ones draw less power and
    flatter the clock); each shape is warmed up, then timed with GPU events over BATCHES batches, median; the best
    shape counts.  The copy reads and writes its buffer once: 2 × its bytes.
    """
    for spec, operands in _gemms(torch).items():
        yield _best_gemm(torch, spec, operands)
    yield _copy(torch)


def arch_file(name: str, memory_gb: float, results: Sequence[Measured]) -> dict[str, object]:
    """Return an architecture file for ``--arch``: the measured peaks and the memory roof.

    A GPU with packaged figures keeps them where nothing was measured (vector units, mostly), and its nameplate
    bandwidth is the memory roof, as it is without the file; else the copy is.  ``measured_how`` tells the origin of
    each figure.  A UserError where nothing could be measured.
    """
    copy = next((one.value for one in results if one.spec == "copy"), None)
    peaks = {one.spec: one.value and round(one.value, 1) for one in results if one.spec != "copy"}
    how = {one.spec: one.how or one.why for one in results}
    known = _known(name)
    bandwidth = known.mem_bw_gbps if known else copy
    if bandwidth is None or not any(peaks.values()):
        reasons = "; ".join(f"{one.spec}: {one.why}" for one in results if one.why)
        raise UserError(f"{name}: too little could be measured for an architecture file ({reasons})")
    for spec, peak in known.peaks.items() if known else ():
        if peaks.get(spec) is None:
            peaks[spec] = peak.roof
            how[spec] = "not measured: the packaged figure"
    return {
        "name": known.name if known else name,
        "mem_bw_gbps": round(bandwidth, 1),
        "mem_bw_source": "nameplate" if known else "measured copy",
        "measured_copy_gbps": copy and round(copy, 1),
        "memory_gb": round(memory_gb, 1),
        "max_achievable_tflops": peaks,
        "measured_how": how,
    }


def _known(name: str) -> Platform | None:
    try:
        return load_platform(name)
    except UserError:
        return None


def _gemms(torch: ModuleType) -> dict[str, Operands]:
    """Return the multiplications by compute spec.

    An IEEE fp32 GEMM runs on AMD's matrix units but on NVIDIA's vector units; TF32 is NVIDIA's alone.
    """

    def plain(dtype: object, *, tf32: bool = False) -> Operands:
        def operands(m: int, n: int, k: int) -> Callable[[], object]:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            a, b = (torch.randn(*size, device="cuda", dtype=dtype) for size in ((m, k), (k, n)))
            return lambda: torch.mm(a, b)

        return operands

    def eight_bit_float(m: int, n: int, k: int) -> Callable[[], object]:
        a, b = (torch.randn(*size, device="cuda").to(_fp8(torch)) for size in ((m, k), (n, k)))
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)

    def eight_bit_integer(m: int, n: int, k: int) -> Callable[[], object]:
        a, b = (torch.randint(-128, 128, size, device="cuda", dtype=torch.int8) for size in ((m, k), (n, k)))
        return lambda: torch._int_mm(a, b.t())

    amd = torch.version.hip is not None
    fp32 = {"matrix_fp32": plain(torch.float32)} if amd else {"vector_fp32": plain(torch.float32)}
    tf32 = {} if amd else {"matrix_tf32": plain(torch.float32, tf32=True)}
    return {
        "matrix_fp16": plain(torch.float16),
        "matrix_bf16": plain(torch.bfloat16),
        **tf32,
        **fp32,
        "matrix_fp64": plain(torch.float64),
        "matrix_fp8": eight_bit_float,
        "matrix_int8": eight_bit_integer,
    }


def _fp8(torch: ModuleType) -> object:
    """Return the E4M3 type of this GPU: MI300 has the variant without negative zero."""
    arch = str(getattr(torch.cuda.get_device_properties(0), "gcnArchName", ""))
    return torch.float8_e4m3fnuz if arch.startswith("gfx94") else torch.float8_e4m3fn


def _best_gemm(torch: ModuleType, spec: str, operands: Operands) -> Measured:
    best, how, why = 0.0, "", ""
    for m, n, k in SHAPES:
        try:
            seconds = _seconds(torch, operands(m, n, k))
        except (RuntimeError, AttributeError, TypeError, NotImplementedError) as error:  # this build or GPU lacks it
            why = (str(error).splitlines() or [type(error).__name__])[0][:200]
            continue
        finally:
            torch.cuda.empty_cache()
        rate = 2.0 * m * n * k / seconds / 1e12
        if rate > best:
            best, how = rate, f"{m}x{n}x{k}, random operands, median of {BATCHES}"
    return Measured(spec, best, how) if best else Measured(spec, None, why=why)


def _copy(torch: ModuleType) -> Measured:
    free, _ = torch.cuda.mem_get_info()
    size = min(COPY_BYTES, int(free) // 4)
    try:
        source = torch.randint(0, 256, (size,), device="cuda", dtype=torch.uint8)
        target = torch.empty_like(source)
        seconds = _seconds(torch, lambda: target.copy_(source))
    except RuntimeError as error:
        return Measured("copy", None, why=(str(error).splitlines() or ["no memory"])[0][:200])
    return Measured("copy", 2.0 * size / seconds / 1e9, f"copy of {size >> 20} MiB, median of {BATCHES}")


def _seconds(torch: ModuleType, call: Callable[[], object]) -> float:
    """Return the seconds of one warm call on the GPU: median over batches of equal size."""
    for _ in range(3):
        call()
    calls = max(1, min(10_000, round(BATCH_MS / max(_batch_ms(torch, call, 3) / 3, 1e-3))))
    _batch_ms(torch, call, calls)
    return statistics.median(_batch_ms(torch, call, calls) for _ in range(BATCHES)) / calls / 1e3


def _batch_ms(torch: ModuleType, call: Callable[[], object], calls: int) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end))
