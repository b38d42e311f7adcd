"""Fused experts: gate and up projection, activation, down projection, in one op or in two stages.

FLOPs are those of the matrix products: M·k rows times K×N for each of gate, up and down; activation and the weighted
sum are not counted.  Bytes: the tokens, the result and the weights of the experts that are hit, which is a range
(:mod:`tracelens_tui.perf.experts`); what lies between the two products counts only where they are ops of their own.
Where a rank holds only some of the experts, how many tokens come to them is not recorded: no answer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.experts import Experts, bytes_of_each, expert_cost, weight_precision
from tracelens_tui.perf.operands import Tensor, bytes_of, matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


@dataclass(frozen=True, slots=True)
class _Sizes:
    """M tokens of width K, experts of inner width N; gated where the first projection gives 2·N."""

    k: int
    n: int
    gated: bool


def _sizes(x: Tensor, w1: Tensor, w2: Tensor) -> _Sizes | None:
    """From weights E×(N or 2·N)×K and E×K×N, the last dimension packed or not; None if they do not fit."""
    k, (experts, up, k_stored), (experts_2, k_2, n_stored) = x.shape[-1], w1.shape, w2.shape
    if experts != experts_2 or k != k_2 or not k_stored or k % k_stored:
        return None
    n = n_stored * (k // k_stored)
    return _Sizes(k, n, up == 2 * n) if up in {n, 2 * n} else None


def _fused(
    args: OpArgs, x: Tensor | None, w1: Tensor | None, w2: Tensor | None, top_k: int | None, out: Dtype | None
) -> OpCost | None:
    if x is None or w1 is None or w2 is None or top_k is None or len(x.shape) != 2:
        return None
    sizes = _sizes(x, w1, w2)
    experts = Experts(w1.shape[0], x.shape[0], top_k, bytes_of_each(w1, w2))
    if sizes is None or not experts.possible:
        return None
    products = 3 if sizes.gated else 2
    return expert_cost(
        experts,
        2 * experts.tokens * top_k * sizes.k * sizes.n * products,
        x.bytes,
        bytes_of(experts.tokens * sizes.k, out),
        weight_precision(x.dtype, w1.dtype, packed=w1.shape[2] != sizes.k),
        {
            "M": experts.tokens,
            "K": sizes.k,
            "N": sizes.n,
            "E": experts.count,
            "topk": top_k,
            "gated": sizes.gated,
        },
    )


@dataclass(frozen=True, slots=True)
class _Op:
    """Where a fused op keeps tokens, weights and k (last dimension of a tensor, or a number)."""

    x: int = 0
    w1: int = 1
    w2: int = 2
    routing: int | None = 3  # tensor M×k
    top_k: int | None = None  # number
    out: int | None = None
    rank_holds: tuple[int, ...] = ()  # tensors that say which experts are on this rank

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where the arguments do not say."""
        if any(tensor(args, index) is not None for index in self.rank_holds):
            return None
        x, w1, w2 = matrix(args, self.x), matrix(args, self.w1, 3), matrix(args, self.w2, 3)
        out = None if self.out is None else tensor(args, self.out)
        given = x if out is None else out
        return _fused(args, x, w1, w2, self._top_k(args, x), None if given is None else given.dtype)

    def _top_k(self, args: OpArgs, x: Tensor | None) -> int | None:
        if self.top_k is not None:
            return as_int(value(args, self.top_k))
        routing = None if self.routing is None else matrix(args, self.routing)
        if routing is None or x is None or routing.shape[0] != x.shape[0]:
            return None
        return routing.shape[1]


def _vllm_experts(args: OpArgs) -> OpCost | None:
    """``*place_fused_experts(x, w1, w2, weights, ids, …)``: a map of experts, a 1-d tensor of integers, splits them."""
    rest = (tensor(args, index) for index in range(5, len(args.dims)))
    split = any(
        one is not None and len(one.shape) == 1 and one.dtype is not None and one.dtype.kind == "int" for one in rest
    )
    return None if split else _Op()(args)


def _flashinfer_fp8(args: OpArgs) -> OpCost | None:
    """``flashinfer_fused_moe_blockscale_fp8(logits, bias, x, w13, scale, w2, scale, experts in all, k, …)``."""
    weights, everywhere = matrix(args, 3, 3), as_int(value(args, 7))
    if weights is None or everywhere != weights.shape[0]:
        return None
    return _Op(x=2, w1=3, w2=5, routing=None, top_k=8)(args)


def _moe(cost: Callable[[OpArgs], OpCost | None], *names: str) -> OpModel:
    return OpModel(names, "MoE_fused", "MoE_fused", cost)


_AITER_ASM = _Op(x=1, w1=2, w2=3, routing=None, top_k=8, out=0)

MODELS = (
    _moe(_Op(rank_holds=(5,)), "vllm::rocm_aiter_fused_moe", "sglang::rocm_aiter_fused_moe"),
    _moe(_Op(), "pseudo_op::moe_aiter_fused_1stage"),
    _moe(
        _vllm_experts,
        "vllm::inplace_fused_experts",
        "vllm::outplace_fused_experts",
        "sglang::inplace_fused_experts",
        "sglang::outplace_fused_experts",
    ),
    _moe(_flashinfer_fp8, "vllm::flashinfer_fused_moe_blockscale_fp8"),
    _moe(
        _AITER_ASM,
        "aiter::fmoe",
        "aiter::fmoe_g1u1",
        "aiter::fmoe_g1u1_tkw1",
        "aiter::fmoe_int8_g1u0",
        "aiter::fmoe_fp8_blockscale_g1u1",
    ),
)
"""Argument positions as the libraries register their ops."""
