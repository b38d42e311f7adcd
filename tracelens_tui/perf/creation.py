"""Ops that make elements: ranges, random numbers, dropout and its backward.

Ranges and random numbers only write, one operation per element.  Dropout does two per element (a comparison and a
scaling), reads its input and writes the result and a mask; its backward reads gradient and mask, again two per element.
"""

import math

from tracelens_tui.perf.dtypes import Dtype, dtype_of_code
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_float, as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import BOOL, FP32, INT64, vector

_CATEGORY = "elementwise"


def _arange(args: OpArgs) -> OpCost | None:
    """``([start,] end[, step], out)`` or ``([start,] end[, step], dtype, layout, device, pin_memory)``."""
    count = len(args.dims)
    is_out = count in {2, 4}  # (end, out), (start, end, step, out)
    numbers = count - (1 if is_out else 4)
    recorded = [as_float(value(args, index)) for index in range(numbers)]
    known = [number for number in recorded if number is not None]
    if not 1 <= numbers <= 3 or len(known) != numbers:
        return None
    start, end = (0.0, known[0]) if numbers == 1 else (known[0], known[1])
    step = known[2] if numbers == 3 else 1.0
    length = (end - start) / step if step else -1.0
    if not 0 <= length < 1 << 62:
        return None
    whole = all(as_int(value(args, index)) is not None for index in range(numbers))
    out = tensor(args, count - 1) if is_out else None
    dtype = out.dtype if out is not None else _asked(args, numbers, INT64 if whole else FP32)
    return _made(elements(math.ceil(length), dtype))


def _linspace(args: OpArgs) -> OpCost | None:
    """``(start, end, steps, out)`` or ``(start, end, steps, dtype, layout, device, pin_memory)``."""
    steps = as_int(value(args, 2))
    if steps is None or steps < 0:
        return None
    out = tensor(args, 3)
    return _made(elements(steps, out.dtype if out is not None else _asked(args, 3, FP32)))


def _asked(args: OpArgs, index: int, default: Dtype | None) -> Dtype | None:
    """The type that a call asked for by number, else the default."""
    code = as_int(value(args, index))
    return default if code is None else dtype_of_code(code)


def _made(out: Tensor) -> OpCost:
    return vector(out.numel, [], [out], out.dtype, _params(out))


def _random(args: OpArgs) -> OpCost | None:
    """``(self, …)``: filled in place."""
    x = tensor(args, 0)
    return None if x is None else _made(x)


def _bernoulli(args: OpArgs) -> OpCost | None:
    """``(self, p)``: p is a number or a tensor of probabilities."""
    x, p = tensor(args, 0), tensor(args, 1)
    return None if x is None else vector(x.numel, [p], [x], x.dtype, _params(x))


def _bernoulli_of(args: OpArgs) -> OpCost | None:
    """``(self)``: the input holds the probabilities."""
    x = tensor(args, 0)
    return None if x is None else vector(x.numel, [x], [x], x.dtype, _params(x))


def _permutation(args: OpArgs) -> OpCost | None:
    """``(n, …)``: ``n`` int64 numbers unless the call asks for another type."""
    n = as_int(value(args, 0))
    if n is None or n < 0:
        return None
    outs = [found for index in range(1, len(args.dims)) if (found := tensor(args, index)) is not None]
    return _made(elements(n, outs[-1].dtype if outs else _asked(args, 1, INT64)))


def _dropout(args: OpArgs) -> OpCost | None:
    """``(input, p, train)`` or ``(self, p, generator)``: the result and a mask of one byte per element."""
    x = tensor(args, 0)
    if x is None:
        return None
    return vector(2 * x.numel, [x], [x, elements(x.numel, BOOL)], x.dtype, _params(x))


def _dropout_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, mask, scale)``."""
    grad, mask = tensor(args, 0), tensor(args, 1)
    if grad is None or mask is None or grad.numel != mask.numel:
        return None
    return vector(2 * grad.numel, [grad, mask], [grad], grad.dtype, _params(grad))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_out": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::arange",), "Creation", _CATEGORY, _arange),
    OpModel(("aten::linspace",), "Creation", _CATEGORY, _linspace),
    OpModel(
        (
            "aten::normal_",
            "aten::uniform_",
            "aten::random_",
            "aten::exponential_",
            "aten::log_normal_",
            "aten::cauchy_",
            "aten::geometric_",
        ),
        "Creation",
        _CATEGORY,
        _random,
    ),
    OpModel(("aten::bernoulli_",), "Creation", _CATEGORY, _bernoulli),
    OpModel(("aten::bernoulli",), "Creation", _CATEGORY, _bernoulli_of),
    OpModel(("aten::randperm",), "Creation", BY_KERNEL, _permutation),
    OpModel(("aten::native_dropout", "aten::_fused_dropout"), "Dropout", _CATEGORY, _dropout),
    OpModel(("aten::native_dropout_backward", "aten::_masked_scale"), "Dropout", _CATEGORY, _dropout_backward),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
