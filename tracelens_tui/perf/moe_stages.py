"""One projection of a mixture of experts: rows times the weights of the experts that they are sent to.

FLOPs = 2·M·k·K·N, where each of M tokens goes to k experts with weights N×K.  Bytes as in
:mod:`tracelens_tui.perf.moe`; the result of the first projection counts, since the second reads it again.
"""

from collections.abc import Callable
from functools import partial

from tracelens_tui.perf.experts import Experts, bytes_of_each, expert_cost, weight_precision
from tracelens_tui.perf.gemm_low_bit import sizes_after_tensors
from tracelens_tui.perf.operands import Tensor, bytes_of, matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


def _stage(args: OpArgs, *, x: int, w: int, out: int, second: bool) -> OpCost | None:
    """One projection: tokens M×K (or M×k×K) times E×N×K, to M×k×N (or, summed, to M×N)."""
    rows, weights, result = tensor(args, x), matrix(args, w, 3), tensor(args, out)
    spread = rows if second else result
    if rows is None or weights is None or result is None or spread is None:
        return None
    if not rows.shape or len(spread.shape) != 3:
        return None
    tokens, top_k = spread.shape[:2]
    experts = Experts(weights.shape[0], tokens, top_k, bytes_of_each(weights))
    k, (_, n, k_stored) = rows.shape[-1], weights.shape
    if not experts.possible or not k_stored or k % k_stored:
        return None
    return expert_cost(
        experts,
        2 * tokens * top_k * k * n,
        rows.bytes,
        result.bytes,
        weight_precision(rows.dtype, weights.dtype, packed=k_stored != k),
        {"M": tokens, "K": k, "N": n, "E": experts.count, "topk": top_k},
    )


def _triton_kernel(args: OpArgs) -> OpCost | None:
    """``invoke_fused_moe_kernel(A, B, bias, C, …, ids, …)``: B is E×N×K, the ids M×k at position 8."""
    rows, weights, ids = tensor(args, 0), matrix(args, 1, 3), matrix(args, 8)
    if rows is None or weights is None or ids is None or not rows.shape:
        return None
    (count, n, k_stored), (tokens, top_k), k = weights.shape, ids.shape, rows.shape[-1]
    experts = Experts(count, tokens, top_k, bytes_of_each(weights))
    if not experts.possible or not k_stored or k % k_stored:
        return None
    result = tensor(args, 3)
    out = result.dtype if result is not None and result.dtype is not None else rows.dtype
    return expert_cost(
        experts,
        2 * tokens * top_k * n * k,
        rows.bytes,
        bytes_of(tokens * top_k * n, out),
        weight_precision(rows.dtype, weights.dtype, packed=k_stored != k),
        {"M": tokens, "K": k, "N": n, "E": count, "topk": top_k},
    )


def _marlin(args: OpArgs) -> OpCost | None:
    """``moe_wna16_marlin_gemm(a, …, weights, …, topk weights, block size, k, …, type, M, N, K, …)``."""
    a, weights = matrix(args, 0), matrix(args, 2, 3)
    found = None if a is None else sizes_after_tensors(args, *a.shape)
    last = max((index for index in range(len(args.dims)) if tensor(args, index) is not None), default=0)
    top_k = as_int(value(args, last + 2))
    if a is None or weights is None or found is None or top_k is None:
        return None
    return _low_bit(a, weights, top_k, found[1])


def _wna16(args: OpArgs) -> OpCost | None:
    """``moe_wna16_gemm(input, output, weights, scales, zeros, topk weights, ids, …, k, …)``."""
    a, out, weights, top_k = matrix(args, 0), tensor(args, 1), matrix(args, 2, 3), as_int(value(args, 9))
    if a is None or out is None or weights is None or top_k is None or not out.shape:
        return None
    return _low_bit(a, weights, top_k, out.shape[-1])


def _low_bit(a: Tensor, weights: Tensor, top_k: int, n: int) -> OpCost | None:
    """Weights of 4 or 8 bits, packed: their bytes are those that are stored."""
    tokens, k = a.shape
    experts = Experts(weights.shape[0], tokens, top_k, bytes_of_each(weights))
    if not experts.possible:
        return None
    return expert_cost(
        experts,
        2 * tokens * top_k * n * k,
        a.bytes,
        bytes_of(tokens * top_k * n, a.dtype),
        None if a.dtype is None else a.dtype.precision,
        {"M": tokens, "K": k, "N": n, "E": experts.count, "topk": top_k},
    )


def _unfused(cost: Callable[[OpArgs], OpCost | None], *names: str) -> OpModel:
    return OpModel(names, "MoE_unfused", "MoE_unfused", cost)


MODELS = (
    _unfused(partial(_stage, x=0, w=1, out=2, second=False), "aiter::moe_cktile2stages_gemm1_ck"),
    _unfused(partial(_stage, x=0, w=1, out=2, second=True), "aiter::moe_cktile2stages_gemm2_ck"),
    _unfused(partial(_stage, x=0, w=1, out=6, second=False), "aiter::ck_moe_stage1"),
    _unfused(partial(_stage, x=0, w=2, out=6, second=True), "aiter::ck_moe_stage2"),
    _unfused(_marlin, "_moe_C::moe_wna16_marlin_gemm", "sgl_kernel::moe_wna16_marlin_gemm"),
    _unfused(_wna16, "_moe_C::moe_wna16_gemm"),
    OpModel(
        ("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",), "MoE_fused", "MoE_fused", _triton_kernel
    ),
)
"""Argument positions as the libraries register their ops."""
