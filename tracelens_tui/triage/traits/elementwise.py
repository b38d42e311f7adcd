"""Traits of elementwise ops."""

import math

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.shapes import dtype_name, first_shape, is_copy, shapes_in, sides
from tracelens_tui.triage.traits.types import Facts, Trait

HIDDEN = 0.2
LARGE_TENSOR = 1_000_000

_BYTES = {"unsigned char", "uint8"}
_LONG_INT = {"long int", "long", "int64"}


def _cast(op: OpFacts, _run: RunContext) -> Facts | None:
    """A copy between two dtypes."""
    kinds = [kind for kind in op.types[:2] if kind]
    if not is_copy(op) or len(kinds) < 2 or kinds[0] == kinds[1]:
        return None
    return {"from_type": dtype_name(kinds[1]), "to_type": dtype_name(kinds[0])}


def _layout_copy(op: OpFacts, _run: RunContext) -> Facts | None:
    """A copy that keeps the dtype and changes the strides."""
    kinds = op.types[:2]
    if not is_copy(op) or len(set(kinds)) > 1 or len(op.strides) < 2 or op.strides[0] == op.strides[1]:
        return None
    return {}


def _attention_copy(op: OpFacts, run: RunContext) -> Facts | None:
    """A copy that keeps the dtype and has the shape of an attention op's query, in either order of heads."""
    shape = sides(op.dims[0]) if op.dims else ()
    if not is_copy(op) or len(shape) != 4 or len(set(op.types[:2])) > 1:
        return None
    swapped = (shape[0], shape[2], shape[1], shape[3])
    for other in run.others:
        if other.category in {"sdpa_fwd", "sdpa_bwd"} and first_shape(other) in (shape, swapped):
            return {"attention": other.name}
    return None


def _broadcast(op: OpFacts, _run: RunContext) -> Facts | None:
    """Two inputs of different shapes."""
    shapes = [shape for shape in shapes_in(op.dims[:2]) if shape]
    return {} if len(shapes) == 2 and shapes[0] != shapes[1] else None


def _square_mask(op: OpFacts, _run: RunContext) -> Facts | None:
    """The largest input ends in two equal sides of at least 128, as an attention mask does."""
    shapes = [shape for shape in shapes_in(op.dims) if len(shape) >= 3]
    shape = max(shapes, key=math.prod, default=())
    if len(shape) < 3 or shape[-1] != shape[-2] or shape[-1] < 128:
        return None
    return {"side": shape[-1]}


def _int64_math(op: OpFacts, _run: RunContext) -> Facts | None:
    """Arithmetic on a large tensor of 64-bit integers."""
    if is_copy(op) or not op.types or op.types[0] not in _LONG_INT or not op.dims:
        return None
    count = math.prod(sides(op.dims[0]))
    return {"elements": count} if count >= LARGE_TENSOR else None


def _self_gated(op: OpFacts, run: RunContext) -> Facts | None:
    """A sigmoid, with a multiplication of the same shape elsewhere in the run."""
    shape = sides(op.dims[0]) if op.dims else ()
    if "sigmoid" not in op.name or not shape:
        return None
    found = any(other.name.rstrip("_").endswith("::mul") and first_shape(other) == shape for other in run.others)
    return {} if found else None


def _overlapped(op: OpFacts, _run: RunContext) -> Facts | None:
    """A fifth or more of the time runs beside kernels of other ops."""
    time = op.view.time_ms
    hidden = 1 - op.exposed_ms / time if time else 0.0
    return {"hidden": 100 * hidden} if hidden >= HIDDEN else None


def _repeated(op: OpFacts, _run: RunContext) -> Facts | None:
    """At least 300 calls of less than 10 µs."""
    return {} if op.view.count >= 300 and op.mean_us < 10 else None


def _bytes_widened(op: OpFacts, run: RunContext) -> Facts | None:
    """A conversion of bytes to floating point."""
    found = _cast(op, run)
    return {} if found is not None and found["from_type"] in _BYTES and str(found["to_type"]) not in _BYTES else None


TRAITS = {
    "bytes_widened": Trait(_bytes_widened),
    "cast": Trait(_cast, ("from_type", "to_type")),
    "layout_copy": Trait(_layout_copy),
    "attention_copy": Trait(_attention_copy, ("attention",)),
    "broadcast": Trait(_broadcast),
    "square_mask": Trait(_square_mask, ("side",)),
    "int64_math": Trait(_int64_math, ("elements",)),
    "self_gated": Trait(_self_gated),
    "overlapped": Trait(_overlapped, ("hidden",)),
    "repeated": Trait(_repeated),
}
