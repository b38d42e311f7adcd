"""Gated activations and activation backward ops whose operands are not the first arguments.

``act_and_mul(out, input)``: the input holds both halves, the result one of them.  Operations per output element as
TraceLens counts them: SiLU and product 5, GELU (erf) and product 8, GELU (tanh) and product 10.
"""

from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, tensor
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import axis, replaced, vector

_CATEGORY = "elementwise"


def _gated(args: OpArgs, *, per_output: int, scale_at: int | None = None) -> OpCost | None:
    """``(out, input[, scale])``."""
    out, x = tensor(args, 0), tensor(args, 1)
    if out is None or x is None or x.numel != 2 * out.numel:
        return None
    scale = None if scale_at is None else tensor(args, scale_at)
    return vector(per_output * out.numel, [x, scale], [out], x.dtype, _params(x))


def _simple(args: OpArgs) -> OpCost | None:
    """``(out, input)`` of one shape: one operation per element, as for every other activation."""
    out, x = tensor(args, 0), tensor(args, 1)
    if out is None or x is None or x.shape != out.shape:
        return None
    return vector(out.numel, [x], [out], x.dtype, _params(x))


def _glu(args: OpArgs) -> OpCost | None:
    """``(self, dim)``: a sigmoid and a product for each element of one half."""
    x = tensor(args, 0)
    dim = None if x is None else axis(args, 1, len(x.shape))
    if x is None or dim is None or not x.shape or x.shape[dim] % 2:
        return None
    out = Tensor(replaced(x.shape, dim, x.shape[dim] // 2), x.dtype)
    return vector(2 * out.numel, [x], [out], x.dtype, _params(x))


def _glu_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, self, dim)``: the gradients of both halves."""
    grad, x = tensor(args, 0), tensor(args, 1)
    if grad is None or x is None or x.numel != 2 * grad.numel:
        return None
    return vector(2 * x.numel, [grad, x], [x], x.dtype, _params(x))


def _gradient(args: OpArgs, *, other: int) -> OpCost | None:
    """``(grad_output, …)`` with the activation's input or result at ``other``."""
    grad, x = tensor(args, 0), tensor(args, other)
    if grad is None or x is None or grad.shape != x.shape:
        return None
    return vector(grad.numel, [grad, x], [grad], grad.dtype, _params(x))


def _gated_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output)`` of ``act(a) * b``: a and b have the gradient's shape and type, and so have their gradients."""
    grad = tensor(args, 0)
    return None if grad is None else vector(5 * grad.numel, [grad] * 3, [grad] * 2, grad.dtype, _params(grad))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


def _and_mul(per_output: int, text: str, scale_at: int | None = None) -> OpModel:
    cost = partial(_gated, per_output=per_output, scale_at=scale_at)
    return OpModel(tuple(text.split()), "elementwise", _CATEGORY, cost)


MODELS = (
    _and_mul(
        5, "aiter::silu_and_mul _C::silu_and_mul _C::mul_and_silu sgl_kernel::silu_and_mul flashinfer::silu_and_mul"
    ),
    _and_mul(8, "aiter::gelu_and_mul _C::gelu_and_mul sgl_kernel::gelu_and_mul flashinfer::gelu_and_mul"),
    _and_mul(
        10,
        "aiter::gelu_tanh_and_mul _C::gelu_tanh_and_mul sgl_kernel::gelu_tanh_and_mul flashinfer::gelu_tanh_and_mul",
    ),
    _and_mul(6, "_C::silu_and_mul_quant aiter::scaled_silu_and_mul", scale_at=2),
    OpModel(("_C::gelu_new", "_C::gelu_fast", "_C::gelu_quick"), "UnaryElementwise", _CATEGORY, _simple),
    OpModel(("aten::glu",), "UnaryElementwise", _CATEGORY, _glu),
    OpModel(("aten::glu_backward",), "BinaryElementwise", _CATEGORY, _glu_backward),
    OpModel(("aten::elu_backward",), "BinaryElementwise", _CATEGORY, partial(_gradient, other=5)),
    OpModel(
        ("LigerSiLUMulFunctionBackward", "LigerGELUMulFunctionBackward"), "elementwise", _CATEGORY, _gated_backward
    ),
)
"""Argument positions as in PyTorch's ``native_functions.yaml`` and the libraries' own schemas."""
