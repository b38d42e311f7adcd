"""What the perf models ask of an op's arguments: tensors with their sizes, and recorded values."""

import math
from dataclasses import dataclass

from tracelens_tui.perf.dtypes import Dtype, dtype_of
from tracelens_tui.perf.types import OpArgs, Shape


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor argument: its shape, its element type (None = unknown) and its strides (None = not recorded)."""

    shape: Shape
    dtype: Dtype | None
    strides: Shape | None = None

    @property
    def numel(self) -> int:
        """Number of elements of the recorded shape."""
        return math.prod(self.shape)

    @property
    def distinct(self) -> int:
        """Number of elements that lie in memory: a dimension with stride 0 is one element seen many times."""
        if self.strides is None or len(self.strides) != len(self.shape):
            return self.numel
        return math.prod(n if stride or not n else 1 for n, stride in zip(self.shape, self.strides, strict=True))

    @property
    def bytes(self) -> int | None:
        """Bytes of all elements, None if the element size is unknown."""
        return bytes_of(self.numel, self.dtype)


def bytes_of(elements: int, dtype: Dtype | None) -> int | None:
    """Return the bytes of so many elements, None if the type is unknown."""
    return None if dtype is None else elements * dtype.bytes


def total(*parts: int | None) -> int | None:
    """Return the sum, None if any part is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def moved(*tensors: Tensor | None) -> int | None:
    """Return the bytes of those tensors that are there, None if the element type of one is unknown."""
    return total(*(found.bytes for found in tensors if found is not None))


def elements(count: int, dtype: Dtype | None) -> Tensor:
    """Return so many elements of a type as a tensor: a part of an operand, or a result that no argument shows."""
    return Tensor((count,), dtype)


def tensor(args: OpArgs, index: int) -> Tensor | None:
    """Return the tensor at an argument position; None where there is none (scalar, list, absent, not recorded).

    A recorded element type makes an empty shape a 0-dim tensor; a shape makes a tensor of unknown type.
    """
    if index >= len(args.dims):
        return None
    shape = args.dims[index]
    if any(isinstance(part, tuple) for part in shape):
        return None
    flat = tuple(part for part in shape if isinstance(part, int))
    dtype = dtype_of(args.types[index]) if index < len(args.types) else None
    if not flat and dtype is None:
        return None
    return Tensor(flat, dtype, _strides(args, index))


def _strides(args: OpArgs, index: int) -> Shape | None:
    if index >= len(args.strides):
        return None
    return tuple(part for part in args.strides[index] if isinstance(part, int))


def tensor_list(args: OpArgs, index: int) -> tuple[Shape, ...] | None:
    """Return the shapes of a list of tensors; None where there is none or its shapes were not recorded.

    A trace records no element types for lists.
    """
    entry = args.dims[index] if index < len(args.dims) else ()
    shapes = tuple(shape for shape in entry if isinstance(shape, tuple))
    return shapes if shapes and len(shapes) == len(entry) else None


def matrix(args: OpArgs, index: int, rank: int = 2) -> Tensor | None:
    """Return the tensor at an argument position if it has that many dimensions."""
    found = tensor(args, index)
    return found if found is not None and len(found.shape) == rank else None


def value(args: OpArgs, index: int) -> str:
    """Return the recorded value of an argument, "" where there is none."""
    return args.concrete[index] if index < len(args.concrete) else ""


def type_name(args: OpArgs, index: int) -> str:
    """Return the recorded type string of an argument, "" where there is none."""
    return args.types[index] if index < len(args.types) else ""


def as_text(shape: Shape | None) -> str:
    """Return a shape as JSON text, as the tables show it."""
    return "" if shape is None else f"[{', '.join(map(str, shape))}]"
