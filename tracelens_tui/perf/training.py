"""Ops of training and pooling: pools, losses, and list ops of optimizers.

Pools read their input once and write the result (and int64 indices); one operation per element of each window.  Losses:
three operations per element for the mean squared error and its backward.  List ops do one operation per element and
operand; lists are recorded without element types, which come from the kernel's name.
"""

import math
from collections.abc import Callable

from tracelens_tui.perf.movement import element_type
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, tensor_list, value
from tracelens_tui.perf.parse import as_bool, as_int, as_ints
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import INT64, vector

_POOL_BACKWARD = {"aten::max_pool2d_with_indices_backward": 7, "aten::max_pool3d_with_indices_backward": 7}


def max_pool(args: OpArgs) -> OpCost | None:
    """``(input, kernel_size, stride, padding, dilation, ceil_mode)``: values and their int64 indices."""
    return _pool(args, dilation=as_ints(value(args, 4)), ceil=as_bool(value(args, 5)) is True, indices=True)


def average_pool(args: OpArgs) -> OpCost | None:
    """``(input, kernel_size, stride, padding, ceil_mode, …)``."""
    return _pool(args, dilation=(1,), ceil=as_bool(value(args, 4)) is True, indices=False)


def _pool(args: OpArgs, *, dilation: Shape | None, ceil: bool, indices: bool) -> OpCost | None:
    x, window = tensor(args, 0), as_ints(value(args, 1))
    stride = as_ints(value(args, 2)) or window
    padding = as_ints(value(args, 3))
    if x is None or not window or not stride or padding is None or not dilation:
        return None
    if len(x.shape) <= len(window) or min(*window, *stride, *dilation) < 1:
        return None
    rank = len(window)
    wide = [part * rank if len(part) == 1 else part for part in (stride, padding or (0,), dilation)]
    if any(len(part) != rank for part in wide):
        return None
    sizes = zip(x.shape[-rank:], window, *wide, strict=True)
    spatial = tuple(_pooled(size, k, s, p, d, ceil=ceil) for size, k, s, p, d in sizes)
    if min(spatial) < 1:
        return None
    out = Tensor((*x.shape[:-rank], *spatial), x.dtype)
    written = [out, elements(out.numel, INT64)] if indices else [out]
    return vector(out.numel * math.prod(window), [x], written, x.dtype, {"op_shape": as_text(x.shape)})


def _pooled(size: int, window: int, stride: int, padding: int, dilation: int, *, ceil: bool) -> int:
    """Number of windows along a dimension; with ``ceil`` the last one may begin, but not lie, outside."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    count = (room + stride - 1 if ceil else room) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def max_pool_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, input, …, indices)``: gradient and indices read, the input's gradient written."""
    grad, x = tensor(args, 0), tensor(args, 1)
    index = tensor(args, _POOL_BACKWARD[args.name])
    if grad is None or x is None:
        return None
    read = [grad, index if index is not None else elements(grad.numel, INT64)]
    return vector(grad.numel, read, [x], x.dtype, {"op_shape": as_text(x.shape)})


def mse_loss(args: OpArgs) -> OpCost | None:
    """``(input, target, reduction)``: 0 is no reduction."""
    x, target = tensor(args, 0), tensor(args, 1)
    if x is None or target is None or x.shape != target.shape:
        return None
    out = elements(x.numel if as_int(value(args, 2)) == 0 else 1, x.dtype)
    return vector(3 * x.numel, [x, target], [out], x.dtype, {"op_shape": as_text(x.shape)})


def mse_loss_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, input, target, reduction)``."""
    grad, x, target = tensor(args, 0), tensor(args, 1), tensor(args, 2)
    if grad is None or x is None or target is None or x.shape != target.shape:
        return None
    return vector(3 * x.numel, [grad, x, target], [x], x.dtype, {"op_shape": as_text(x.shape)})


def _foreach(lists: int, *, in_place: bool) -> Callable[[OpArgs], OpCost | None]:
    def cost(args: OpArgs) -> OpCost | None:
        """``lists`` lists of tensors of the same shapes; in place, or with a new list as the result."""
        shapes = tensor_list(args, 0)
        if shapes is None or (lists > 1 and tensor_list(args, 1) != shapes):
            return None
        every = elements(sum(map(math.prod, shapes)), element_type(args.kernels))
        params = {"num_tensors": len(shapes), "in_place": in_place}
        return vector(every.numel, [every] * lists, [every], every.dtype, params)

    return cost


def _zeroed(args: OpArgs) -> OpCost | None:
    shapes = tensor_list(args, 0)
    if shapes is None:
        return None
    every = elements(sum(map(math.prod, shapes)), element_type(args.kernels))
    return vector(0, [], [every], every.dtype, {"num_tensors": len(shapes)})


def _list_ops() -> tuple[OpModel, ...]:
    models = []
    for name in ("add", "sub", "mul", "div"):
        models.append(OpModel((f"aten::_foreach_{name}_",), "ForeachOp", BY_KERNEL, _foreach_any(in_place=True)))
        models.append(OpModel((f"aten::_foreach_{name}",), "ForeachOp", BY_KERNEL, _foreach_any(in_place=False)))
    return (*models, OpModel(("aten::_foreach_zero_",), "ForeachOp", BY_KERNEL, _zeroed))


def _foreach_any(*, in_place: bool) -> Callable[[OpArgs], OpCost | None]:
    """With a second list the operands are two, with a scalar one."""
    one, two = _foreach(1, in_place=in_place), _foreach(2, in_place=in_place)
    return lambda args: (one if tensor_list(args, 1) is None else two)(args)


MODELS = (
    OpModel(("aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices"), "Pooling", "other", max_pool),
    OpModel(("aten::avg_pool2d", "aten::avg_pool3d"), "Pooling", "other", average_pool),
    OpModel(tuple(_POOL_BACKWARD), "Pooling", "other", max_pool_backward),
    OpModel(("aten::mse_loss",), "Loss", BY_KERNEL, mse_loss),
    OpModel(("aten::mse_loss_backward",), "Loss", BY_KERNEL, mse_loss_backward),
    *_list_ops(),
)
