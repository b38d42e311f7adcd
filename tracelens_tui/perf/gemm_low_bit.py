"""Products of 16-bit activations with weights of 4 or 8 bits that the kernel unpacks: Marlin, Machete, GPTQ, AWQ.

The arithmetic runs in the activations' precision.  Weights, scales and zeros count in the size that they are stored in.
"""

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.operands import Tensor, matrix, tensor
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.products import Extras, Product, filled, flat, product_cost
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


def sizes_after_tensors(args: OpArgs, rows: int, columns: int) -> tuple[int, int] | None:
    """Return (position, N) of the recorded sizes M, N, K of an op that takes them as numbers, None without them.

    Versions of such an op differ in what stands before them, so they are found by M and K.
    """
    numbers = [as_int(text) for text in args.concrete]
    for index in range(len(numbers) - 2):
        m, n, k = numbers[index : index + 3]
        if m == rows and k == columns and n is not None and n > 0:
            return index, n
    return None


def _marlin(args: OpArgs) -> OpCost | None:
    """``(a, …, weights, …, scales, …, workspace, type, size_m, size_n, size_k, …)``."""
    a = matrix(args, 0)
    found = None if a is None else sizes_after_tensors(args, *a.shape)
    if a is None or found is None:
        return None
    m, k = a.shape
    n = found[1]
    others = [one for one in (filled(args, index) for index in range(1, len(args.dims))) if one is not None]
    weights, rest = _weights(others[:-1])  # the last tensor is the workspace
    output = (m, n)
    read = [one for one in rest if one.shape != output]
    return product_cost(args, Product(m, n, k), a, weights, Extras(read=read))


def _weights(tensors: list[Tensor]) -> tuple[Tensor | None, list[Tensor]]:
    """The largest tensor of integers, and the others."""
    packed = [one for one in tensors if _is_int(one.dtype)]
    if not packed:
        return None, tensors
    largest = max(packed, key=lambda one: one.numel)
    return largest, [one for one in tensors if one is not largest]


def _is_int(dtype: Dtype | None) -> bool:
    return dtype is not None and dtype.kind == "int"


def _awq(args: OpArgs) -> OpCost | None:
    """``awq_gemm(x, weights K×N/8, scales K/g×N, zeros, …)``."""
    scales = matrix(args, 2)
    return _packed(args, n=None if scales is None else scales.shape[1], k_rows=True, read=(2, 3))


def _gptq(args: OpArgs) -> OpCost | None:
    """``gptq_gemm(x, weights K·bits/32×N, zeros, scales, g_idx, …)``."""
    weights = matrix(args, 1)
    return _packed(args, n=None if weights is None else weights.shape[1], k_rows=False, read=(2, 3, 4))


def _machete(args: OpArgs) -> OpCost | None:
    """``machete_mm(A, B, type, out type, group scales, group zeros, size, channel scales, token scales, …)``.

    N stands in the group scales K/g×N, else in the channel scales.
    """
    groups, channels = matrix(args, 4), filled(args, 7)
    n = groups.shape[1] if groups is not None else channels.numel if channels is not None else None
    return _packed(args, n=n, k_rows=False, read=(4, 5, 7, 8))


def _packed(args: OpArgs, *, n: int | None, k_rows: bool, read: tuple[int, ...]) -> OpCost | None:
    """``k_rows``: the weights have a row for each k; then the numbers must agree."""
    a, weights = tensor(args, 0), matrix(args, 1)
    rows = flat(a)
    if rows is None or weights is None or n is None or (k_rows and weights.shape[0] != rows[1]):
        return None
    product = Product(rows[0], n, rows[1])
    return product_cost(args, product, a, weights, Extras(read=[filled(args, index) for index in read]))


MODELS = (
    OpModel(
        ("_C::gptq_marlin_gemm", "_C::marlin_gemm", "_C::fp8_marlin_gemm", "sgl_kernel::gptq_marlin_gemm"),
        "GEMM",
        "GEMM",
        _marlin,
    ),
    OpModel(("_C::awq_gemm",), "GEMM", "GEMM", _awq),
    OpModel(("_C::gptq_gemm", "sgl_kernel::gptq_gemm"), "GEMM", "GEMM", _gptq),
    OpModel(("_C::machete_mm",), "GEMM", "GEMM", _machete),
)
"""Argument positions as vLLM registers them; 2:4 sparse weights (``gptq_marlin_24_gemm``) have no model."""
