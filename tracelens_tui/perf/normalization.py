"""PyTorch's batch, layer, group, instance and RMS norm, forward and backward, with the flags that a call recorded.

For n elements, C channels (layer and RMS norm: elements of the normalised shape) and M rows, TraceLens's counts:

    forward   2 n to normalise, 3 n for mean and variance where the call computes them, 6 C
    backward  4 n for the two sums, 5 n for the gradient of the input; with fixed statistics the sums only where the
              gradients of weight or bias are asked for, and n + 3 C for that of the input
    RMS norm  3 n + 2 M, n more with a weight
    its backward  n, 6 n for the gradient of the input, n with a weight, and for its gradient n (2 n over several rows)

Bytes: input, weight, bias and the statistics that the call reads; the result, and the statistics that it keeps for the
backward pass (in fp32 for narrower inputs, but for group norm).  Batch norm in training
reads and writes the running ones besides.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_bool, as_bools, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import Params, accumulated, flags_text, vector

_FAMILY = "Normalization"


def _batch(args: OpArgs, *, training: bool | None = None, keeps: bool = True) -> OpCost | None:
    """``(input, weight, bias, running_mean, running_var, [training,] …)``.

    ``training`` is that of ops without the flag; ``keeps``: the statistics are results of the op.
    """
    x = _of_rank(tensor(args, 0), 2)
    training = as_bool(value(args, 5)) if training is None else training
    if x is None or training is None:
        return None
    own, running = _tensors(args, (1, 2)), _tensors(args, (3, 4))
    statistics = elements(2 * x.shape[1] if training and keeps else 0, accumulated(x.dtype))
    flops = 6 * x.shape[1] + (5 if training else 2) * x.numel
    written = [x, statistics, *(running if training else [])]
    return vector(flops, [x, *own, *running], written, x.dtype, _params(x, x.shape[1], training=training))


def _instance(args: OpArgs) -> OpCost | None:
    """``(input, weight, bias, running_mean, running_var, use_input_stats, …)``: the statistics are no result."""
    return _batch(args, keeps=False)


def _layer(args: OpArgs) -> OpCost | None:
    """``(input, normalized_shape, weight, bias, …)``."""
    x, size = tensor(args, 0), _size(args, 1, 2)
    if x is None or size is None or x.numel % size:
        return None
    kept = elements(2 * (x.numel // size), accumulated(x.dtype))
    return _centred(x, size, kept, _tensors(args, (2, 3)))


def _group(args: OpArgs, *, groups_at: int, own: tuple[int, int], keeps: bool = True) -> OpCost | None:
    """``[N, C, …]`` in so many groups of channels; statistics in the input's type."""
    x, groups = _of_rank(tensor(args, 0), 2), as_int(value(args, groups_at))
    if x is None or groups is None or groups < 1 or x.shape[1] % groups:
        return None
    kept = elements(2 * x.shape[0] * groups, x.dtype) if keeps else None
    return _centred(x, x.shape[1], kept, _tensors(args, own))


def _centred(x: Tensor, size: int, kept: Tensor | None, own: Sequence[Tensor | None]) -> OpCost:
    """The forward of a norm that computes mean and variance; ``kept`` of them are results."""
    return vector(6 * size + 5 * x.numel, [x, *own], [x, kept], x.dtype, _params(x, size, training=True))


def _rms(args: OpArgs) -> OpCost | None:
    """``(input, normalized_shape, weight, eps)``."""
    x, size, weight = tensor(args, 0), _size(args, 1, 2), tensor(args, 2)
    if x is None or size is None or x.numel % size:
        return None
    rows = x.numel // size
    flops = (3 if weight is None else 4) * x.numel + 2 * rows
    return vector(flops, [x, weight], [x, elements(rows, accumulated(x.dtype))], x.dtype, _params(x, size))


