"""Optimizer steps and other ops over lists of tensors (``_foreach_…``, ``_fused_adam_``, gradient scaling).

Bytes: every list that is read, every list that is written.  A trace records the shapes of a list's tensors but not
their type: that comes from the kernel's name.  FLOPs per element:

    foreach   1 for most ops, 3 for addcmul, addcdiv and lerp, none for copying and clearing
    Adam      13 (moments 3 + 4, denominator 3, update 3), 2 more for a weight decay (AdamW 1), 1 for amsgrad
    SGD       2 for the update, 2 more each for a weight decay and for a momentum (Nesterov 2 besides)
    Adagrad   7, and 2 for a weight decay
"""

import math
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.kernel_types import element_type
from tracelens_tui.perf.operands import Tensor, elements, tensor, tensor_list, type_name, value
from tracelens_tui.perf.parse import as_bool, as_float
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import vector

_FAMILY, _CATEGORY = "ForeachOp", "multi_tensor_apply"


@dataclass(frozen=True, slots=True)
class _Foreach:
    """An elementwise op over the lists at the first positions; a list counts where it was recorded as one."""

    per_element: int
    reads_self: bool = True
    per_tensor_result: bool = False  # one value per tensor (a norm)

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where the shapes of a list were not recorded or do not go together."""
        lists = _lists(args)
        if lists is None or any(one != lists[0] for one in lists):
            return None
        dtype = element_type(args.kernels)
        every = elements(lists[0], dtype)
        read = [every] * (len(lists) if self.reads_self else len(lists) - 1)
        result = elements(_tensors(args), dtype) if self.per_tensor_result else every
        return vector(self.per_element * every.numel, [*read, *_single(args)], [result], dtype, _params(args))


def _lists(args: OpArgs) -> list[int] | None:
    """Return the elements of each list of tensors; None without one at the first place, or if shapes are missing."""
    found: list[int] = []
    for index in range(len(args.dims)):
        shapes = tensor_list(args, index)
        if shapes is not None:
            found.append(sum(map(math.prod, shapes)))
        elif type_name(args, index) == "TensorList":
            return None
    return found if found and tensor_list(args, 0) is not None else None


def _single(args: OpArgs) -> list[Tensor | None]:
    """Return the tensors that are no list: a learning rate, a scale, a flag for overflow."""
    return [tensor(args, index) for index in range(1, len(args.dims))]


def _tensors(args: OpArgs) -> int:
    return len(tensor_list(args, 0) or ())


def _adam(args: OpArgs, *, decay_ops: int) -> OpCost | None:
    """``(self, grads, exp_avgs, exp_avg_sqs, max_…, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad)``."""
    decay, amsgrad = as_float(value(args, 9)), as_bool(value(args, 11))
    if decay is None or amsgrad is None:
        return None
    flops = 13 + (decay_ops if decay else 0) + amsgrad
    return _step(args, first=4, read=4 + amsgrad, written=3 + amsgrad, per_element=flops)


def _sgd(args: OpArgs) -> OpCost | None:
    """``(self, grads, momentum_buffers, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step)``."""
    decay, momentum = as_float(value(args, 3)), as_float(value(args, 4))
    nesterov, first_step = as_bool(value(args, 7)), as_bool(value(args, 9))
    if decay is None or momentum is None or nesterov is None or first_step is None:
        return None
    buffered = momentum != 0
    flops = 2 + 2 * (decay != 0) + 2 * buffered + 2 * (buffered and nesterov)
    read = 2 + (buffered and not first_step)
    return _step(args, first=2 + buffered, read=read, written=1 + buffered, per_element=flops)


def _adagrad(args: OpArgs) -> OpCost | None:
    """``(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize)``."""
    decay = as_float(value(args, 6))
    if decay is None:
        return None
    return _step(args, first=3, read=3, written=2, per_element=7 + 2 * (decay != 0))


def _step(args: OpArgs, *, first: int, read: int, written: int, per_element: int) -> OpCost | None:
    """The step of an optimizer whose first lists have the parameters' shapes."""
    shapes = tensor_list(args, 0)
    if shapes is None or any(tensor_list(args, index) != shapes for index in range(first)):
        return None
    every = elements(sum(map(math.prod, shapes)), element_type(args.kernels))
    return vector(per_element * every.numel, [every] * read, [every] * written, every.dtype, _params(args))


def _unscale(args: OpArgs) -> OpCost | None:
    """``(self, found_inf, inv_scale)``: each gradient is checked and multiplied in place."""
    shapes = tensor_list(args, 0)
    if shapes is None:
        return None
    every = elements(sum(map(math.prod, shapes)), element_type(args.kernels))
    return vector(2 * every.numel, [every, tensor(args, 2)], [every, tensor(args, 1)], every.dtype, _params(args))


def _params(args: OpArgs) -> dict[str, int | float | str | bool]:
    return {"num_tensors": _tensors(args)}


def _foreach(text: str, cost: _Foreach) -> OpModel:
    """Return the model of list ops and of their in-place forms: both write a list as large as the first."""
    names = tuple(f"aten::_foreach_{name}{suffix}" for name in text.split() for suffix in ("", "_"))
    return OpModel(names, _FAMILY, _CATEGORY, cost)


_ONE = (
    "add sub mul div pow clamp_min clamp_max maximum minimum abs neg sqrt rsqrt exp expm1 log log2 log10 log1p sin cos "
    "tan tanh asin acos atan sinh cosh ceil floor round trunc frac reciprocal sigmoid sign erf erfc"
)

MODELS = (
    _foreach(_ONE, _Foreach(1)),
    _foreach("addcmul addcdiv lerp", _Foreach(3)),
    _foreach("copy zero", _Foreach(0, reads_self=False)),
    OpModel(("aten::_foreach_norm", "aten::_foreach_max"), _FAMILY, _CATEGORY, _Foreach(1, per_tensor_result=True)),
    OpModel(("aten::_fused_adam_",), _FAMILY, _CATEGORY, partial(_adam, decay_ops=2)),
    OpModel(("aten::_fused_adamw_",), _FAMILY, _CATEGORY, partial(_adam, decay_ops=1)),
    OpModel(("aten::_fused_sgd_",), _FAMILY, _CATEGORY, _sgd),
    OpModel(("aten::_fused_adagrad_",), _FAMILY, _CATEGORY, _adagrad),
    OpModel(("aten::_amp_foreach_non_finite_check_and_unscale_",), _FAMILY, _CATEGORY, _unscale),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
