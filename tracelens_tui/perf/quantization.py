"""Ops that quantise and dequantise.

Bytes: the input read, the quantised values and their scales written, each in its own size; packed fp4 has half a byte
per element.  Operations per element, TraceLens's where it has the op: fp8 per token or group 83/32 in aiter and 6 in
Triton, MX fp4 2, one tensor scale 1.  Others: 2 where the scale is found from the data, 1 where it is given.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor, as_text, elements, matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import BOOL, FP32, UINT8, rows, vector

_FP8 = dtype_of("fp8")
_MX_BLOCK = 32  # elements that share a scale of one byte
_VLLM_GROUP = 128  # group of vLLM's kernel where none was recorded
_FBGEMM_ROW_SCALES = 8  # bytes that a row-wise quantised row of FBGEMM ends with


@dataclass(frozen=True, slots=True)
class _Quantised:
    """An op whose result is an argument; a scale is written where it is found, read where it is given."""

    out: int
    x: int
    per_element: Fraction | int
    found_scale: int | None = None
    given_scale: int | None = None

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where result or input were not recorded."""
        out, x = tensor(args, self.out), tensor(args, self.x)
        if out is None or x is None:
            return None
        found, given = (None if at is None else tensor(args, at) for at in (self.found_scale, self.given_scale))
        return vector(int(self.per_element * x.numel), [x, given], [out, found], x.dtype, _params(x))


