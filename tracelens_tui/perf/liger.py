"""Liger's Triton kernels, which a trace has as autograd functions (``LigerRMSNormFunction`` and the like).

They run on the vector unit in fp32 and read and write every operand once.  Operations per element, transcendental ones
as one: group norm 5 (and 6 per group), cross entropy 5, softmax 5, dynamic tanh 4.  The backward functions record the
gradient alone and have no model; ``LigerFusedLinearCrossEntropyFunction`` calls matrix products that are counted.  The
functions that other families describe (RMS and layer norm, rotary embedding, gated activations) stand with those.
"""

from collections.abc import Callable
from functools import partial

from tracelens_tui.perf.operands import matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import FP32, vector


def _over_rows(args: OpArgs, *, own: tuple[int, ...], per_element: int) -> OpCost | None:
    """Work over the last dimension of the first tensor; ``own`` are parameters of that length."""
    x = tensor(args, 0)
    if x is None or not x.shape:
        return None
    return vector(per_element * x.numel, [x, *(tensor(args, index) for index in own)], [x], FP32)


def _group_norm(args: OpArgs) -> OpCost | None:
    """``(x B×C×…, weight, bias, channels, groups, eps)``."""
    x, groups = tensor(args, 0), as_int(value(args, 4))
    if x is None or len(x.shape) < 2 or groups is None or groups < 1:
        return None
    flops = 5 * x.numel + 6 * x.shape[0] * groups
    return vector(flops, [x, tensor(args, 1), tensor(args, 2)], [x], FP32)


def _cross_entropy(args: OpArgs) -> OpCost | None:
    """``(logits N×V, target, …)``: the loss, and the gradient in place of the logits."""
    logits, target = matrix(args, 0), tensor(args, 1)
    if logits is None or target is None:
        return None
    return vector(5 * logits.numel, [logits, target], [logits], FP32)


def _liger(cost: Callable[[OpArgs], OpCost | None], name: str, family: str, category: str) -> OpModel:
    return OpModel((f"Liger{name}Function",), family, category, cost)


MODELS = (
    _liger(_group_norm, "GroupNorm", "Normalization", "NORM_fwd"),
    _liger(partial(_over_rows, own=(1, 2, 3), per_element=4), "DyT", "UnaryElementwise", "elementwise"),
    _liger(_cross_entropy, "CrossEntropy", "CrossEntropy", "CrossEntropy_fwd"),
    _liger(partial(_over_rows, own=(), per_element=5), "Softmax", "Reduce", "reduce"),
)
"""Argument positions as the functions' ``forward`` has them."""
