"""Losses, forward and backward.

Operations per element: 2 for the squared error, 5 for the smooth and Huber forms, 7 for binary cross entropy; one more
where the losses are summed.  Backward: 3 for the squared error, 5 otherwise.  Bytes: prediction, target and weight
read; a loss per element written, or one where they are reduced.

The negative log likelihood looks at one class per target: it reads that one and writes one loss (or the sum and the
sum of weights); its backward writes the whole gradient, nearly all zeros.  Losses that PyTorch composes of other ops
(``cross_entropy_loss``, ``binary_cross_entropy_with_logits``, ``l1_loss``, ``kl_div``) have no model: the ops below
them are counted.
"""

from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import FP32, INT64, vector

_FAMILY = "Loss"


def _elementwise(args: OpArgs, *, per_element: int, reduction_at: int, weight_at: int | None = None) -> OpCost | None:
    """``(self, target, …)`` of one shape."""
    x, target, reduction = tensor(args, 0), tensor(args, 1), as_int(value(args, reduction_at))
    if x is None or target is None or x.shape != target.shape or reduction not in {0, 1, 2}:
        return None
    weight = None if weight_at is None else tensor(args, weight_at)
    reduced = reduction != 0
    flops = (per_element + reduced + (weight is not None)) * x.numel
    return vector(flops, [x, target, weight], [elements(1 if reduced else x.numel, x.dtype)], x.dtype, _params(x))


def _elementwise_backward(args: OpArgs, *, per_element: int, weight_at: int | None = None) -> OpCost | None:
    """``(grad_output, self, target, …)``: one gradient for all elements, or one for each."""
    grad, x, target = (tensor(args, at) for at in range(3))
    if grad is None or x is None or target is None or x.shape != target.shape:
        return None
    weight = None if weight_at is None else tensor(args, weight_at)
    flops = (per_element + (weight is not None)) * x.numel
    return vector(flops, [grad, x, target, weight], [x], x.dtype, _params(x))


def _likelihood(args: OpArgs) -> OpCost | None:
    """``(self, target, weight, reduction, ignore_index)`` of ``[N, C, …]`` and ``[N, …]``."""
    x, target, reduction = tensor(args, 0), tensor(args, 1), as_int(value(args, 3))
    if x is None or target is None or not x.shape or reduction not in {0, 1, 2}:
        return None
    weight = tensor(args, 2)
    looked_up = elements(target.numel, x.dtype)
    losses = looked_up if reduction == 0 else elements(2, x.dtype)  # the sum, and the sum of the weights
    weights = None if weight is None else elements(min(target.numel, weight.numel), weight.dtype)
    flops = target.numel * ((reduction != 0) + (weight is not None))
    return vector(flops, [looked_up, target, weights], [losses], x.dtype, _params(x))


def _likelihood_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, self, target, weight, reduction, ignore_index, total_weight)``."""
    grad, x, target = (tensor(args, at) for at in range(3))
    if grad is None or x is None or target is None or not x.shape:
        return None
    weight, total_weight = tensor(args, 3), tensor(args, 6)
    weights = None if weight is None else elements(min(target.numel, weight.numel), weight.dtype)
    return vector(target.numel, [grad, target, weights, total_weight], [x], x.dtype, _params(x))


def _fused_cross_entropy(args: OpArgs) -> OpCost | None:
    """Softmax and loss in one pass over logits ``[…, V]``: five operations each, an fp32 loss per row (TraceLens)."""
    x, target = tensor(args, 0), tensor(args, 1)
    if x is None or not x.shape:
        return None
    rows = x.numel // x.shape[-1] if x.shape[-1] else 0
    targets = elements(rows, INT64 if target is None or target.dtype is None else target.dtype)
    return vector(5 * x.numel, [x, targets], [elements(rows, FP32)], x.dtype, _params(x))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::mse_loss",), _FAMILY, BY_KERNEL, partial(_elementwise, per_element=2, reduction_at=2)),
    OpModel(
        ("aten::smooth_l1_loss", "aten::huber_loss"),
        _FAMILY,
        BY_KERNEL,
        partial(_elementwise, per_element=5, reduction_at=2),
    ),
    OpModel(
        ("aten::binary_cross_entropy",),
        _FAMILY,
        BY_KERNEL,
        partial(_elementwise, per_element=7, reduction_at=3, weight_at=2),
    ),
    OpModel(("aten::mse_loss_backward",), _FAMILY, BY_KERNEL, partial(_elementwise_backward, per_element=3)),
    OpModel(
        ("aten::smooth_l1_loss_backward", "aten::huber_loss_backward"),
        _FAMILY,
        BY_KERNEL,
        partial(_elementwise_backward, per_element=5),
    ),
    OpModel(
        ("aten::binary_cross_entropy_backward",),
        _FAMILY,
        BY_KERNEL,
        partial(_elementwise_backward, per_element=5, weight_at=3),
    ),
    OpModel(("aten::nll_loss_forward", "aten::nll_loss2d_forward"), _FAMILY, BY_KERNEL, _likelihood),
    OpModel(("aten::nll_loss_backward", "aten::nll_loss2d_backward"), _FAMILY, BY_KERNEL, _likelihood_backward),
    OpModel(("CrossEntropyFunction",), "CrossEntropy", "CrossEntropy_fwd", _fused_cross_entropy),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