def _triton_groups(args: OpArgs) -> OpCost | None:
    """``(input [M, N], group_size)``: fp8 values and an fp32 scale per group of a row."""
    x, group = matrix(args, 0), as_int(value(args, 1)) or _VLLM_GROUP
    if x is None or group < 1:
        return None
    m, n = x.shape
    return vector(6 * m * n, [x], [elements(m * n, _FP8), elements(m * -(-n // group), FP32)], x.dtype, _params(x))


def _mxfp4(args: OpArgs, *, x_at: int) -> OpCost | None:
    x = tensor(args, x_at)
    if x is None:
        return None
    return vector(2 * x.numel, [x], [elements(_packed(x.numel) + x.numel // _MX_BLOCK, UINT8)], x.dtype, _params(x))


def _mxfp4_both_ways(args: OpArgs) -> OpCost | None:
    """``(input [M, N])``: quantised along the rows and along the columns."""
    x = matrix(args, 0)
    if x is None:
        return None
    m, n = x.shape
    scales = m * -(-n // _MX_BLOCK) + n * -(-m // _MX_BLOCK)
    return vector(m * n, [x], [elements(2 * _packed(m * n) + scales, UINT8)], x.dtype, _params(x))


def _packed(count: int) -> int:
    """Bytes of so many fp4 values."""
    return -(-count // 2)


def _tensorwise(args: OpArgs) -> OpCost | None:
    """``(input, …)``: fp8 values with one scale."""
    x = tensor(args, 0)
    return None if x is None else vector(x.numel, [x], [elements(x.numel, _FP8)], x.dtype, _params(x))


def _aten_quantize(args: OpArgs) -> OpCost | None:
    """``quantize_per_tensor(self, scale, zero_point, dtype)``."""
    x, code = tensor(args, 0), as_int(value(args, 3))
    if x is None:
        return None
    return vector(2 * x.numel, [x], [elements(x.numel, _quantised_type(code))], x.dtype, _params(x))


def _quantised_type(code: int | None) -> Dtype | None:
    """The element type of PyTorch's quantised ScalarTypes (qint8, quint8, qint32)."""
    return None if code is None else {12: dtype_of("int8"), 13: UINT8, 14: dtype_of("int")}.get(code)


def _dequantize(args: OpArgs) -> OpCost | None:
    """``dequantize(self)``: fp32 values."""
    x = tensor(args, 0)
    return None if x is None else vector(2 * x.numel, [x], [elements(x.numel, FP32)], FP32, _params(x))


def _fake_quantize(args: OpArgs) -> OpCost | None:
    """``(self, scale, zero_point, …)``: rounded values in the input's type and a mask."""
    x = tensor(args, 0)
    if x is None:
        return None
    scale, zero = tensor(args, 1), tensor(args, 2)
    return vector(5 * x.numel, [x, scale, zero], [x, elements(x.numel, BOOL)], x.dtype, _params(x))


def _fbgemm_rowwise(args: OpArgs, *, back: bool) -> OpCost | None:
    """FBGEMM's fp8 rows: bytes in a multiple of 4, then two fp32 scales; ``back`` gives fp32 values."""
    x = tensor(args, 0)
    if x is None or not x.shape or (back and x.shape[-1] < _FBGEMM_ROW_SCALES):
        return None
    count, width = rows(x.shape), x.shape[-1]
    if back:
        out = elements(count * (width - _FBGEMM_ROW_SCALES), FP32)
        return vector(out.numel, [x], [out], FP32, _params(x))
    out = elements(count * (-(-width // 4) * 4 + _FBGEMM_ROW_SCALES), UINT8)
    return vector(2 * x.numel, [x], [out], x.dtype, _params(x))


def _fbgemm_elements(args: OpArgs, *, to: Dtype | None) -> OpCost | None:
    """FBGEMM's hybrid fp8: a byte per fp32 value."""
    x = tensor(args, 0)
    return None if x is None else vector(x.numel, [x], [elements(x.numel, to)], FP32, _params(x))


def _sampled(args: OpArgs) -> OpCost | None:
    """aiter's sampling from ``[T, V]``: ``(out, probabilities, exponentials, …)``."""
    x, noise = matrix(args, 1), tensor(args, 2)
    if x is None or noise is None:
        return None
    t, v = x.shape
    return vector(2 * t * v, [x, elements(t * v, noise.dtype)], [elements(t, FP32)], x.dtype, _params(x))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


def _group(cost: _Quantised | partial[OpCost | None], text: str) -> OpModel:
    return OpModel(tuple(text.split()), "GroupQuant", "GroupQuant", cost)


MODELS = (
    _group(
        _Quantised(0, 1, Fraction(83, 32), found_scale=2),
        "aiter::dynamic_per_token_scaled_quant aiter::dynamic_per_group_scaled_quant aiter::dynamic_per_tensor_quant",
    ),
    _group(partial(_triton_groups), "vllm::triton_per_token_group_quant_fp8"),
    _group(
        partial(_mxfp4, x_at=0),
        "sglang_profiler::fused_mxfp4_quant_fused_flatten_mxfp4_quant sglang_profiler::quant_dynamic_mxfp4_quant",
    ),
    _group(partial(_mxfp4, x_at=1), "aiter::dynamic_per_group_scaled_quant_fp4"),
    _group(partial(_mxfp4, x_at=2), "aiter::fused_dynamic_mx_quant_moe_sort_hip"),
    OpModel(("aiter::fused_dynamic_mxfp4_quant_moe_sort_hip",), "GroupQuant", "MoE_aux", partial(_mxfp4, x_at=2)),
    _group(_Quantised(0, 1, 2, found_scale=2), "_C::dynamic_scaled_fp8_quant _C::dynamic_per_token_scaled_fp8_quant"),
    _group(_Quantised(0, 1, 2, found_scale=2), "_C::dynamic_scaled_int8_quant"),
    _group(_Quantised(0, 1, 1, given_scale=2), "_C::static_scaled_fp8_quant _C::static_scaled_int8_quant"),
    _group(
        _Quantised(1, 0, 2, found_scale=2),
        "sgl_kernel::sgl_per_token_group_quant_fp8 sgl_kernel::sgl_per_token_group_quant_8bit "
        "sgl_kernel::sgl_per_token_quant_fp8 sgl_kernel::sgl_per_tensor_quant_fp8",
    ),
    _group(_Quantised(0, 1, 2, found_scale=2, given_scale=3), "_C::scaled_fp4_quant"),
    OpModel(
        ("primus_turbo::quantize_fp8_tensorwise", "primus_turbo_cpp_extension::quantize_fp8_tensorwise"),
        "elementwise",
        "elementwise",
        _tensorwise,
    ),
    OpModel(
        (
            "primus_turbo::quantize_mxfp4_dual",
            "primus_turbo_cpp_extension::quantize_mxfp4_dual",
            "primus::quantize_mxfp4_dual",
        ),
        "elementwise",
        "elementwise",
        _mxfp4_both_ways,
    ),
    OpModel(("aiter::mixed_sample_outer_exponential",), "elementwise", "elementwise", _sampled),
    OpModel(("aten::quantize_per_tensor",), "Quantize", BY_KERNEL, _aten_quantize),
    OpModel(("aten::dequantize",), "Quantize", BY_KERNEL, _dequantize),
    OpModel(
        (
            "aten::fake_quantize_per_tensor_affine_cachemask",
            "aten::fake_quantize_per_channel_affine_cachemask",
        ),
        "Quantize",
        BY_KERNEL,
        _fake_quantize,
    ),
    OpModel(("fbgemm::FloatToFP8RowwiseQuantized",), "Quantize", BY_KERNEL, partial(_fbgemm_rowwise, back=False)),
    OpModel(("fbgemm::FP8RowwiseQuantizedToFloat",), "Quantize", BY_KERNEL, partial(_fbgemm_rowwise, back=True)),
    OpModel(("fbgemm::FloatToHFP8Quantized",), "Quantize", BY_KERNEL, partial(_fbgemm_elements, to=UINT8)),
    OpModel(("fbgemm::HFP8QuantizedToFloat",), "Quantize", BY_KERNEL, partial(_fbgemm_elements, to=FP32)),
)
"""Argument positions as in the libraries' own schemas."""
