"""Elementwise ops: one operation per output element, every operand read once and the result written once.

The count is TraceLens's convention (a copy, an exponential and an addition are each one operation per element); the
bytes are what decides.  Operands are read in their recorded shapes, so that a broadcast one costs its own size.  The
result has the type of the recorded output tensor, an in-place op's own type, or the type that PyTorch promotes to.
Ops that only call others (``aten::relu``, ``aten::to``, ``aten::clone``) have no model: what they call is counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tracelens_tui.perf.broadcasting import broadcast, floating, promoted
from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor, as_text, tensor, total
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

ResultType = Literal["promoted", "floating", "bool"]


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A model for ops with tensors at the first ``operands`` positions; call it with the arguments."""

    operands: int
    out: int = -1  # position of the output tensor of an out= variant
    in_place: bool = False
    result: ResultType = "promoted"

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None if no operand was recorded or the shapes do not broadcast."""
        own = tensor(args, 0)
        inputs = [found for found in (tensor(args, i) for i in range(self.operands)) if found is not None]
        shape = broadcast([t.shape for t in inputs]) if inputs else None
        if shape is None or (self.in_place and (own is None or own.shape != shape)):
            return None
        wide = promoted(inputs)
        computed = floating(wide) if self.result == "floating" else wide
        return _cost(inputs, Tensor(shape, self._result_type(args, own, computed)), computed)

    def _result_type(self, args: OpArgs, own: Tensor | None, computed: Dtype | None) -> Dtype | None:
        if self.in_place:
            return own.dtype if own is not None else None
        given = tensor(args, self.out) if self.out >= 0 else None
        if given is not None and given.dtype is not None:
            return given.dtype
        return dtype_of("bool") if self.result == "bool" and computed is not None else computed


def copy(args: OpArgs) -> OpCost | None:
    """``copy_(self, src)``: reads the source, writes the destination, each in its own type (a cast if they differ)."""
    target, source = tensor(args, 0), tensor(args, 1)
    if target is None or source is None or broadcast([target.shape, source.shape]) != target.shape:
        return None
    return _cost([source], target, target.dtype)


def fill(args: OpArgs) -> OpCost | None:
    """``fill_(self, value)``: only writes; no arithmetic."""
    target = tensor(args, 0)
    return None if target is None else _cost([], target, target.dtype, flops=0)


def where(args: OpArgs) -> OpCost | None:
    """``(condition, self, other)``; with the condition alone it answers indices, as many as the data has."""
    return Elementwise(3)(args) if len(args.dims) >= 3 else None


def _cost(inputs: Sequence[Tensor], result: Tensor, computed: Dtype | None, *, flops: int | None = None) -> OpCost:
    return OpCost(
        flops=result.numel if flops is None else flops,
        bytes_read=total(*(t.bytes for t in inputs)),
        bytes_written=result.bytes,
        unit="vector",
        precision=computed.precision if computed is not None else None,
        params=_params(inputs, result),
    )


def _params(inputs: Sequence[Tensor], result: Tensor) -> Mapping[str, int | float | str | bool]:
    params: dict[str, int | float | str | bool] = {}
    if len(inputs) < 2:
        params["op_shape"] = as_text(result.shape)
    for number, operand in enumerate(inputs, 1):
        suffix = str(number) if len(inputs) > 1 else ""
        if suffix:
            params[f"shape_in{suffix}"] = as_text(operand.shape)
        params[f"dtype_in{suffix}"] = operand.dtype.name if operand.dtype else ""
        params[f"stride_input{suffix}"] = as_text(operand.strides)
    params["dtype_out"] = result.dtype.name if result.dtype else ""
    return params


def _names(text: str, *, in_place: bool = False) -> tuple[str, ...]:
    return tuple(f"aten::{name}_" if in_place else f"aten::{name}" for name in text.split())


def _group(text: str, operands: int, out: int, family: str, result: ResultType = "promoted") -> tuple[OpModel, OpModel]:
    """Return the models of ops and of their in-place forms."""
    plain = Elementwise(operands, out=out, result=result)
    own = Elementwise(operands, in_place=True, result=result)
    return (
        OpModel(_names(text), family, "elementwise", plain),
        OpModel(_names(text, in_place=True), family, "elementwise", own),
    )


_UNARY = (
    "neg abs sign sgn floor ceil round trunc frac silu gelu elu leaky_relu hardswish hardsigmoid hardtanh mish "
    "threshold softshrink hardshrink nan_to_num"
)
_UNARY_BITS = "logical_not bitwise_not"
_TRANSCENDENTAL = (
    "sigmoid rsqrt sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan tanh asin acos atan sinh cosh asinh acosh "
    "atanh erf erfc erfinv reciprocal softplus log_sigmoid_forward sinc logit lgamma digamma"
)
_CHECKS = "isnan isinf isfinite signbit"
_BINARY = (
    "mul maximum minimum fmax fmin fmod remainder floor_divide bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift heaviside copysign _prelu_kernel"
)
_BINARY_ALPHA = "add sub rsub"
_COMPARISONS = "eq ne lt le gt ge logical_and logical_or logical_xor"
_BACKWARD = (
    "sigmoid_backward threshold_backward tanh_backward gelu_backward silu_backward hardtanh_backward "
    "hardswish_backward leaky_relu_backward hardsigmoid_backward mish_backward softplus_backward log_sigmoid_backward "
    "logit_backward softshrink_backward hardshrink_backward"
)

MODELS = (
    *_group(_UNARY, 1, 1, "UnaryElementwise"),
    *_group(_UNARY_BITS, 1, 1, "UnaryElementwise"),
    *_group(_TRANSCENDENTAL, 1, 1, "UnaryElementwise", "floating"),
    *_group("clamp", 3, 3, "UnaryElementwise"),
    *_group("clamp_min clamp_max pow", 2, 2, "UnaryElementwise"),
    OpModel(_names(_CHECKS), "UnaryElementwise", "elementwise", Elementwise(1, out=1, result="bool")),
    OpModel(("aten::copy_", "aten::copy"), "UnaryElementwise", "elementwise", copy),
    OpModel(("aten::fill_",), "UnaryElementwise", "elementwise", fill),
    *_group(_BINARY, 2, 2, "BinaryElementwise"),
    *_group("div true_divide", 2, 2, "BinaryElementwise", "floating"),
    *_group("atan2 hypot xlogy logaddexp", 2, 2, "BinaryElementwise", "floating"),
    *_group(_BINARY_ALPHA, 2, 3, "BinaryElementwise"),
    *_group(_COMPARISONS, 2, 2, "BinaryElementwise", "bool"),
    OpModel(_names(_BACKWARD), "BinaryElementwise", "elementwise", Elementwise(2)),
    OpModel(("LigerSiLUMulFunction", "LigerGELUMulFunction"), "BinaryElementwise", "elementwise", Elementwise(2)),
    OpModel(("aten::where",), "BinaryElementwise", "elementwise", where),
    OpModel(("aten::masked_fill_",), "BinaryElementwise", "elementwise", Elementwise(2, in_place=True)),
    *_group("lerp addcmul addcdiv", 3, 4, "BinaryElementwise"),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
