"""Normalisations: batch, layer, group and RMS norm, forward and backward.

The FLOPs follow TraceLens's count per element and per normalised channel, with the flags that the call recorded; every
operand is read once and every result written once, statistics included.  For n elements in groups of C:

    forward   2 n to normalise and to apply, 3 n for mean and variance where the call computes them, 6 C
    backward  4 n for the sums, 5 n for the input's gradient (2 n with fixed statistics)
    RMS norm  2 n + 2 n / C for the mean square, n to scale, n for a weight; backward 7 n, n for the weight's gradient
"""

import math
from collections.abc import Sequence

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_bool, as_bools, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import accumulated, vector

_FAMILY = "Normalization"


def batch_norm(args: OpArgs) -> OpCost | None:
    """``(input, weight, bias, running_mean, running_var, training, …)``: channels are the second dimension."""
    x = _of_rank(tensor(args, 0), 2)
    if x is None:
        return None
    channels, training = x.shape[1], as_bool(value(args, 5)) is not False
    own = [tensor(args, index) for index in (1, 2)]
    running = [tensor(args, index) for index in (3, 4)]
    statistics = [elements(channels, accumulated(x.dtype))] * 2 if training else []
    flops = 6 * channels + 2 * x.numel + (3 * x.numel if training else 0)
    written = [x, *statistics, *(running if training else [])]
    return vector(flops, [x, *own, *running], written, x.dtype, _params(x, channels, training=training))


