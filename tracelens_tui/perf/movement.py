"""Ops that gather elements without arithmetic: concatenation, selection by index, embedding and its gradient.

No FLOPs; bytes are the elements that must be read and written once, in their own size, and the indices.  A call reads
as much of a table as it writes, but no more than the table has.  The gradient of an embedding adds once per element and
writes the whole table.
"""

import math

from tracelens_tui.perf.kernel_types import element_type
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, tensor_list, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import axis, replaced, vector

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


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::cat",), _FAMILY, "other", _cat),
    OpModel(("aten::index_select",), _FAMILY, "other", _index_select),
    OpModel(("aten::gather",), _FAMILY, "other", _gather),
    OpModel(("aten::embedding_dense_backward",), _FAMILY, BY_KERNEL, _embedding_backward),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
