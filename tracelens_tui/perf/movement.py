"""Ops that gather elements without arithmetic: concatenation, selection by index, embedding and its gradient.

No FLOPs; bytes are the elements that must be read and written once, in their own size, and the indices.  A call reads
as much of a table as it writes, but no more than the table has.  The gradient of an embedding adds once per element and
writes the whole table.

Ops that PyTorch composes of others on GPUs (``stack``, ``repeat``, ``slice_backward``, …) count only where they launch
themselves.
"""

import math
from collections.abc import Callable

from tracelens_tui.perf.kernel_types import element_type
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, tensor_list, value
from tracelens_tui.perf.parse import as_int, as_ints
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import axis, replaced, rows, vector

_FAMILY = "DataMovement"


def _cat(args: OpArgs) -> OpCost | None:
    """``(tensors, dim[, out])``: every input read, the result written.

    A list is recorded without element types: the output tensor or the kernel's name tells them.
    """
    shapes = tensor_list(args, 0)
    if shapes is None:
        return None
    out = tensor(args, 2)
    everything = elements(sum(map(math.prod, shapes)), element_type(args.kernels) if out is None else out.dtype)
    return vector(0, [everything], [everything], everything.dtype, {"num_tensors": len(shapes)})


def _index_select(args: OpArgs) -> OpCost | None:
    """``(self, dim, index)``."""
    table, index = tensor(args, 0), tensor(args, 2)
    dim = None if table is None else axis(args, 1, len(table.shape))
    if table is None or index is None or dim is None or len(index.shape) > 1:
        return None
    return _gathered(table, Tensor(replaced(table.shape, dim, index.numel), table.dtype), index)


def _gather(args: OpArgs) -> OpCost | None:
    """``(self, dim, index, …)``: one element for each index."""
    table, index = tensor(args, 0), tensor(args, 2)
    return None if table is None or index is None else _gathered(table, Tensor(index.shape, table.dtype), index)


def _gathered(table: Tensor, out: Tensor, index: Tensor) -> OpCost:
    looked_up = elements(min(out.numel, table.numel), table.dtype)
    return vector(0, [looked_up, index], [out], out.dtype, _params(out))


def _embedding_backward(args: OpArgs) -> OpCost | None:
    """``embedding_dense_backward(grad_output, indices, num_weights, …)``."""
    grad, index, count = tensor(args, 0), tensor(args, 1), as_int(value(args, 2))
    if grad is None or index is None or count is None or count < 0 or not grad.shape:
        return None
    return vector(grad.numel, [grad, index], [elements(count * grad.shape[-1], grad.dtype)], grad.dtype, _params(grad))


def _embedding(args: OpArgs) -> OpCost | None:
    """``(weight, indices, …)``: a row of the table for each index."""
    table, index = tensor(args, 0), tensor(args, 1)
    if table is None or index is None or len(table.shape) != 2:
        return None
    return _gathered(table, Tensor((*index.shape, table.shape[1]), table.dtype), index)


def _into_zeros(args: OpArgs) -> OpCost | None:
    """``slice_backward(grad, input_sizes, …)`` and the like: a gradient in a tensor of zeros."""
    grad, sizes = tensor(args, 0), as_ints(value(args, 1))
    if grad is None or sizes is None or any(size < 0 for size in sizes):
        return None
    return vector(0, [grad], [elements(math.prod(sizes), grad.dtype)], grad.dtype, _params(grad))


def _into_copy(args: OpArgs) -> OpCost | None:
    """``slice_scatter(self, src, …)`` and the like: a copy in which ``src`` replaces a part."""
    x, part = tensor(args, 0), tensor(args, 1)
    if x is None or part is None or part.numel > x.numel:
        return None
    return vector(0, [elements(x.numel - part.numel, x.dtype), part], [x], x.dtype, _params(x))


def _repeat(args: OpArgs) -> OpCost | None:
    """``(self, repeats)``."""
    x, repeats = tensor(args, 0), as_ints(value(args, 1))
    if x is None or repeats is None or len(repeats) < len(x.shape) or any(count < 0 for count in repeats):
        return None
    return vector(0, [x], [elements(x.numel * math.prod(repeats), x.dtype)], x.dtype, _params(x))


def _constant_pad(args: OpArgs) -> OpCost | None:
    """``(self, pad, value)``: two numbers per dimension, the last dimension first; negative ones cut."""
    x, pad = tensor(args, 0), as_ints(value(args, 1))
    if x is None or pad is None or len(pad) % 2 or len(pad) > 2 * len(x.shape):
        return None
    both_ends = zip(reversed(x.shape), pad[::2], pad[1::2], strict=False)
    padded = [size + before + after for size, before, after in both_ends]
    if any(size < 0 for size in padded):
        return None
    out = elements(rows(x.shape, len(padded)) * math.prod(padded), x.dtype)
    return vector(0, [elements(min(x.numel, out.numel), x.dtype)], [out], x.dtype, _params(x))


def _masked_fill(args: OpArgs) -> OpCost | None:
    """``(self, mask, value)``."""
    x, mask = tensor(args, 0), tensor(args, 1)
    return None if x is None or mask is None else vector(x.numel, [x, mask], [x], x.dtype, _params(x))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


def _composite(cost: Callable[[OpArgs], OpCost | None], *names: str) -> OpModel:
    return OpModel(tuple(f"aten::{name}" for name in names), _FAMILY, BY_KERNEL, cost, leaf_only=True)


MODELS = (
    OpModel(("aten::cat",), _FAMILY, "other", _cat),
    OpModel(("aten::index_select",), _FAMILY, "other", _index_select),
    OpModel(("aten::gather",), _FAMILY, "other", _gather),
    OpModel(("aten::embedding_dense_backward",), _FAMILY, BY_KERNEL, _embedding_backward),
    _composite(_cat, "stack"),
    _composite(_embedding, "embedding"),
    _composite(_into_zeros, "slice_backward", "select_backward", "diagonal_backward"),
    _composite(_into_copy, "as_strided_scatter", "slice_scatter", "select_scatter", "diagonal_scatter"),
    _composite(_repeat, "repeat"),
    _composite(_constant_pad, "constant_pad_nd"),
    _composite(_masked_fill, "masked_fill"),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
