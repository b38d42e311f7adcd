"""PyTorch's rules for elementwise results: broadcast shape and promoted element type."""

from collections.abc import Sequence

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.operands import Tensor
from tracelens_tui.perf.types import Shape

_RANK = {"bool": 0, "int": 1, "float": 2, "complex": 3}
_DEFAULT = dtype_of("float")  # what a Python number or an integer becomes in floating-point arithmetic


def broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """Return the broadcast shape, None if the shapes do not go together."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    out: list[int] = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            return None
        out.append(wide.pop() if wide else 1)
    return tuple(out)


def promoted(tensors: Sequence[Tensor]) -> Dtype | None:
    """Return the element type of the result: the widest of the highest kind, None if any type is unknown.

    A 0-dim tensor only counts where its kind is above that of every tensor with dimensions: it is nearly always a
    Python number that PyTorch wrapped (recorded as "double"), which never widens a tensor and turns integers to fp32.
    """
    dimensioned = _widest([t.dtype for t in tensors if t.shape])
    scalars = _widest([t.dtype for t in tensors if not t.shape])
    if any(t.dtype is None for t in tensors):
        return None
    if dimensioned is None:
        return scalars
    if scalars is None or _RANK[scalars.kind] <= _RANK[dimensioned.kind]:
        return dimensioned
    return _DEFAULT if scalars.kind == "float" else scalars


def floating(dtype: Dtype | None) -> Dtype | None:
    """Return the type of a true division or an exponential of that type: integers become fp32."""
    return _DEFAULT if dtype is not None and dtype.kind in {"int", "bool"} else dtype


def _widest(dtypes: Sequence[Dtype | None]) -> Dtype | None:
    known = [dtype for dtype in dtypes if dtype is not None]
    return max(known, key=lambda dtype: (_RANK[dtype.kind], dtype.bytes), default=None)
