"""Arguments of an op as the profiler records them, and their JSON text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

Shape = tuple[int, ...]

SIZES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "int64": 8, "bool": 1}
_CPP_NAMES = {
    "bf16": "c10::BFloat16",
    "fp16": "c10::Half",
    "fp32": "float",
    "fp64": "double",
    "int64": "long int",
    "bool": "bool",
}
SCALAR_TYPES = {"bf16": "15", "fp16": "5", "fp32": "6", "fp64": "7", "int64": "4", "bool": "11"}
"""Numbers of ``c10::ScalarType`` as they appear in ``Concrete Inputs``."""
COLLECTIVE_TYPES = {"bf16": "BFloat16", "fp16": "Half", "fp32": "Float", "int64": "Long"}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor argument; ``strides`` is None for a contiguous one."""

    shape: Shape
    dtype: str = "bf16"
    strides: Shape | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, each counted once."""
        return prod(self.shape) * SIZES[self.dtype]

    @property
    def layout(self) -> Shape:
        """The strides, in elements."""
        return contiguous(self.shape) if self.strides is None else self.strides

    def transposed(self) -> "Tensor":
        """Return the view with the last two dimensions exchanged."""
        shape, strides = self.shape, self.layout
        return Tensor((*shape[:-2], shape[-1], shape[-2]), self.dtype, (*strides[:-2], strides[-1], strides[-2]))

    def like(self, dtype: str) -> "Tensor":
        """Return a contiguous tensor of the same shape with another element type."""
        return Tensor(self.shape, dtype)


Arg = Tensor | tuple[Tensor, ...] | str | None
"""A tensor, a tensor list, the text of a scalar (a list of scalars starts with ``[``), or an absent argument."""

SCALAR = Tensor((), "fp64")
"""A Python number that the dispatcher wrapped into a 0-dim tensor."""


def contiguous(shape: Shape) -> Shape:
    """Return the strides of a contiguous tensor of that shape."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


@lru_cache(maxsize=4096)
def json_text(text: str) -> str:
    """Return ``text`` as a JSON string in ASCII."""
    return json.dumps(text)


def json_list(values: Sequence[object]) -> str:
    """Return a list as JSON text, nested tuples as lists."""
    return json.dumps(values)


@lru_cache(maxsize=4096)
def recorded(args: tuple[Arg, ...]) -> str:
    """Return the four fields that ``record_shapes`` adds to a cpu_op."""
    concrete = [arg if isinstance(arg, str) else "" for arg in args]
    return (
        f'"Concrete Inputs": {json_list(concrete)}, "Input type": {types_text(args)}, '
        f'"Input Strides": {json_list([_strides(arg) for arg in args])}, "Input Dims": {dims_text(args)}'
    )


def dims_text(args: tuple[Arg, ...]) -> str:
    """Return the JSON text of the ``Input Dims`` field."""
    return json_list([_shape(arg) for arg in args])


def types_text(args: tuple[Arg, ...]) -> str:
    """Return the JSON text of the ``Input type`` field."""
    return json_list([_type_name(arg) for arg in args])


def _shape(arg: Arg) -> list[object]:
    if isinstance(arg, Tensor):
        return list(arg.shape)
    return [list(tensor.shape) for tensor in arg] if isinstance(arg, tuple) else []


def _strides(arg: Arg) -> list[object]:
    if isinstance(arg, Tensor):
        return list(arg.layout)
    return [list(tensor.layout) for tensor in arg] if isinstance(arg, tuple) else []


def _type_name(arg: Arg) -> str:
    if isinstance(arg, Tensor):
        return _CPP_NAMES[arg.dtype]
    if isinstance(arg, tuple):
        return "TensorList"
    if arg is None:
        return ""
    return "ScalarList" if arg.startswith("[") else "Scalar"
