"""Ops that write at indices, and ops that rearrange a tensor: scatter, index_add, embedding bags, roll, flip, im2col.

Bytes: the values and the indices are read, the elements they go to are written; where values are added to what is
there, those elements are read too.  No more elements are touched than the tensor has.  An op that is not in place reads
and writes the whole tensor besides.  FLOPs: one per value that is added, none for moving.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_bool, as_int, as_ints
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import INT32, INT64, axis, vector

_FAMILY = "DataMovement"
_ADDING = frozenset({"add", "multiply"})


@dataclass(frozen=True, slots=True)
class _Write:
    """``(self, dim, index, source, …)``: what decides the number of elements, and whether they are combined."""

    by_source: bool = False  # as many as the source has, else as the index has
    accumulates: bool = False
    reduce_at: int | None = None  # a recorded "add" or "multiply"
    whole_slices: bool = False  # an index stands for a slice of the tensor
    in_place: bool = False

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where index or, if it decides, source were not recorded."""
        target, index, source = (tensor(args, at) for at in (0, 2, 3))
        dim = None if target is None else axis(args, 1, len(target.shape))
        if target is None or index is None or dim is None:
            return None
        if self.by_source:
            if source is None:
                return None
            count = source.numel
        else:
            count = index.numel * (_slice(target.shape, dim) if self.whole_slices else 1)
        values = None if source is None or not source.shape else elements(count, source.dtype)
        adds = self.accumulates or (self.reduce_at is not None and value(args, self.reduce_at) in _ADDING)
        touched = elements(min(count, target.numel), target.dtype)
        if self.in_place:
            read, written = [touched if adds else None], [touched]
        else:
            read, written = [target], [target]
        return vector(count if adds else 0, [*read, index, values], written, target.dtype, _params(target))


def _slice(shape: Shape, dim: int) -> int:
    """Elements of a tensor for one position of a dimension."""
    return math.prod(shape[:dim] + shape[dim + 1 :])


def _take(args: OpArgs) -> OpCost | None:
    """``(self, index)``: one element for each index, from the flattened tensor."""
    table, index = tensor(args, 0), tensor(args, 1)
    if table is None or index is None:
        return None
    out = elements(index.numel, table.dtype)
    return vector(0, [elements(min(index.numel, table.numel), table.dtype), index], [out], out.dtype, _params(table))


def _embedding_bag(args: OpArgs) -> OpCost | None:
    """``(weight, indices, offsets, …, include_last_offset at 7)``: a sum of rows for each bag."""
    table, index, offsets = (tensor(args, at) for at in range(3))
    last = as_bool(value(args, 7))
    if table is None or index is None or offsets is None or len(table.shape) != 2 or last is None:
        return None
    width = table.shape[1]
    bags = max(offsets.numel - last, 0)
    looked_up = elements(min(index.numel * width, table.numel), table.dtype)
    out = elements(bags * width, table.dtype)
    return vector(index.numel * width, [looked_up, index, offsets], [out], table.dtype, _params(table))


def _embedding_bag_backward(args: OpArgs) -> OpCost | None:
    """``(grad, indices, offset2bag, bag_size, maximum_indices, num_weights, …)``: the table's whole gradient."""
    grad, index, bag = (tensor(args, at) for at in range(3))
    count = as_int(value(args, 5))
    if grad is None or index is None or len(grad.shape) != 2 or count is None or count < 0:
        return None
    width = grad.shape[1]
    return vector(
        index.numel * width, [grad, index, bag], [elements(count * width, grad.dtype)], grad.dtype, _params(grad)
    )


def _rearranged(args: OpArgs) -> OpCost | None:
    """``(self, …)``: as many elements written as read."""
    x = tensor(args, 0)
    return None if x is None else vector(0, [x], [x], x.dtype, _params(x))


def _unfold_backward(args: OpArgs) -> OpCost | None:
    """``(grad, input_sizes, dim, size, step)``: the gradients of overlapping windows are added."""
    grad, sizes = tensor(args, 0), _sizes(args, 1)
    if grad is None or sizes is None:
        return None
    return vector(grad.numel, [grad], [elements(math.prod(sizes), grad.dtype)], grad.dtype, _params(grad))


