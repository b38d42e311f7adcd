"""What an op reads and writes, as far as fusion is concerned: which ops can follow each other in one kernel.

Only ops with modelled traffic take part.  Matrix products can begin a chain (what follows is their epilogue); they
never continue one, and no time of theirs is claimed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import polars as pl

from tracelens_tui.perf.dtypes import dtype_of
from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.types import Shape

_PRODUCT = "gemm"
_POINTWISE = "elementwise"
_REDUCTION = "reduce"
_NORM = "norm"
_CLASSES = {"GEMM": _PRODUCT, "elementwise": _POINTWISE, "reduce": _REDUCTION}
_SAME_SHAPE = {"aten::_softmax", "aten::_log_softmax", "aten::softmax", "aten::log_softmax"}
"""Ops of the category reduce whose result has the shape of their input."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One operand: its shape and the bytes of an element, 0 = unknown."""

    shape: Shape
    itemsize: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Flow:
    """An op's part in a chain."""

    kind: str  # "gemm", "elementwise", "reduce", "norm"
    name: str
    reads: tuple[Tensor, ...]
    writes: Shape | None  # shape of the result; None = less than what is read, as of a reduction
    bytes: float  # modelled traffic of one call


@dataclass(frozen=True, slots=True)
class Links:
    """The flows by row of ``Analysis.ops``."""

    flows: Mapping[int, Flow]

    def between(self, first: int, second: int) -> tuple[float, float] | None:
        """Return the part of each op's traffic that is the tensor between them; None where nothing links them.

        The tensor is written by the first and read by the second; fused, neither happens.  The same op with the same
        arguments is no reader of itself: independent repetitions look alike.
        """
        one, two = self.flows.get(first), self.flows.get(second)
        if one is None or two is None or first == second:
            return None
        if not _can_follow(one, two):
            return None
        tensor = _between(one, two)
        if tensor is None:
            return None
        size = tensor.elements * (tensor.itemsize or _itemsize(one))
        if one.kind == _PRODUCT:  # the product writes the result of its epilogue instead of its own
            return 0.0, min(1.0, 2 * size / two.bytes)
        return min(1.0, size / one.bytes), min(1.0, size / two.bytes)


def links(ops: pl.DataFrame) -> Links:
    """Return the flows of the rows that can be members of a chain."""
    columns = ("row", "name", "category", "dims", "types", "concrete", "params", "bytes")
    flows = {row: flow for row, *fields in ops.select(columns).iter_rows() if (flow := _flow(*fields)) is not None}
    return Links(flows)


def flow_kind(category: str, name: str) -> str | None:
    """Return what an op is to a chain; None for one that cannot be a member."""
    if name == "aten::cat":
        return _POINTWISE
    return _NORM if category.lower().startswith("norm") else _CLASSES.get(category)


def _flow(
    name: str, category: str, dims: str, types: str, concrete: str, params: str, traffic: float | None
) -> Flow | None:
    kind = flow_kind(category, name)
    if kind is None or not traffic:
        return None
    operands = _operands(name, dims, types, concrete)
    if not operands:
        return None
    writes = _product(params) if kind == _PRODUCT else _written(kind, name, operands)
    reads = operands[1:2] if name == "aten::copy_" else operands
    return None if kind == _PRODUCT and writes is None else Flow(kind, name, tuple(reads), writes, traffic)


def _operands(name: str, dims: str, types: str, concrete: str) -> list[Tensor]:
    """The tensors among the arguments, those of lists too."""
    args = op_args(name, dims, types, "", concrete)
    found: list[Tensor] = []
    for shape, spelling in zip(args.dims, args.types, strict=False):
        dtype = dtype_of(spelling)
        size = dtype.bytes if dtype else 0
        parts = [part for part in shape if isinstance(part, tuple)]
        sizes = tuple(part for part in shape if isinstance(part, int))
        found += [Tensor(part, size) for part in ([sizes] if sizes else parts)]
    return [tensor for tensor in found if tensor.elements > 0]


def _written(kind: str, name: str, operands: list[Tensor]) -> Shape | None:
    shapes = [tensor.shape for tensor in operands]
    if name == "aten::cat":
        return _joined(shapes)
    if kind == _REDUCTION and name not in _SAME_SHAPE:
        return None
    return _broadcast(shapes) if kind == _POINTWISE else shapes[0]


def _joined(shapes: list[Shape]) -> Shape:
    """The shape of a concatenation: along the axis in which the parts differ, else the last."""
    if len({len(shape) for shape in shapes}) > 1:
        return (sum(map(math.prod, shapes)),)
    sizes = list(zip(*shapes, strict=True))
    axis = next((place for place, size in enumerate(sizes) if len(set(size)) > 1), len(sizes) - 1)
    return tuple(sum(size) if place == axis else size[0] for place, size in enumerate(sizes))


def _broadcast(shapes: list[Shape]) -> Shape:
    """The shape that all broadcast to."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))


def _product(params: str) -> Shape | None:
    """The shape of a matrix product's result, from the parameters of its model."""
    known = msgspec.json.decode(params) if params else {}
    sizes = [known.get(name, default) for name, default in (("B", 1), ("M", None), ("N", None))]
    whole = [size for size in sizes if isinstance(size, int)]
    return tuple(whole) if len(whole) == len(sizes) else None


def _can_follow(one: Flow, two: Flow) -> bool:
    """Whether one kernel can do both: nothing continues into a product, an epilogue computes, two norms are apart."""
    if two.kind == _PRODUCT or one.kind == two.kind == _NORM:
        return False
    return one.kind != _PRODUCT or (two.kind == _POINTWISE and two.name != "aten::copy_")


def _between(one: Flow, two: Flow) -> Tensor | None:
    """The operand of the second that the first can have written: as many elements in rows of the same length."""
    if one.writes is not None:
        size, row = math.prod(one.writes), one.writes[-1]
        return next((part for part in two.reads if part.elements == size and part.shape[-1] == row), None)
    most = max(tensor.elements for tensor in one.reads)
    fitting = [tensor for tensor in two.reads if tensor.elements < most and most % tensor.elements == 0]
    return min(fitting, key=lambda tensor: tensor.elements) if fitting else None


def _itemsize(flow: Flow) -> int:
    return next((tensor.itemsize for tensor in flow.reads if tensor.itemsize), 0)