def layer_norm(args: OpArgs) -> OpCost | None:
    """``(input, normalized_shape, weight, bias, eps)``."""
    x, size = tensor(args, 0), _size(args, 1)
    if x is None or not size or x.numel % size:
        return None
    return _per_group(x, size, x.numel // size, [tensor(args, 2), tensor(args, 3)])


def group_norm(args: OpArgs) -> OpCost | None:
    """``native_group_norm(input, weight, bias, N, C, HxW, group, eps)`` or ``group_norm(input, groups, weight, bias, …)``."""
    native = args.name == "aten::native_group_norm"
    x, groups = _of_rank(tensor(args, 0), 2), as_int(value(args, 6 if native else 1))
    if x is None or not groups or groups < 0:
        return None
    return _per_group(x, x.shape[1], x.shape[0] * groups, [tensor(args, i) for i in ((1, 2) if native else (2, 3))])


def rms_norm(args: OpArgs) -> OpCost | None:
    """``(input, normalized_shape, weight, eps)``."""
    x, size = tensor(args, 0), _size(args, 1)
    if x is None or not size or x.numel % size:
        return None
    rows, weight = x.numel // size, tensor(args, 2)
    flops = 2 * x.numel + 2 * rows + x.numel * (1 if weight is None else 2)
    return vector(flops, [x, weight], [x, elements(rows, accumulated(x.dtype))], x.dtype, _params(x, size))


def batch_norm_backward(args: OpArgs) -> OpCost | None:
    """``(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask)``."""
    training = as_bool(value(args, 7)) is not False
    statistics = (5, 6) if training else (3, 4)
    return _channel_backward(args, 0, 1, (2, *statistics), _mask(args, 9), training=training)


def library_batch_norm_backward(args: OpArgs) -> OpCost | None:
    """``(input, grad_output, weight, running_mean, running_var, save_mean, save_var, …)``: always in training."""
    return _channel_backward(args, 1, 0, (2, 5, 6), (True, True, True), training=True)


def layer_norm_backward(args: OpArgs) -> OpCost | None:
    """``(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)``."""
    x, size = tensor(args, 1), _size(args, 2)
    if x is None or not size:
        return None
    return _backward(x, tensor(args, 0), size, [tensor(args, i) for i in (3, 4, 5)], _mask(args, 7), training=True)


def group_norm_backward(args: OpArgs) -> OpCost | None:
    """``(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)``."""
    x = _of_rank(tensor(args, 1), 2)
    if x is None:
        return None
    own = [tensor(args, i) for i in (2, 3, 4)]
    return _backward(x, tensor(args, 0), x.shape[1], own, _mask(args, 9), training=True)


def rms_norm_backward(args: OpArgs) -> OpCost | None:
    """``(grad_out, input, normalized_shape, rstd, weight, output_mask)``."""
    grad, x, size = tensor(args, 0), tensor(args, 1), _size(args, 2)
    if x is None or grad is None or not size or x.numel % size:
        return None
    rows, weight = x.numel // size, tensor(args, 4)
    wants_input, wants_weight = (*_mask(args, 5), False, False)[:2]
    flops = x.numel * (1 + (weight is not None) + 6 * wants_input)
    flops += x.numel * (wants_weight and weight is not None) * (2 if rows > 1 else 1)
    written = [x if wants_input else None, weight if wants_weight else None]
    return vector(flops, [grad, x, tensor(args, 3), weight], written, x.dtype, _params(x, size))


def _per_group(x: Tensor, size: int, groups: int, own: Sequence[Tensor | None]) -> OpCost:
    """The forward of a norm that computes mean and variance of each of so many groups."""
    statistics = [elements(groups, accumulated(x.dtype))] * 2
    return vector(6 * size + 5 * x.numel, [x, *own], [x, *statistics], x.dtype, _params(x, size))


def _channel_backward(
    args: OpArgs, grad: int, own: int, read: Sequence[int], mask: tuple[bool, ...], *, training: bool
) -> OpCost | None:
    x = _of_rank(tensor(args, own), 2)
    if x is None:
        return None
    others = [tensor(args, index) for index in read]
    return _backward(x, tensor(args, grad), x.shape[1], others, mask, training=training)


def _backward(
    x: Tensor,
    grad: Tensor | None,
    size: int,
    read: Sequence[Tensor | None],
    mask: tuple[bool, ...],
    *,
    training: bool,
) -> OpCost | None:
    if grad is None or grad.shape != x.shape:
        return None
    wants_input = mask[0] if mask else True
    flops = 4 * x.numel + (0 if training else 3 * size)
    flops += x.numel * (5 if training else 2) * wants_input
    gradients = [elements(size, _own(read, x.dtype)) for wanted in mask[1:3] if wanted]
    written = [x if wants_input else None, *gradients]
    return vector(flops, [grad, x, *read], written, x.dtype, _params(x, size, training=training))


def _own(read: Sequence[Tensor | None], dtype: Dtype | None) -> Dtype | None:
    """The type of the parameters, which are read last."""
    return next((found.dtype for found in reversed(read) if found is not None), dtype)


def _mask(args: OpArgs, index: int) -> tuple[bool, ...]:
    """The recorded output mask; where it was not recorded, all results are wanted."""
    return as_bools(value(args, index)) or (True, True, True)


def _size(args: OpArgs, index: int) -> int | None:
    """The number of elements of a recorded normalised shape."""
    shape = as_ints(value(args, index))
    return math.prod(shape) if shape and min(shape) > 0 else None


def _of_rank(found: Tensor | None, least: int) -> Tensor | None:
    return found if found is not None and len(found.shape) >= least else None


def _params(x: Tensor, size: int, **flags: bool) -> dict[str, int | float | str | bool]:
    dtype = x.dtype.name if x.dtype else ""
    return {"op_shape": as_text(x.shape), "dtype_in": dtype, "num_channels": size, **flags}


MODELS = (
    OpModel(
        ("aten::native_batch_norm", "aten::miopen_batch_norm", "aten::cudnn_batch_norm"),
        _FAMILY,
        "NORM_fwd",
        batch_norm,
    ),
    OpModel(("aten::layer_norm", "aten::native_layer_norm"), _FAMILY, "NORM_fwd", layer_norm),
    OpModel(("aten::group_norm", "aten::native_group_norm"), _FAMILY, "NORM_fwd", group_norm),
    OpModel(("aten::rms_norm", "aten::_fused_rms_norm"), _FAMILY, "NORM_fwd", rms_norm),
    OpModel(("aten::native_batch_norm_backward",), _FAMILY, "NORM_bwd", batch_norm_backward),
    OpModel(
        ("aten::miopen_batch_norm_backward", "aten::cudnn_batch_norm_backward"),
        _FAMILY,
        "NORM_bwd",
        library_batch_norm_backward,
    ),
    OpModel(("aten::native_layer_norm_backward",), _FAMILY, "NORM_bwd", layer_norm_backward),
    OpModel(("aten::native_group_norm_backward",), _FAMILY, "NORM_bwd", group_norm_backward),
    OpModel(("aten::_fused_rms_norm_backward",), _FAMILY, "NORM_bwd", rms_norm_backward),
)
