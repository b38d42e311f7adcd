"""The least time of an op on an MI300X, from its shapes: small formulas of our own, independent of ``perf``.

The generators plan kernel durations with them, so that a trace has the efficiencies that were planted, and the tests
hold the perf models against them.  Peaks are the achievable figures of the MI300X, the bandwidth is the nameplate.
"""

from dataclasses import dataclass
from math import prod
from typing import Literal

from tracelens_tui.evals.values import SIZES, Shape, Tensor

Bound = Literal["compute", "memory"]

MATRIX_TFLOPS = {"bf16": 708.0, "fp16": 654.0, "fp32": 163.0}
VECTOR_TFLOPS = {"bf16": 163.0, "fp16": 163.0, "fp32": 81.0}
BANDWIDTH_GBPS = 5300.0


@dataclass(frozen=True, slots=True)
class LeastTime:
    """FLOPs and bytes of one call, the time in ns that neither roof allows to beat, and the roof that limits it."""

    flops: int
    bytes_moved: int
    ns: float
    bound: Bound

    def at(self, efficiency: float) -> int:
        """Return the duration in whole ns of a call that reaches ``efficiency`` (a ratio) of the roof."""
        return round(self.ns / efficiency)


def least_time(flops: int, bytes_moved: int, peak_tflops: float) -> LeastTime:
    """Return the least time of work that needs ``flops`` and moves ``bytes_moved``."""
    compute, memory = flops / (peak_tflops * 1e3), bytes_moved / BANDWIDTH_GBPS
    return LeastTime(flops, bytes_moved, max(compute, memory), "compute" if compute >= memory else "memory")


def gemm(m: int, n: int, k: int, *, batch: int = 1, dtype: str = "bf16", bias: bool = False) -> LeastTime:
    """Return the roof of ``[m, k] x [k, n]``: 2MNK FLOPs, both inputs read and the output written once."""
    size = SIZES[dtype]
    flops = 2 * m * n * k + (m * n if bias else 0)
    moved = (m * k + k * n + m * n + (n if bias else 0)) * size
    return least_time(batch * flops, batch * moved, MATRIX_TFLOPS[dtype])


def attention(query: Shape, kv: Shape, *, causal: bool, dtype: str = "bf16") -> LeastTime:
    """Return the roof of one attention forward of ``[B, H, S, D]`` tensors: QK and PV, half of it where causal."""
    (batch, heads, rows, dim), (_, kv_heads, columns, _) = query, kv
    flops = 4 * batch * heads * rows * columns * dim // (2 if causal else 1)
    moved = (2 * batch * heads * rows * dim + 2 * batch * kv_heads * columns * dim) * SIZES[dtype]
    return least_time(flops, moved, MATRIX_TFLOPS[dtype])


def attention_backward(query: Shape, kv: Shape, *, causal: bool, dtype: str = "bf16") -> LeastTime:
    """Return the roof of one flash backward: five matrix products; q, k, v, dO read and dq, dk, dv written."""
    (batch, heads, rows, dim), (_, kv_heads, columns, _) = query, kv
    flops = 10 * batch * heads * rows * columns * dim // (2 if causal else 1)
    moved = (3 * batch * heads * rows * dim + 4 * batch * kv_heads * columns * dim) * SIZES[dtype]
    return least_time(flops, moved, MATRIX_TFLOPS[dtype])


def elementwise(inputs: tuple[Tensor, ...], output: Tensor) -> LeastTime:
    """Return the roof of one pass: each input read once, the output written once, one FLOP per output element."""
    moved = sum(tensor.nbytes for tensor in inputs) + output.nbytes
    return least_time(prod(output.shape), moved, VECTOR_TFLOPS[output.dtype])


def reduction(source: Tensor, output: Tensor) -> LeastTime:
    """Return the roof of a reduction: one FLOP per element read."""
    return least_time(prod(source.shape), source.nbytes + output.nbytes, VECTOR_TFLOPS[source.dtype])