def _im2col(args: OpArgs) -> OpCost | None:
    """``(self, kernel_size, dilation, padding, stride)`` of ``[N, C, H, W]``: every window becomes a column."""
    x = tensor(args, 0)
    kernel, dilation, padding, stride = (as_ints(value(args, at)) for at in range(1, 5))
    if x is None or len(x.shape) < 3 or not kernel or not dilation or not padding or not stride:
        return None
    if not len(kernel) == len(dilation) == len(padding) == len(stride) == 2 or min(*kernel, *dilation, *stride) < 1:
        return None
    windows = [
        (size + 2 * pad - dil * (k - 1) - 1) // step + 1
        for size, k, dil, pad, step in zip(x.shape[-2:], kernel, dilation, padding, stride, strict=True)
    ]
    if min(*windows, *padding) < 0:
        return None
    columns = elements(math.prod(x.shape[:-2]) * math.prod(kernel) * math.prod(windows), x.dtype)
    return vector(0, [x], [columns], x.dtype, _params(x))


def _col2im(args: OpArgs) -> OpCost | None:
    """``(self, output_size, kernel_size, …)`` of ``[N, C·kernel, L]``: the values of overlapping windows are added."""
    x, size, kernel = tensor(args, 0), _sizes(args, 1), _sizes(args, 2)
    if x is None or len(x.shape) < 2 or not size or not kernel or not math.prod(kernel):
        return None
    channels = math.prod(x.shape[:-1]) // math.prod(kernel)
    return vector(x.numel, [x], [elements(channels * math.prod(size), x.dtype)], x.dtype, _params(x))


def _search(args: OpArgs, *, table: int, keys: int) -> OpCost | None:
    """Positions of keys in a sorted table: both read, an index written for each key (int32 where the third says so)."""
    sorted_values, wanted = tensor(args, table), tensor(args, keys)
    if sorted_values is None or wanted is None:
        return None
    out = elements(wanted.numel, INT32 if as_bool(value(args, 2)) else INT64)
    return vector(0, [sorted_values, wanted], [out], wanted.dtype, _params(wanted))


def _sizes(args: OpArgs, index: int) -> tuple[int, ...] | None:
    sizes = as_ints(value(args, index))
    return None if sizes is None or any(size < 0 for size in sizes) else sizes


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


def _writes(name: str, plain: _Write) -> tuple[OpModel, OpModel]:
    """Return the models of an op and of its in-place form."""
    return (
        OpModel((f"aten::{name}",), _FAMILY, BY_KERNEL, plain),
        OpModel((f"aten::{name}_",), _FAMILY, BY_KERNEL, replace(plain, in_place=True)),
    )


MODELS = (
    *_writes("scatter", _Write(reduce_at=4)),
    *_writes("scatter_add", _Write(accumulates=True)),
    *_writes("scatter_reduce", _Write(accumulates=True)),
    *_writes("index_add", _Write(by_source=True, accumulates=True)),
    *_writes("index_reduce", _Write(by_source=True, accumulates=True)),
    *_writes("index_copy", _Write(by_source=True)),
    *_writes("index_fill", _Write(whole_slices=True)),
    OpModel(("aten::take",), _FAMILY, BY_KERNEL, _take),
    OpModel(("aten::_embedding_bag", "aten::_embedding_bag_forward_only"), _FAMILY, BY_KERNEL, _embedding_bag),
    OpModel(("aten::_embedding_bag_dense_backward",), _FAMILY, BY_KERNEL, _embedding_bag_backward),
    OpModel(
        ("aten::roll", "aten::flip", "aten::tril", "aten::tril_", "aten::triu", "aten::triu_"),
        _FAMILY,
        BY_KERNEL,
        _rearranged,
    ),
    OpModel(("aten::unfold_backward",), _FAMILY, BY_KERNEL, _unfold_backward),
    OpModel(("aten::im2col",), _FAMILY, BY_KERNEL, _im2col),
    OpModel(("aten::col2im",), _FAMILY, BY_KERNEL, _col2im),
    OpModel(("aten::searchsorted",), _FAMILY, BY_KERNEL, partial(_search, table=0, keys=1)),
    OpModel(("aten::bucketize",), _FAMILY, BY_KERNEL, partial(_search, table=1, keys=0)),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
