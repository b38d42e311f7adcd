"""Ops that move or make elements without arithmetic: concatenation, selection by index, padding, constants, dropout.

No FLOPs; bytes are the elements that must be read and written once, in their own size, and the indices.  What a call
reads of a table is as much as it writes.  Lists of tensors are recorded without element types: the type is that of the
kernel's elements (a CUDA/HIP kernel that only moves data is named after their size).
"""

import math
import re

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, tensor_list, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import axis, replaced, vector

_OPAQUE = re.compile(r"OpaqueType<(\d{1,2})u?>")
_NAMED = re.compile(
    r"\b(c10::(?:BFloat16|Half|Float8_\w+|complex<\w+>)|float|double|int|long|short|(?:un)?signed char|bool)\b"
)
_FAMILY = "DataMovement"


def cat(args: OpArgs) -> OpCost | None:
    """``(tensors, dim)``: every input read, the result written."""
    shapes = tensor_list(args, 0)
    if shapes is None:
        return None
    everything = elements(sum(map(math.prod, shapes)), element_type(args.kernels))
    params = {"num_tensors": len(shapes), "op_shape": as_text(shapes[0])}
    return vector(0, [everything], [everything], everything.dtype, params)


def index_select(args: OpArgs) -> OpCost | None:
    """``(input, dim, index)``."""
    table, index = tensor(args, 0), tensor(args, 2)
    dim = None if table is None else axis(args, 1, len(table.shape))
    if table is None or index is None or dim is None or len(index.shape) > 1:
        return None
    out = Tensor(replaced(table.shape, dim, index.numel), table.dtype)
    return _moved(out, index)


def gather(args: OpArgs) -> OpCost | None:
    """``(input, dim, index)``: one element for each index."""
    table, index = tensor(args, 0), tensor(args, 2)
    return None if table is None or index is None else _moved(Tensor(index.shape, table.dtype), index)


def embedding(args: OpArgs) -> OpCost | None:
    """``(weight, indices, …)``: a row of the table for each index."""
    table, index = tensor(args, 0), tensor(args, 1)
    if table is None or index is None or len(table.shape) != 2:
        return None
    return _moved(Tensor((*index.shape, table.shape[1]), table.dtype), index)


def embedding_backward(args: OpArgs) -> OpCost | None:
    """``embedding_dense_backward(grad_output, indices, num_weights, …)``: the whole gradient of the table is written."""
    grad, index, rows = tensor(args, 0), tensor(args, 1), as_int(value(args, 2))
    if grad is None or index is None or rows is None or rows < 0 or not grad.shape:
        return None
    return vector(grad.numel, [grad, index], [Tensor((rows, grad.shape[-1]), grad.dtype)], grad.dtype, _params(grad))


def dropout(args: OpArgs) -> OpCost | None:
    """``native_dropout(input, p, train)``: reads the input, writes the result and a mask of bytes."""
    x = tensor(args, 0)
    if x is None:
        return None
    return vector(x.numel, [x], [x, elements(x.numel, dtype_of("bool"))], x.dtype, _params(x))


def element_type(kernels: tuple[str, ...]) -> Dtype | None:
    """Return the element type that the kernels' names tell, None if they tell none or several."""
    sizes = {int(size) for kernel in kernels for size in _OPAQUE.findall(kernel)}
    if len(sizes) == 1:
        size = sizes.pop()
        return Dtype(f"{size}-byte", size, None) if size > 0 else None
    if sizes:
        return None
    names = {name for kernel in kernels for name in _NAMED.findall(kernel)}
    floating = {name for name in names if name not in {"int", "long", "short", "bool"}}
    found = floating or names
    return dtype_of(found.pop()) if len(found) == 1 else None


def _moved(out: Tensor, index: Tensor) -> OpCost:
    """As much read as written, and the indices."""
    return vector(0, [out, index], [out], out.dtype, _params(out))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::cat",), _FAMILY, "other", cat),
    OpModel(("aten::index_select",), _FAMILY, BY_KERNEL, index_select),
    OpModel(("aten::gather",), _FAMILY, BY_KERNEL, gather),
    OpModel(("aten::embedding",), _FAMILY, BY_KERNEL, embedding),
    OpModel(("aten::embedding_dense_backward",), _FAMILY, BY_KERNEL, embedding_backward),
    OpModel(("aten::native_dropout",), _FAMILY, BY_KERNEL, dropout),
)
