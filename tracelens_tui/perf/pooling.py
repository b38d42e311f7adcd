"""Pooling of any rank, forward and backward.

Bytes: the input read, the result written, for a maximum also its int64 indices.  FLOPs: one per element of each window;
adaptive pools look at each input element once.  A backward op reads the gradient (and the indices) and writes the whole
gradient of the input.
"""

import math
from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_bool, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import INT64, vector

_FAMILY, _CATEGORY = "Pooling", "other"


def _max_pool(args: OpArgs) -> OpCost | None:
    """``(self, kernel_size, stride, padding, dilation, ceil_mode)``: values and their int64 indices."""
    return _pool(args, dilation=as_ints(value(args, 4)), ceil=as_bool(value(args, 5)), indices=True)


def _average_pool(args: OpArgs) -> OpCost | None:
    """``(self, kernel_size, stride, padding, ceil_mode, …)``."""
    return _pool(args, dilation=(1,), ceil=as_bool(value(args, 4)), indices=False)


def _pool(args: OpArgs, *, dilation: Shape | None, ceil: bool | None, indices: bool) -> OpCost | None:
    x, window = tensor(args, 0), as_ints(value(args, 1))
    if x is None or not window or dilation is None or ceil is None or len(x.shape) <= len(window):
        return None
    rank = len(window)
    stride = _wide(as_ints(value(args, 2)) or window, rank, 1)
    padding, dilated = _wide(as_ints(value(args, 3)), rank, 0), _wide(dilation, rank, 1)
    if stride is None or padding is None or dilated is None or min(window) < 1:
        return None
    sizes = zip(x.shape[-rank:], window, stride, padding, dilated, strict=True)
    spatial = tuple(_windows(*size, ceil=ceil) for size in sizes)
    if min(spatial) < 0:
        return None
    out = Tensor((*x.shape[:-rank], *spatial), x.dtype)
    positions = elements(out.numel, INT64) if indices else None
    return vector(out.numel * math.prod(window), [x], [out, positions], x.dtype, _params(x, out.shape))


def _wide(sizes: Shape | None, rank: int, least: int) -> Shape | None:
    """Return a size per dimension; one stands for all of them."""
    if sizes is None or len(sizes) not in {1, rank} or min(sizes) < least:
        return None
    return sizes * rank if len(sizes) == 1 else sizes


def _windows(size: int, window: int, stride: int, padding: int, dilation: int, *, ceil: bool) -> int:
    """Return the number of windows along a dimension; with ``ceil`` the last one may hang over, not begin outside."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    count = (room + stride - 1 if ceil else room) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def _adaptive(args: OpArgs, *, dims: int, indices: bool) -> OpCost | None:
    """``(self, output_size)``."""
    x, size = tensor(args, 0), as_ints(value(args, 1))
    if x is None or size is None or len(size) != dims or min(size) < 0 or len(x.shape) <= dims:
        return None
    out = Tensor((*x.shape[:-dims], *size), x.dtype)
    positions = elements(out.numel, INT64) if indices else None
    return vector(x.numel, [x], [out, positions], x.dtype, _params(x, out.shape))


def _backward(args: OpArgs, *, indices_at: int | None = None, windows: bool = False) -> OpCost | None:
    """``(grad_output, self, …)``; ``windows``: each gradient goes to a window of the recorded kernel size."""
    grad, x = tensor(args, 0), tensor(args, 1)
    indices = None if indices_at is None else tensor(args, indices_at)
    kernel = as_ints(value(args, 2)) if windows else (1,)
    if grad is None or x is None or not kernel or min(kernel) < 1 or (indices_at is not None and indices is None):
        return None
    return vector(grad.numel * math.prod(kernel), [grad, indices], [x], x.dtype, _params(x, grad.shape))


def _adaptive_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, self)``: every input element gets a share."""
    grad, x = tensor(args, 0), tensor(args, 1)
    return None if grad is None or x is None else vector(x.numel, [grad], [x], x.dtype, _params(x, grad.shape))


def _params(x: Tensor, out: Shape) -> dict[str, int | float | str | bool]:
    return {
        "op_shape": as_text(x.shape),
        "out_shape": as_text(out),
        "dtype_in": x.dtype.name if x.dtype else "",
    }


MODELS = (
    OpModel(("aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"), _FAMILY, _CATEGORY, _max_pool),
    OpModel(("aten::avg_pool2d", "aten::avg_pool3d"), _FAMILY, _CATEGORY, _average_pool),
    OpModel(("aten::_adaptive_avg_pool2d",), _FAMILY, _CATEGORY, partial(_adaptive, dims=2, indices=False)),
    OpModel(("aten::_adaptive_avg_pool3d",), _FAMILY, _CATEGORY, partial(_adaptive, dims=3, indices=False)),
    OpModel(("aten::adaptive_max_pool2d",), _FAMILY, _CATEGORY, partial(_adaptive, dims=2, indices=True)),
    OpModel(("aten::adaptive_max_pool3d",), _FAMILY, _CATEGORY, partial(_adaptive, dims=3, indices=True)),
    OpModel(
        ("aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward"),
        _FAMILY,
        _CATEGORY,
        partial(_backward, indices_at=7),
    ),
    OpModel(
        ("aten::avg_pool2d_backward", "aten::avg_pool3d_backward"), _FAMILY, _CATEGORY, partial(_backward, windows=True)
    ),
    OpModel(
        ("aten::adaptive_max_pool2d_backward", "aten::adaptive_max_pool3d_backward"),
        _FAMILY,
        _CATEGORY,
        partial(_backward, indices_at=2),
    ),
    OpModel(
        ("aten::_adaptive_avg_pool2d_backward", "aten::_adaptive_avg_pool3d_backward"),
        _FAMILY,
        _CATEGORY,
        _adaptive_backward,
    ),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
