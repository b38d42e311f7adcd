"""Reductions, scans and softmax.

A reduction does one operation per element it reads (TraceLens's convention) and writes one element per kept position.
Softmax: five operations per element (maximum, difference, exponential, sum, quotient), its backward four (product, sum,
difference, product); each reads its operands once and writes its result once.
"""

import math

from tracelens_tui.perf.dtypes import Dtype, dtype_of_code
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, type_name, value
from tracelens_tui.perf.parse import as_bool, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import BOOL, FP32, INT64, axis, position, vector

_INDICES = frozenset({"aten::argmax", "aten::argmin"})
_TRUTHS = frozenset({"aten::any", "aten::all"})
_WITH_INDICES = frozenset({"aten::max", "aten::min"})
_DIM_AT = {"aten::norm": 2, "aten::linalg_vector_norm": 2}
_SUMS = frozenset({"aten::sum", "aten::prod", "aten::cumsum", "aten::cumprod"})


def reduce(args: OpArgs) -> OpCost | None:
    """``(input, [dim, keepdim, …])``: without recorded dims all of the input becomes one element."""
    x = tensor(args, 0)
    kept = None if x is None else _kept(args, x.shape)
    if x is None or kept is None:
        return None
    outputs = [elements(kept, _result(args, x.dtype))]
    if args.name in _WITH_INDICES and _dims(args, len(x.shape)):
        outputs.append(elements(kept, INT64))
    return vector(x.numel, [x], outputs, x.dtype, _params(x, kept))


def scan(args: OpArgs) -> OpCost | None:
    """``(input, dim, …)``: one operation per element, a result of the input's shape."""
    x = tensor(args, 0)
    if x is None:
        return None
    return vector(x.numel, [x], [elements(x.numel, _result(args, x.dtype))], x.dtype, _params(x, x.numel))


def softmax(args: OpArgs) -> OpCost | None:
    """``(input, dim, half_to_float)``."""
    x = tensor(args, 0)
    if x is None:
        return None
    out = FP32 if as_bool(value(args, 2)) else x.dtype
    return vector(5 * x.numel, [x], [elements(x.numel, out)], x.dtype, _params(x, x.numel))


def softmax_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, output, dim, input_dtype)``."""
    grad, out = tensor(args, 0), tensor(args, 1)
    if grad is None or out is None or grad.shape != out.shape:
        return None
    code = as_int(value(args, 3))
    result = (dtype_of_code(code) if code is not None else None) or grad.dtype
    return vector(4 * out.numel, [grad, out], [elements(out.numel, result)], grad.dtype, _params(out, out.numel))


def _kept(args: OpArgs, shape: Shape) -> int | None:
    """Number of elements of the result, None where the recorded dims are none of the input."""
    dims = _dims(args, len(shape))
    if dims is None:
        return None
    reduced = dims or tuple(range(len(shape)))
    return math.prod(size for dim, size in enumerate(shape) if dim not in reduced)


def _dims(args: OpArgs, rank: int) -> tuple[int, ...] | None:
    """The dims that are reduced; empty for all, None for one that the input has not."""
    index = _DIM_AT.get(args.name, 1)
    if type_name(args, index) not in {"Scalar", "ScalarList", ""} and index < len(args.types):
        return ()
    recorded = as_ints(value(args, index))
    if recorded is None:
        one = axis(args, index, rank) if as_int(value(args, index)) is not None else -1
        return () if one == -1 else (None if one is None else (one,))
    found = [position(dim, rank) for dim in recorded]
    known = tuple(dim for dim in found if dim is not None)
    return known if len(known) == len(found) else None


def _result(args: OpArgs, dtype: Dtype | None) -> Dtype | None:
    if args.name in _INDICES:
        return INT64
    if args.name in _TRUTHS:
        return BOOL
    if args.name in _SUMS and dtype is not None and dtype.kind in {"int", "bool"}:
        return INT64
    return dtype


def _params(x: Tensor, outputs: int) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else "", "num_outputs": outputs}


def _aten(text: str) -> tuple[str, ...]:
    return tuple(f"aten::{name}" for name in text.split())


_REDUCTIONS = (
    "sum mean amax amin max min norm linalg_vector_norm linalg_norm std var var_mean std_mean logsumexp prod any all "
    "argmax argmin nansum count_nonzero"
)

MODELS = (
    OpModel(_aten(_REDUCTIONS), "Reduce", "reduce", reduce),
    OpModel(_aten("cumsum cumprod logcumsumexp"), "Reduce", "reduce", scan),
    OpModel(_aten("_softmax _log_softmax"), "Softmax", "reduce", softmax),
    OpModel(_aten("_softmax_backward_data _log_softmax_backward_data"), "Softmax", "reduce", softmax_backward),
)
