"""Traits that look at other operations of the run with the same shape.

Order is not checked: a trait says that a partner exists, the advice says where to look.
"""

import math
import re

from tracelens_tui.perf.types import Shape
from tracelens_tui.triage.facts import OpFacts, OtherOp, RunContext
from tracelens_tui.triage.traits.shapes import first_shape, is_copy, scores, shapes_in, sides
from tracelens_tui.triage.traits.types import Facts, Trait

_CONVERSION = re.compile(r"::(to|_to_copy|copy_)$")
_ADDITION = re.compile(r"::add_?$")
_QUANTISER = re.compile(r"(?<!de)quant", re.IGNORECASE)


def _first(op: OpFacts) -> Shape:
    return sides(op.dims[0]) if op.dims else ()


def _partner(shape: Shape, run: RunContext, pattern: re.Pattern[str]) -> OtherOp | None:
    """An op of the run with such a name whose first tensor has this shape."""
    if len(shape) < 2:
        return None
    return next((other for other in run.others if pattern.search(other.name) and first_shape(other) == shape), None)


def _beside_conversion(op: OpFacts, run: RunContext) -> Facts | None:
    """A conversion or copy of the same shape."""
    return {} if _partner(_first(op), run, _CONVERSION) else None


def _beside_addition(op: OpFacts, run: RunContext) -> Facts | None:
    """An addition of the same shape."""
    found = _partner(_first(op), run, _ADDITION)
    return None if found is None else {"addition": found.name}


def _before_quantisation(op: OpFacts, run: RunContext) -> Facts | None:
    """A quantisation of the same shape."""
    found = _partner(_first(op), run, _QUANTISER)
    return None if found is None else {"quantiser": found.name}


def _gemm_output(op: OpFacts, run: RunContext) -> Facts | None:
    """An addition whose first tensor has the sides of a product's output."""
    shape = _first(op)
    if not _ADDITION.search(op.name) or len(shape) < 2:
        return None
    rows, columns = math.prod(shape[:-1]), shape[-1]
    found = next((other for other in run.others if _output(other) == (rows, columns)), None)
    return None if found is None else {"product": found.name}


def _output(op: OtherOp) -> tuple[int, int] | None:
    """Sides of the output of a product of two matrices."""
    shapes = shapes_in(op.dims)
    if op.category != "gemm" or len(shapes) < 2:
        return None
    left, right = shapes[-2:]
    return (left[0], right[1]) if len(left) == len(right) == 2 and left[1] == right[0] else None


def _operand_copy(op: OpFacts, run: RunContext) -> Facts | None:
    """A copy that changes the layout of a matrix which a product of the run takes."""
    shape = _first(op)
    if not is_copy(op) or len(shape) != 2 or len(op.strides) < 2 or op.strides[0] == op.strides[1]:
        return None
    return _product_of(shape, run)


def _product_of(shape: Shape, run: RunContext) -> Facts | None:
    """The product that takes this matrix, in either orientation."""
    either = {shape, shape[::-1]}
    products = (other for other in run.others if other.category == "gemm")
    found = next((other for other in products if either & set(shapes_in(other.dims))), None)
    return None if found is None else {"product": found.name}


def _weight_cast(op: OpFacts, run: RunContext) -> Facts | None:
    """A conversion of a matrix that a product of the run takes, in training."""
    shape, kinds = _first(op), [kind for kind in op.types[:2] if kind]
    if not run.training or not is_copy(op) or len(shape) != 2 or len(set(kinds)) < 2:
        return None
    return _product_of(shape, run)


def _scores_cast(op: OpFacts, run: RunContext) -> Facts | None:
    """A conversion of the shape that a softmax over scores works on."""
    shape, kinds = _first(op), [kind for kind in op.types[:2] if kind]
    if not is_copy(op) or len(set(kinds)) < 2:
        return None
    found = next((other for other in run.others if shape and scores(other) == shape), None)
    return None if found is None else {"softmax": found.name}


def _repeated_heads(op: OpFacts, run: RunContext) -> Facts | None:
    """A copy of key heads to as many as the query heads of an attention: B, H_KV, repeats, N, D."""
    shape = _first(op)
    if not is_copy(op) or len(shape) != 5 or shape[2] < 2:
        return None
    for other in run.others:
        query = first_shape(other)
        if other.category.startswith("sdpa") and len(query) == 4 and shape[1] * shape[2] in query[1:3]:
            return {"repeats": shape[2], "attention": other.name}
    return None


def _rms_part(op: OpFacts, run: RunContext, names: tuple[str, ...], partner: str) -> bool:
    shape = _first(op)
    found = _partner(shape, run, re.compile(rf"::{partner}$")) if op.name.endswith(names) else None
    return found is not None and any(other.name.endswith("::rsqrt") for other in run.others)


def _rms_mean(op: OpFacts, run: RunContext) -> Facts | None:
    """A mean, with a square of the same shape and a reciprocal root in the run."""
    return {} if _rms_part(op, run, ("::mean",), "(pow|square)") else None


def _rms_square(op: OpFacts, run: RunContext) -> Facts | None:
    """A square, with a mean of the same shape and a reciprocal root in the run."""
    return {} if _rms_part(op, run, ("::pow", "::square"), "mean") else None


def _rotary_part(op: OpFacts, run: RunContext) -> Facts | None:
    """A negation of the shape of both halves that a concatenation of the run joins."""
    shape = _first(op)
    if not op.name.endswith("::neg") or len(shape) < 3:
        return None
    return {} if any(o.name.endswith("::cat") and shapes_in(o.dims) == [shape, shape] for o in run.others) else None


TRAITS = {
    "beside_conversion": Trait(_beside_conversion),
    "beside_addition": Trait(_beside_addition, ("addition",)),
    "before_quantisation": Trait(_before_quantisation, ("quantiser",)),
    "gemm_output": Trait(_gemm_output, ("product",)),
    "operand_copy": Trait(_operand_copy, ("product",)),
    "weight_cast": Trait(_weight_cast, ("product",)),
    "scores_cast": Trait(_scores_cast, ("softmax",)),
    "repeated_heads": Trait(_repeated_heads, ("repeats", "attention")),
    "rms_mean": Trait(_rms_mean),
    "rms_square": Trait(_rms_square),
    "rotary_part": Trait(_rotary_part),
}
