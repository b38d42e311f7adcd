"""Softmax and its logarithm, forward and backward.

Five operations per element: maximum, difference, exponential, sum, and the quotient (or the difference of logarithms);
backward four: product (or exponential), sum, product, difference.  Each operand is read, each result written once.
"""

from tracelens_tui.perf.dtypes import Dtype, dtype_of_code
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_bool, as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import FP32, vector

_FAMILY, _CATEGORY = "Softmax", "reduce"


def _softmax(args: OpArgs) -> OpCost | None:
    """``(self, dim, half_to_float[, out])``."""
    x = tensor(args, 0)
    if x is None:
        return None
    wide = as_bool(value(args, 2))
    out = tensor(args, 3)
    dtype = out.dtype if out is not None else FP32 if wide else x.dtype
    return vector(5 * x.numel, [x], [elements(x.numel, dtype)], x.dtype, _params(x))


def _backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, output, dim, input_dtype)``: a gradient in the type that the forward op's input had."""
    grad, out = tensor(args, 0), tensor(args, 1)
    if grad is None or out is None or grad.shape != out.shape:
        return None
    code = as_int(value(args, 3))
    dtype: Dtype | None = grad.dtype if code is None else dtype_of_code(code)
    return vector(4 * out.numel, [grad, out], [elements(out.numel, dtype)], grad.dtype, _params(out))


def _masked(args: OpArgs) -> OpCost | None:
    """``(self, mask, …)``."""
    x, mask = tensor(args, 0), tensor(args, 1)
    if x is None or mask is None:
        return None
    return vector(5 * x.numel, [x, mask], [x], x.dtype, _params(x))


def _masked_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, output, mask, …)``."""
    grad, out, mask = (tensor(args, index) for index in range(3))
    if grad is None or out is None or mask is None or grad.shape != out.shape:
        return None
    return vector(4 * out.numel, [grad, out, mask], [grad], grad.dtype, _params(out))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::_softmax", "aten::_log_softmax"), _FAMILY, _CATEGORY, _softmax),
    OpModel(("aten::_softmax_backward_data", "aten::_log_softmax_backward_data"), _FAMILY, _CATEGORY, _backward),
    OpModel(("aten::_masked_softmax",), _FAMILY, _CATEGORY, _masked),
    OpModel(("aten::_masked_softmax_backward",), _FAMILY, _CATEGORY, _masked_backward),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
