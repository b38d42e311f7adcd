"""Matrix products of AITER, Primus-Turbo (hipBLASLt) and Transformer Engine."""

from functools import partial

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.operands import Tensor, matrix, tensor, value
from tracelens_tui.perf.parse import as_bool, as_int
from tracelens_tui.perf.products import BF16, Extras, Gemm, Product, dtype_of_code, filled, product_cost
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


def _flag(args: OpArgs, index: int) -> bool | None:
    text = value(args, index)
    return {"1": True, "0": False}.get(text.strip(), as_bool(text))


def _shape(operand: Tensor | None, *, transposed: bool | None) -> tuple[int, int] | None:
    """Rows and columns of a matrix, or of its transpose; None where it is not recorded which."""
    if operand is None or transposed is None:
        return None
    rows, columns = operand.shape
    return (columns, rows) if transposed else (rows, columns)


def _te_gemm(args: OpArgs) -> OpCost | None:
    """``te_gemm_ts(A, …, transa, B, …, transb, D, …, bias, …, accumulate, …)``, column-major as cuBLAS.

    A is M×K where it is transposed, B is N×K where it is not.  fp8 operands are recorded as bytes.  A result that is
    accumulated into is read, too.
    """
    a, b, d = matrix(args, 0), matrix(args, 5), tensor(args, 10)
    left, right = _shape(a, transposed=_flag(args, 4)), _shape(b, transposed=_flag(args, 9))
    if a is None or left is None or right is None:
        return None
    (k, m), (n, k_b) = left, right
    extras = Extras(
        bias=filled(args, 14),
        read=[d] if _flag(args, 20) else [],
        out=None if d is None else d.dtype,
        precision=_fp8_in_bytes(a.dtype),
    )
    return product_cost(args, Product(m, n, k) if k == k_b else None, a, b, extras)


def _fp8_in_bytes(dtype: Dtype | None) -> str | None:
    return "fp8" if dtype is not None and dtype.name in {"uint8", "int8"} else None


def _hipblaslt(args: OpArgs, *, packed: int, precision: str) -> OpCost | None:
    """``hipblaslt_gemm_*(A, scale, B, scale, out type, transA, transB, transC, …)``; transC swaps the operands."""
    a, b = matrix(args, 0), matrix(args, 2)
    left, right = _shape(a, transposed=_flag(args, 5)), _shape(b, transposed=_flag(args, 6))
    if left is None or right is None:
        return None
    (m, k), (k_b, n) = left, right
    if _flag(args, 7):
        m, n = n, m
    code = as_int(value(args, 4))
    extras = Extras(
        read=[filled(args, 1), filled(args, 3)],
        out=BF16 if code is None else dtype_of_code(code),
        precision=precision,
    )
    return product_cost(args, Product(m, n, k * packed) if k == k_b else None, a, b, extras)


def _batched_weights(args: OpArgs, *, packed: int, precision: str | None) -> OpCost | None:
    """Activations B×M×K (or M×B×K) times a stack of weights B×N×K; the result is bf16."""
    x, weights = matrix(args, 0, 3), matrix(args, 1, 3)
    if x is None or weights is None:
        return None
    batch, n, k = weights.shape[0], weights.shape[1], weights.shape[2] * packed
    one, other, k_x = x.shape
    m = other if one == batch else one if other == batch else None
    product = None if m is None or k_x != k else Product(m, n, k, batch)
    return product_cost(args, product, x, weights, Extras(out=BF16, precision=precision))


def _gemm(model: Gemm, *names: str) -> OpModel:
    return OpModel(names, "GEMM", "GEMM", model)


_BLOCKSCALE = Gemm(rows_of_b="N", scales=(2, 3), otherwise="bf16")
_FP4 = Gemm(rows_of_b="N", scales=(2, 3), otherwise="bf16", packed=2, precision="fp4")
_TE_NAMES = (
    "_Linear_yfwd_mm", "_LinearBackward_xgrad_mm", "_LinearBackward_wgrad_mm", "_LayerNormLinear_yfwd_mm",
    "_LayerNormLinearBackward_xgrad_mm", "_LayerNormLinearBackward_wgrad_mm",
)  # fmt: skip

MODELS = (
    # Transformer Engine
    OpModel(("tex_ts::te_gemm_ts",), "GEMM", "GEMM", _te_gemm),
    _gemm(Gemm(otherwise="bf16"), *_TE_NAMES),
    # Primus-Turbo
    OpModel(
        ("primus_turbo::hipblaslt_gemm_fp8", "primus_turbo_cpp_extension::hipblaslt_gemm_fp8"),
        "GEMM",
        "GEMM",
        partial(_hipblaslt, packed=1, precision="fp8"),
    ),
    OpModel(
        ("primus_turbo::hipblaslt_gemm_fp4", "primus_turbo_cpp_extension::hipblaslt_gemm_fp4"),
        "GEMM",
        "GEMM",
        partial(_hipblaslt, packed=2, precision="fp4"),
    ),
    # AITER, 8 bits with scales per token or block
    _gemm(
        Gemm(rows_of_b="N", scales=(2, 3), out=4, otherwise="bf16"),
        "aiter::gemm_a8w8_ck",
        "aiter::gemm_a8w8_bpreshuffle_ck",
        "aiter::gemm_a8w8_blockscale_ck",
        "aiter::gemm_a8w8_blockscale_cktile",
        "aiter::gemm_a8w8_blockscale_bpreshuffle_ck",
        "aiter::gemm_a8w8_blockscale_bpreshuffle_cktile",
        "aiter::flatmm_a8w8_blockscale_asm",
        "aiter::gfx950_a8w8_blockscale_asm",
        "aiter::_gemm_a8w8_blockscale_bpreshuffle_asm",
    ),
    _gemm(
        _BLOCKSCALE,
        "aiter::gemm_a8w8_bpreshuffle",
        "sglang_profiler::fp8_utils_gemm_a8w8_blockscale",
        "sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale",
        "vllm::rocm_aiter_triton_gemm_a8w8_blockscale",
        "vllm::rocm_aiter_gemm_w8a8_blockscale",
        "vllm::rocm_aiter_gemm_w8a8",
        "vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm",
    ),
    # AITER, 4 bits
    _gemm(_FP4, "aiter::gemm_a4w4", "aiter::gemm_afp4wfp4_"),
    _gemm(
        Gemm(rows_of_b="N", scales=(2, 3), out=4, otherwise="bf16", packed=2, precision="fp4"),
        "aiter::_gemm_a4w4_asm",
    ),
    OpModel(("aiter::batched_gemm_a16wfp4_",), "GEMM", "GEMM", partial(_batched_weights, packed=2, precision="fp4")),
    OpModel(
        (),
        "GEMM",
        "GEMM",
        partial(_batched_weights, packed=1, precision="fp8"),
        prefixes=("sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_",),
    ),
    # AITER, 16 bits
    _gemm(
        Gemm(rows_of_b="N", out=3, otherwise="bf16"),
        "aiter::gemm_a16w16_atomic_",
        "sglang_profiler::gemm_kernels_flydsl_hgemm",
    ),
    _gemm(Gemm(rows_of_b="N", bias=2), "aiter::gemm_a16w16"),
    _gemm(Gemm(rows_of_b="N", out=2), "aiter::_gemm_a16w16_asm"),
)
"""Argument positions as the libraries register their ops; a recorded type or type number of the output decides."""
