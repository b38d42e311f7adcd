"""Sorting and choosing: sort, topk, median, multinomial, nonzero, unique.

Bytes: the input read once, values and int64 indices written.  No FLOPs: how many comparisons are made is the
algorithm's affair.  How much ``nonzero`` and ``unique`` write is up to the data: their bytes are unknown.
"""

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import BY_KERNEL, OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import INT64, UNKNOWN, axis, rows, vector

_FAMILY = "Ordering"


def _sort(args: OpArgs) -> OpCost | None:
    """``(self, dim, descending)`` or ``(self, stable, dim, descending)``: as many values and indices as elements."""
    x = tensor(args, 0)
    return None if x is None else _chosen(x, x.numel)


def _top(args: OpArgs) -> OpCost | None:
    """``(self, k, dim, largest, sorted)``: ``k`` values and indices along the dimension."""
    x, k = tensor(args, 0), as_int(value(args, 1))
    dim = None if x is None else axis(args, 2, len(x.shape))
    if x is None or dim is None or k is None:
        return None
    along = x.shape[dim] if x.shape else 1
    return _chosen(x, x.numel // along * k if along else 0) if 0 <= k <= along else None


def _one(args: OpArgs, *, dim_at: int) -> OpCost | None:
    """``(self, …, dim, keepdim)``: one value and index along the dimension."""
    x = tensor(args, 0)
    dim = None if x is None else axis(args, dim_at, len(x.shape))
    if x is None or dim is None:
        return None
    along = x.shape[dim] if x.shape else 1
    return _chosen(x, x.numel // along if along else 0)


def _median(args: OpArgs) -> OpCost | None:
    """``(self)``: one value; or ``(self, dim, keepdim)``."""
    x = tensor(args, 0)
    if len(args.dims) != 1:
        return _one(args, dim_at=1)
    return None if x is None else vector(0, [x], [elements(1, x.dtype)], x.dtype, _params(x))


def _mode(args: OpArgs) -> OpCost | None:
    """``(self, dim, keepdim)``."""
    return _one(args, dim_at=1)


def _kth(args: OpArgs) -> OpCost | None:
    """``(self, k, dim, keepdim)``."""
    return _one(args, dim_at=2)


def _multinomial(args: OpArgs) -> OpCost | None:
    """``(self, num_samples, replacement)`` of weights per row: int64 samples."""
    x, samples = tensor(args, 0), as_int(value(args, 1))
    if x is None or not x.shape or samples is None or samples < 0:
        return None
    return vector(0, [x], [elements(rows(x.shape) * samples, INT64)], x.dtype, _params(x))


def _up_to_the_data(args: OpArgs) -> OpCost | None:
    """``(self, …)``: the input read, a result of unknown size."""
    x = tensor(args, 0)
    if x is None:
        return None
    return vector(0, [x], [UNKNOWN], x.dtype, _params(x))


def _chosen(x: Tensor, count: int) -> OpCost:
    return vector(0, [x], [elements(count, x.dtype), elements(count, INT64)], x.dtype, _params(x))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("aten::sort",), _FAMILY, BY_KERNEL, _sort),
    OpModel(("aten::topk",), _FAMILY, BY_KERNEL, _top),
    OpModel(("aten::kthvalue",), _FAMILY, BY_KERNEL, _kth),
    OpModel(("aten::median", "aten::nanmedian"), _FAMILY, BY_KERNEL, _median),
    OpModel(("aten::mode",), _FAMILY, BY_KERNEL, _mode),
    OpModel(("aten::multinomial",), _FAMILY, BY_KERNEL, _multinomial),
    OpModel(
        (
            "aten::nonzero",
            "aten::_unique2",
            "aten::unique_dim",
            "aten::unique_consecutive",
            "aten::masked_select",
        ),
        _FAMILY,
        BY_KERNEL,
        _up_to_the_data,
    ),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