@dataclass(frozen=True, slots=True)
class _Backward:
    """Where a backward op keeps its arguments; ``size`` answers the channels, None where they are unknown."""

    size: Callable[[OpArgs], int | None]
    grad: int = 0
    x: int = 1
    statistics: tuple[int, ...] = ()
    weight: int | None = None
    mask: int | None = None  # None: all gradients are asked for
    training: int | None = None  # None: always
    running: tuple[int, ...] = ()  # read instead of the statistics where they are fixed

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where shapes, flag or mask were not recorded."""
        grad, x, size = tensor(args, self.grad), tensor(args, self.x), self.size(args)
        mask = (True, True, True) if self.mask is None else as_bools(value(args, self.mask))
        training = True if self.training is None else as_bool(value(args, self.training))
        if grad is None or x is None or grad.shape != x.shape or size is None or training is None:
            return None
        if mask is None or len(mask) != 3:
            return None
        weight = None if self.weight is None else tensor(args, self.weight)
        parameters = elements(size * (mask[1] + mask[2]), x.dtype if weight is None else weight.dtype)
        read = [grad, x, weight if mask[0] else None, *_tensors(args, self.statistics if training else self.running)]
        params = {**_params(x, size, training=training), "output_mask": flags_text(mask)}
        flops = _gradient_flops(x.numel, size, mask, training=training)
        return vector(flops, read, [x if mask[0] else None, parameters], x.dtype, params)


def _gradient_flops(count: int, size: int, mask: tuple[bool, ...], *, training: bool) -> int:
    if training:
        return (4 + 5 * mask[0]) * count
    return 4 * count * (mask[1] or mask[2]) + (count + 3 * size) * mask[0]


def _rms_backward(args: OpArgs) -> OpCost | None:
    """``(grad_out, input, normalized_shape, rstd, weight, output_mask)``."""
    grad, x, size, weight = tensor(args, 0), tensor(args, 1), _size(args, 2, 4), tensor(args, 4)
    mask = as_bools(value(args, 5))
    if grad is None or x is None or grad.shape != x.shape or size is None or mask is None or len(mask) != 2:
        return None
    of_input, of_weight = mask[0], mask[1] and weight is not None
    rows = x.numel // size
    per_element = 1 + (weight is not None) + 6 * of_input + of_weight * (2 if rows > 1 else 1)
    read = [grad, x, tensor(args, 3), weight]
    written = [x if of_input else None, weight if of_weight else None]
    params = {**_params(x, size), "output_mask": flags_text(mask)}
    return vector(per_element * x.numel, read, written, x.dtype, params)


def _statistics(args: OpArgs) -> OpCost | None:
    """``batch_norm_stats(input, eps)`` of a batch norm over several devices."""
    x = _of_rank(tensor(args, 0), 2)
    if x is None:
        return None
    kept = elements(2 * x.shape[1], accumulated(x.dtype))
    return vector(3 * x.numel, [x], [kept], x.dtype, _params(x, x.shape[1]))


def _normalise(args: OpArgs) -> OpCost | None:
    """``batch_norm_elemt(input, weight, bias, mean, invstd, eps)``: statistics are given."""
    x = _of_rank(tensor(args, 0), 2)
    if x is None:
        return None
    flops = 6 * x.shape[1] + 2 * x.numel
    return vector(flops, [x, *_tensors(args, range(1, 5))], [x], x.dtype, _params(x, x.shape[1]))


def _sums(args: OpArgs) -> OpCost | None:
    """``batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g)``."""
    grad, x = tensor(args, 0), _of_rank(tensor(args, 1), 2)
    asked = [as_bool(value(args, index)) for index in range(5, 8)]
    if grad is None or x is None or grad.shape != x.shape or None in asked:
        return None
    of_input, of_weight, of_bias = asked
    kept = elements((2 * bool(of_input) + bool(of_weight) + bool(of_bias)) * x.shape[1], accumulated(x.dtype))
    return vector(4 * x.numel, [grad, x, *_tensors(args, (2, 3, 4))], [kept], x.dtype, _params(x, x.shape[1]))


def _gradient(args: OpArgs) -> OpCost | None:
    """``batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count)``."""
    grad, x = tensor(args, 0), _of_rank(tensor(args, 1), 2)
    if grad is None or x is None or grad.shape != x.shape:
        return None
    return vector(5 * x.numel, [grad, x, *_tensors(args, range(2, 8))], [x], x.dtype, _params(x, x.shape[1]))


def _tensors(args: OpArgs, indices: Sequence[int]) -> list[Tensor | None]:
    return [tensor(args, index) for index in indices]


def _channels(args: OpArgs, index: int) -> int | None:
    """The size of the second dimension of an argument."""
    x = _of_rank(tensor(args, index), 2)
    return None if x is None else x.shape[1]


def _size(args: OpArgs, index: int, weight_at: int) -> int | None:
    """The number of elements of the normalised shape: as recorded, else that of the weight; at least 1."""
    shape, weight = as_ints(value(args, index)), tensor(args, weight_at)
    if shape is None:
        return weight.numel or None if weight is not None and not args.concrete else None
    return math.prod(shape) if shape and min(shape) > 0 else None


def _of_rank(found: Tensor | None, least: int) -> Tensor | None:
    return found if found is not None and len(found.shape) >= least else None


def _params(x: Tensor, size: int, *, training: bool | None = None) -> Params:
    params: dict[str, int | float | str | bool] = {
        "op_shape": as_text(x.shape),
        "dtype_in": x.dtype.name if x.dtype else "",
        "stride_input": as_text(x.strides),
        "num_channels": size,
    }
    return params if training is None else {**params, "is_training": training}


def _model(category: str, cost: Callable[[OpArgs], OpCost | None], *names: str) -> OpModel:
    return OpModel(tuple(f"aten::{name}" for name in names), _FAMILY, category, cost)


_BY_CHANNEL = partial(_channels, index=1)

MODELS = (
    _model(
        "NORM_fwd",
        _batch,
        "batch_norm",
        "_batch_norm_impl_index",
        "native_batch_norm",
        "_native_batch_norm_legit",
        "cudnn_batch_norm",
        "miopen_batch_norm",
    ),
    _model("NORM_fwd", partial(_batch, training=True), "_batch_norm_with_update"),
    _model("NORM_fwd", partial(_batch, training=False), "_batch_norm_no_update"),
    _model("NORM_fwd", _instance, "instance_norm"),
    _model("NORM_fwd", _layer, "layer_norm", "native_layer_norm"),
    _model("NORM_fwd", partial(_group, groups_at=1, own=(2, 3)), "group_norm"),
    _model("NORM_fwd", partial(_group, groups_at=6, own=(1, 2)), "native_group_norm"),
    OpModel(("aiter::_groupnorm_run",), _FAMILY, "NORM_fwd", partial(_group, groups_at=1, own=(2, 3), keeps=False)),
    _model("NORM_fwd", _rms, "_fused_rms_norm"),
    _model(
        "NORM_bwd",
        _Backward(_BY_CHANNEL, weight=2, running=(3, 4), statistics=(5, 6), training=7, mask=9),
        "native_batch_norm_backward",
        "batch_norm_backward",
    ),
    _model(
        "NORM_bwd",
        _Backward(_BY_CHANNEL, grad=1, x=0, weight=2, statistics=(5, 6)),
        "cudnn_batch_norm_backward",
        "miopen_batch_norm_backward",
    ),
    _model(
        "NORM_bwd",
        _Backward(partial(_size, index=2, weight_at=5), statistics=(3, 4), weight=5, mask=7),
        "native_layer_norm_backward",
    ),
    _model("NORM_bwd", _Backward(_BY_CHANNEL, statistics=(2, 3), weight=4, mask=9), "native_group_norm_backward"),
    _model("NORM_bwd", _rms_backward, "_fused_rms_norm_backward"),
    _model("NORM_fwd", _statistics, "batch_norm_stats"),
    _model("NORM_fwd", _normalise, "batch_norm_elemt"),
    _model("NORM_bwd", _sums, "batch_norm_backward_reduce"),
    _model("NORM_bwd", _gradient, "batch_norm_backward_elemt"),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``.  cuDNN's and MIOpen's backward ops are for training."""
