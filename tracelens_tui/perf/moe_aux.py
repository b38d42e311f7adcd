"""Routing, sorting and summing around a mixture of experts; dispatch and combine between ranks.

Routing kernels have no products: bytes are every recorded operand once, and one operation is counted per element of the
largest, TraceLens's convention.  Dispatch and combine move tokens between GPUs: their local traffic is counted, and no
roof of one GPU applies.
"""

from functools import partial

from tracelens_tui.perf.operands import bytes_of, elements, matrix, tensor, total
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import FP32, vector

_AUX = "MoE_aux"


def _every_operand(args: OpArgs) -> OpCost | None:
    """All tensors once, whichever of them is written."""
    found = [one for one in (tensor(args, index) for index in range(len(args.dims))) if one is not None and one.shape]
    if not found:
        return None
    largest = max(found, key=lambda one: one.numel)
    return vector(largest.numel, found, [], FP32)


def _topk_softplus(args: OpArgs) -> OpCost | None:
    """``topk_softplus(weights M×k, ids, logits M×E, …)``."""
    weights, logits = matrix(args, 0), matrix(args, 2)
    if weights is None or logits is None:
        return None
    (m, experts), k = logits.shape, weights.shape[1]
    return vector(6 * m * experts, [logits, elements(experts, FP32)], [elements(2 * m * k, FP32)], FP32)


def _append_shared(args: OpArgs) -> OpCost | None:
    """``fused_append_shared_experts(ids, weights, …)``: both are read and written."""
    ids, weights = tensor(args, 0), tensor(args, 1)
    return None if ids is None or weights is None else vector(ids.numel, [ids, weights], [ids, weights], FP32)


def between_ranks(read: int | None, written: int | None, flops: int = 0) -> OpCost:
    """Return the cost of work that waits for other GPUs: traffic of this one, and no unit whose peak applies."""
    return OpCost(flops, read, written, None, None)


def _token_exchange(args: OpArgs) -> OpCost | None:
    """Tokens × hidden size, sent once."""
    tokens = matrix(args, 0)
    return None if tokens is None else between_ranks(tokens.bytes, 0)


def _all_reduce_norm(args: OpArgs, *, x: int, weight: int) -> OpCost | None:
    """All-reduce, residual and RMS norm in one: n additions, then the norm's (2·C + 2) per row and 2 per element."""
    tokens, scale = tensor(args, x), tensor(args, weight)
    if tokens is None or scale is None or not tokens.shape or not tokens.shape[-1]:
        return None
    n, c = tokens.numel, tokens.shape[-1]
    flops = n + n // c * (2 * c + 2) + 2 * n
    return between_ranks(
        total(bytes_of(2 * n, tokens.dtype), bytes_of(c, scale.dtype)), bytes_of(2 * n, tokens.dtype), flops
    )


def _reduced(args: OpArgs) -> OpCost | None:
    """``all_reduce(handle, in, out, …)``: as much written as read."""
    tokens = tensor(args, 1)
    return None if tokens is None else between_ranks(tokens.bytes, tokens.bytes)


def _gathered(args: OpArgs, *, read: int, written: int) -> OpCost | None:
    source, target = tensor(args, read), tensor(args, written)
    return None if source is None or target is None else between_ranks(source.bytes, target.bytes)


def _aux(cost: partial[OpCost | None], *names: str) -> OpModel:
    return OpModel(names, _AUX, _AUX, cost)


def _collective(cost: partial[OpCost | None], *names: str) -> OpModel:
    return OpModel(names, "CustomCollective", "CustomCollective", cost)


MODELS = (
    _aux(
        partial(_every_operand),
        "aiter::biased_grouped_topk_hip",
        "aiter::grouped_topk",
        "aiter::moe_align_block_size",
        "aiter::moe_fused_gate",
        "aiter::moe_sorting_fwd",
        "aiter::moe_sorting_opus_fwd",
        "aiter::moe_sum",
        "aiter::mxfp4_moe_sort_hip",
        "aiter::topk_sigmoid",
        "aiter::topk_softmax",
        "aiter::topk_softmax_asm",
        "_moe_C::moe_align_block_size",
        "_moe_C::moe_sum",
        "_moe_C::topk_softmax",
    ),
    _aux(partial(_topk_softplus), "aiter::topk_softplus"),
    _aux(partial(_append_shared), "sglang_profiler::fused_moe_triton_kernels_fused_append_shared_experts"),
    OpModel(("MoEDispatch", "MoECombine"), "MoE_comm", "MoE_comm_fwd", _token_exchange),
    _collective(partial(_all_reduce_norm, x=2, weight=6), "aiter::fused_allreduce_rmsnorm"),
    _collective(partial(_all_reduce_norm, x=0, weight=2), "aiter::fused_allreduce_rmsnorm_"),
    _collective(
        partial(_reduced),
        "_C_custom_ar::all_reduce",
        "_C_custom_ar::qr_all_reduce",
        "sgl_kernel::all_reduce_reg",
        "sgl_kernel::qr_all_reduce",
    ),
    _collective(partial(_gathered, read=1, written=2), "aiter::reduce_scatter", "aiter::all_gather_reg"),
    _collective(partial(_gathered, read=1, written=0), "sglang::reg_all_gather_into_tensor"),
)
"""Argument positions as the libraries register their ops."""
