"""The least time an op can take on a platform: max(FLOPs / compute roof, bytes / memory roof).

The compute roof is the achievable peak of the op's unit and precision, the memory roof the nameplate bandwidth.  No
cache is modelled and nothing is clamped: more than 100 % means a cache hit, a wrong peak or a wrong count, and shows.
"""

from collections.abc import Iterable
from dataclasses import replace

from tracelens_tui.perf.platform_files import packaged_platforms
from tracelens_tui.perf.platform_types import Platform
from tracelens_tui.perf.types import OpCost, Roof

MEMORY_SPEC = "memory"

_STAND_INS = {
    # what hardware without the unit itself runs such arithmetic on
    "matrix_fp32": "vector_fp32",
    "matrix_fp64": "vector_fp64",
    # PyTorch computes 16-bit and narrower elementwise ops in fp32
    "vector_bf16": "vector_fp32",
    "vector_fp16": "vector_fp32",
    "vector_fp8": "vector_fp32",
}


def compute_spec(cost: OpCost) -> str | None:
    """Return the compute spec of an op as the tables show it ("matrix_bf16"), None where it has none."""
    return None if cost.unit is None or cost.precision is None else f"{cost.unit}_{cost.precision}"


def roof_of(cost: OpCost, platform: Platform) -> Roof | None:
    """Return the roof of one call; None where bytes, FLOPs or the peak are unknown (see :func:`why_no_roof`).

    Bound is "compute" where the compute time is at least the memory time.  An op without arithmetic, and integer
    elementwise work, for which no peak is published, has the memory roof alone.
    """
    moved = cost.bytes_moved
    if why_no_roof(cost, platform) is not None or moved is None or cost.flops is None:
        return None
    memory_ns = moved / platform.mem_bw_gbps  # GB/s are bytes per ns
    spec = _peak_spec(cost, platform)
    peak = None if spec is None else platform.roof_tflops(spec)
    if spec is None or peak is None or cost.flops == 0:
        return Roof(memory_ns, "memory", MEMORY_SPEC, 0.0, platform.mem_bw_gbps)
    compute_ns = cost.flops / peak / 1e3  # TFLOPS are 1000 FLOPs per ns
    bound = "compute" if compute_ns >= memory_ns else "memory"
    return Roof(max(compute_ns, memory_ns), bound, spec, peak, platform.mem_bw_gbps)


def roof_range(cost: OpCost, platform: Platform) -> tuple[Roof, Roof] | None:
    """Return the roofs of the fewest and the most FLOPs and bytes; None where the arguments leave nothing open."""
    if cost.flops_range is None and cost.bytes_range is None:
        return None
    ends = (roof_of(_end(cost, index), platform) for index in (0, 1))
    least, most = ends
    return None if least is None or most is None else (least, most)


def _end(cost: OpCost, index: int) -> OpCost:
    flops = cost.flops if cost.flops_range is None else cost.flops_range[index]
    if cost.bytes_range is None:
        return replace(cost, flops=flops)
    return replace(cost, flops=flops, bytes_read=cost.bytes_range[index], bytes_written=0)


def why_no_roof(cost: OpCost, platform: Platform) -> str | None:
    """Return why an op has no roof on a platform, as a clause for the user; None where it has one."""
    if cost.unit is None:
        return "its time depends on other GPUs"
    if cost.bytes_moved is None:
        return "the size of an element is unknown"
    if cost.flops is None:
        return "its FLOPs cannot be told from the recorded arguments"
    if cost.flops == 0 or (cost.unit == "vector" and cost.precision is None):
        return None
    spec = compute_spec(cost)
    if spec is None:
        return "no precision of a peak goes with its types"
    if _peak_spec(cost, platform) is None:
        return f"{platform.name} has no {spec} peak"
    return None


def _peak_spec(cost: OpCost, platform: Platform) -> str | None:
    """Return the key of the peak that applies: the op's own spec, else what the hardware uses in its place."""
    spec = compute_spec(cost)
    while spec is not None and platform.roof_tflops(spec) is None:
        spec = _STAND_INS.get(spec)
    return spec


def efficiency(roof: Roof, kernel_ns: float) -> float | None:
    """Return roof time over kernel time, a ratio that may exceed 1; None for a call without kernel time."""
    return roof.time_ns / kernel_ns if kernel_ns > 0 else None


def tflops_per_s(cost: OpCost, kernel_ns: float) -> float | None:
    """Return the rate reached; None without FLOPs or kernel time."""
    return None if cost.flops is None or kernel_ns <= 0 else cost.flops / kernel_ns / 1e3


def gb_per_s(cost: OpCost, kernel_ns: float) -> float | None:
    """Return the effective bandwidth in decimal GB/s; None without bytes or kernel time."""
    moved = cost.bytes_moved
    return None if moved is None or kernel_ns <= 0 else moved / kernel_ns


def above_every_peak(
    cost: OpCost, kernel_ns: float, platforms: Iterable[Platform] | None = None
) -> tuple[float, float] | None:
    """Return (rate reached, highest datasheet peak known) in TFLOPS where the rate beats every GPU; else None.

    Such a call's time or shape is wrong: it deserves a warning, never praise.
    """
    rate = tflops_per_s(cost, kernel_ns)
    spec = compute_spec(cost)
    if rate is None or spec is None:
        return None
    specs = {spec, "matrix_tf32"} if spec == "matrix_fp32" else {spec}  # an fp32 GEMM may run in TF32
    peaks = [peak for p in platforms or packaged_platforms() for key, peak in p.peaks.items() if key in specs]
    highest = max((max(peak.datasheet or 0.0, peak.measured or 0.0) for peak in peaks), default=0.0)
    return (rate, highest) if highest and rate > highest else None
