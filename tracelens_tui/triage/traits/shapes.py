"""Shapes and dtypes as the traits read them."""

import re
from collections.abc import Iterator

from tracelens_tui.perf.types import Shape
from tracelens_tui.triage.facts import OpFacts, OtherOp

SCORES = 128
"""Sides of a score matrix from which fusing the attention pays."""


def first_shape(op: OtherOp) -> Shape:
    """Return the shape of an op's first tensor, () where none was recorded."""
    return next(iter(shapes_in(op.dims)), ())


def shapes_in(dims: tuple[Shape | tuple[Shape, ...], ...]) -> list[Shape]:
    """Return the shapes of an op's tensors, those of tensor lists included, scalars left out."""
    return list(_walk(dims))


def _walk(dims: tuple[Shape | tuple[Shape, ...], ...]) -> Iterator[Shape]:
    for item in dims:
        if not item:
            continue
        if all(isinstance(side, int) for side in item):
            yield sides(item)
        else:
            yield from (inner for inner in item if isinstance(inner, tuple) and inner)


def sides(item: Shape | tuple[Shape, ...]) -> Shape:
    """Return the sides of a tensor; () for a tensor list."""
    return tuple(side for side in item if isinstance(side, int))


def is_copy(op: OpFacts) -> bool:
    """True for a copy, a clone or a conversion."""
    return re.search(r"::(copy_|clone|contiguous|to|_to_copy)$", op.name) is not None


def dtype_name(name: str) -> str:
    """Return a dtype as people write it."""
    known = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"}
    return known.get(name, name)


def scores(op: OtherOp) -> Shape:
    """Return the shape that a softmax works on where it may be attention scores, else ()."""
    shape = first_shape(op)
    return shape if "softmax" in op.name and len(shape) >= 3 and min(shape[-2:]) >= SCORES else ()
