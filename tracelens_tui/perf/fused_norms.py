"""Fused norms of inference and training libraries (aiter, vLLM, SGLang, FlashInfer, apex, Liger, Primus).

For n elements in M rows of C:

    RMS norm     4 n + 2 M FLOPs     input + weight + result
    layer norm   5 n + 6 C FLOPs     input + weight + bias + result
    residual     n more              read before, written after the addition
    quantised    2 n more, n where the scale is given; the result in its narrow type, one fp32 scale per row or group
    statistics   fp32 per row, where a backward pass needs them

The counts are TraceLens's where it has the op.  A result that is an argument has the type that the call recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor, as_text, elements, matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import FP32, UINT8, rows, vector

_FP8 = dtype_of("fp8")
_MX_BLOCK = 32  # elements that share a scale of one byte in the MX formats


@dataclass(frozen=True, slots=True)
class _Norm:
    """Where an op keeps its arguments, None where it has none; and what it does besides the norm."""

    x: int = 0
    weight: int | None = 1
    bias: int | None = None
    out: int | None = None
    residual: int | None = None
    per_element: int = 0  # operations for a residual and for quantising
    scales: int | None = None  # a tensor of scales that is written
    given_scale: int | None = None  # a scale that is read
    group: int | None = None  # size of a group that shares a scale; 0 is a row
    quantised: Dtype | None = None  # type of a result that is no argument
    statistics: int = 0  # per row, written for the backward pass
    centred: bool = False  # a layer norm


def _cost(args: OpArgs, norm: _Norm) -> OpCost | None:
    x, weight, bias, residual = (_at(args, at) for at in (norm.x, norm.weight, norm.bias, norm.residual))
    if x is None or not x.shape or (norm.weight is not None and weight is None):
        return None
    if weight is not None and weight.numel not in {0, x.shape[-1]} and norm.group is not None:
        return None
    size = weight.numel if weight is not None else x.shape[-1]
    count = x.numel // size if size else 0
    base = 5 * x.numel + 6 * size if norm.centred else (4 if weight is not None else 3) * x.numel + 2 * count
    optional = norm.residual is not None and residual is None  # the residual of such an op may be left out
    written = [_result(args, norm, x), residual, elements(norm.statistics * count, FP32)]
    scales, known = _scales(args, norm, count, size)
    if not known:
        return None
    return vector(
        base + (norm.per_element - optional) * x.numel,
        [x, weight, bias, residual, _at(args, norm.given_scale)],
        [*written, scales],
        x.dtype,
        _params(x, size),
    )


def _at(args: OpArgs, index: int | None) -> Tensor | None:
    return None if index is None else tensor(args, index)


def _result(args: OpArgs, norm: _Norm, x: Tensor) -> Tensor:
    recorded = _at(args, norm.out)
    return recorded if recorded is not None else Tensor(x.shape, norm.quantised or x.dtype)


def _scales(args: OpArgs, norm: _Norm, count: int, size: int) -> tuple[Tensor | None, bool]:
    """Return the scales that are written, and whether their number is known."""
    recorded = _at(args, norm.scales)
    if recorded is not None or norm.group is None:
        return recorded, True
    group = as_int(value(args, norm.group))
    if group is None or group < 0:
        return None, False
    return elements(count * (-(-size // group) if group else 1), FP32), True


def _padded(args: OpArgs) -> OpCost | None:
    """Residual added, result padded to a multiple of the recorded size: ``(input, weight, eps, residual, pad)``."""
    x, weight, multiple = tensor(args, 0), tensor(args, 1), as_int(value(args, 4))
    if x is None or weight is None or not x.shape or multiple is None or multiple < 0:
        return None
    size, count = x.shape[-1], rows(x.shape)
    wide = -(-size // multiple) * multiple if multiple else size
    flops = 5 * x.numel + 2 * count
    return vector(flops, [x, x, weight], [elements(count * wide, x.dtype), x], x.dtype, _params(x, size))


def _mxfp4(args: OpArgs) -> OpCost | None:
    """``(x1, weight1, eps, x2, weight2, eps, residual, …)``: the first is normalised, added to and quantised.

    The second, if there is one, is normalised alone.  Packed fp4: half a byte per element and a scale per 32.
    """
    x, weight = tensor(args, 0), tensor(args, 1)
    if x is None or weight is None or len(x.shape) != 2:
        return None
    second, residual = matrix(args, 3), matrix(args, 6)
    flops = 6 * x.numel + 2 * x.shape[0] + (0 if residual is None else x.numel)
    added = None if residual is None else x
    second_weight = None if second is None else Tensor((second.shape[1],), second.dtype)
    if second is not None:
        flops += 4 * second.numel + 2 * second.shape[0]
    packed = elements(-(-x.numel // 2) + x.numel // _MX_BLOCK, UINT8)
    read = [x, weight, added, second, second_weight]
    return vector(flops, read, [packed, added, second], x.dtype, _params(x, x.shape[1]))


def _modulated(args: OpArgs, *, backward: bool) -> OpCost | None:
    """Layer norm of ``[T, B, H]``, then scale and shift per ``[B, H]``; mean and rstd per row in fp32."""
    x = matrix(args, 0, 3)
    if x is None:
        return None
    t, b, h = x.shape
    statistics, modulation = elements(2 * t * b, FP32), elements(b * h, x.dtype)
    if backward:
        read, written = [x, x, statistics, modulation], [x, modulation, modulation]
    else:
        read, written = [x, modulation, modulation], [x, statistics]
    return vector((15 if backward else 12) * x.numel, read, written, x.dtype, _params(x, h))


def _params(x: Tensor, size: int) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else "", "num_channels": size}


def _rms(norm: _Norm, *names: str) -> OpModel:
    return OpModel(names, "RMSNorm", "RMSNorm", partial(_cost, norm=norm))


def _other(cost: Callable[[OpArgs], OpCost | None], *names: str) -> OpModel:
    return OpModel(names, "RMSNorm", "RMSNorm", cost)


def _layer(norm: _Norm, *names: str) -> OpModel:
    return OpModel(names, "Normalization", "NORM_fwd", partial(_cost, norm=norm))


MODELS = (
    _rms(_Norm(), "aiter::rms_norm", "aiter::rmsnorm2d_fwd_ck"),
    _rms(
        _Norm(x=1, weight=2, out=0),
        "aiter::rmsnorm",
        "_C::rms_norm",
        "sgl_kernel::rmsnorm",
        "sgl_kernel::gemma_rmsnorm",
        "flashinfer::rmsnorm",
        "flashinfer::gemma_rmsnorm",
    ),
    _rms(
        _Norm(weight=2, residual=1, per_element=1),
        "_C::fused_add_rms_norm",
        "sgl_kernel::fused_add_rmsnorm",
        "sgl_kernel::gemma_fused_add_rmsnorm",
        "flashinfer::fused_add_rmsnorm",
        "flashinfer::gemma_fused_add_rmsnorm",
    ),
    _rms(
        _Norm(x=1, weight=4, out=0, residual=2, per_element=1), "aiter::rmsnorm2d_fwd_with_add_ck", "aiter::add_rmsnorm"
    ),
    _rms(_Norm(x=1, weight=3, out=0, scales=2, per_element=2), "aiter::rmsnorm2d_fwd_with_dynamicquant_ck"),
    _rms(_Norm(x=1, weight=3, out=0, scales=2, group=5, per_element=2), "aiter::rmsnorm_quant"),
    _rms(_Norm(x=1, weight=2, out=0, given_scale=3, per_element=1), "_C::rms_norm_static_fp8_quant"),
    _rms(
        _Norm(x=1, weight=3, out=0, residual=2, given_scale=4, per_element=2), "_C::fused_add_rms_norm_static_fp8_quant"
    ),
    _rms(_Norm(x=1, weight=2, out=0, scales=3, residual=6, per_element=3), "_C::rms_norm_dynamic_per_token_quant"),
    _rms(_Norm(group=3, quantised=_FP8, per_element=2), "vllm::rocm_aiter_rmsnorm_fp8_group_quant"),
    _rms(
        _Norm(weight=2, residual=1, group=4, quantised=_FP8, per_element=3),
        "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
    ),
    _other(_padded, "vllm::rocm_aiter_triton_add_rmsnorm_pad", "aiter::fused_add_rmsnorm_pad_"),
    _other(_mxfp4, "sglang_profiler::fused_mxfp4_quant_fused_rms_mxfp4_quant", "aiter::_fuse_rmsnorm_fp4_quant"),
    _layer(
        _Norm(statistics=1),
        "LigerRMSNormFunction",
        "FusedRMSNormAffineFunction",
        "FusedRMSNormAffineMixedDtypesFunction",
    ),
    _layer(
        _Norm(bias=2, statistics=2, centred=True),
        "LigerLayerNormFunction",
        "FusedLayerNormAffineFunction",
        "FusedLayerNormAffineMixedDtypesFunction",
        "FastLayerNormFN",
    ),
    OpModel(("primus::fused_ln_modulate",), "Normalization", "NORM_fwd", partial(_modulated, backward=False)),
    OpModel(("primus::fused_ln_modulate_backward",), "Normalization", "NORM_bwd", partial(_modulated, backward=True)),
)
"""Argument positions as in the libraries' own schemas."""
