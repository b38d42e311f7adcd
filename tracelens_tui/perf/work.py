"""The cost of work outside of matrix products: so many operations, so many operands read and results written."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor, moved, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, Shape

FP32 = dtype_of("float")
INT32 = dtype_of("int")
INT64 = dtype_of("long int")
BOOL = dtype_of("bool")
UINT8 = dtype_of("uint8")

UNKNOWN = Tensor((), None)
"""A result whose size the arguments do not tell: it leaves the bytes unknown."""

Params = Mapping[str, int | float | str | bool]
_NONE: Params = MappingProxyType({})


def vector(
    flops: int | None,
    read: Sequence[Tensor | None],
    written: Sequence[Tensor | None],
    computed: Dtype | None,
    params: Params = _NONE,
) -> OpCost:
    """Return the cost of work on the vector unit; None among the tensors is an operand that the call does not have.

    ``computed`` is the type of the arithmetic.
    """
    return OpCost(
        flops=flops,
        bytes_read=moved(*read),
        bytes_written=moved(*written),
        unit="vector",
        precision=None if computed is None else computed.precision,
        params=params,
    )


def accumulated(dtype: Dtype | None) -> Dtype | None:
    """Return the type in which PyTorch accumulates and keeps statistics: fp32 for narrower floating-point types."""
    return FP32 if dtype is not None and dtype.kind == "float" and dtype.bytes < 4 else dtype


def axis(args: OpArgs, index: int, rank: int) -> int | None:
    """Return a recorded dimension as an index from the front, None where it is not one of ``rank`` dimensions."""
    recorded = as_int(value(args, index))
    return None if recorded is None else position(recorded, rank)


def position(recorded: int, rank: int) -> int | None:
    """Return a dimension counted from either end as an index from the front; a 0-dim tensor has the dimension 0."""
    size = max(rank, 1)
    return recorded % size if -size <= recorded < size else None


def replaced(shape: Shape, dim: int, size: int) -> Shape:
    """Return a shape with another size in one dimension; a 0-dim shape stays."""
    return (*shape[:dim], size, *shape[dim + 1 :]) if shape else shape


def rows(shape: Shape, last: int = 1) -> int:
    """Return how often the last dimensions repeat: the product of all before them."""
    return math.prod(shape[: max(len(shape) - last, 0)])


def flags_text(flags: Sequence[bool]) -> str:
    """Return flags as JSON text, as the tables show an output mask."""
    return f"[{', '.join('true' if flag else 'false' for flag in flags)}]"
