"""PyTorch's matrix products.  FLOPs 2·M·N·K (+ one per output for an added tensor), each element moved once.

``aten::linear``, ``aten::matmul`` and ``aten::einsum``-like wrappers call another product, which is counted; linear and
matmul have a model for the case that nothing below them was recorded.
"""

from functools import partial

from tracelens_tui.perf.dtypes import dtype_of_code
from tracelens_tui.perf.operands import Tensor, matrix, tensor, value
from tracelens_tui.perf.parse import as_float, as_int
from tracelens_tui.perf.products import (
    Extras,
    Gemm,
    Product,
    filled,
    flat,
    narrow_output,
    operand_precision,
    product_cost,
)
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape


def _product(a: Tensor | None, b: Tensor | None) -> Product | None:
    """Return the product of two matrices or two stacks of them, None if the shapes do not fit."""
    if a is None or b is None or len(a.shape) != len(b.shape):
        return None
    (*batch_a, m, k), (*batch_b, k_b, n) = a.shape, b.shape
    if k != k_b or batch_a != batch_b:
        return None
    return Product(m, n, k, batch_a[0] if batch_a else 1)


def _multiply(args: OpArgs, rank: int, *, first: int = 0, extras: Extras | None = None) -> OpCost | None:
    """The product of the operands at ``first`` and after it."""
    a, b = matrix(args, first, rank), matrix(args, first + 1, rank)
    return product_cost(args, _product(a, b), a, b, extras or Extras())


def _add_multiply(args: OpArgs, rank: int) -> OpCost | None:
    return _multiply(args, rank, first=1, extras=Extras(bias=_added(args)))


def _int_mm(args: OpArgs) -> OpCost | None:
    return _multiply(args, 2, extras=Extras(out=dtype_of_code(3)))


def _vector(args: OpArgs, *, first: int = 0) -> OpCost | None:
    """A matrix times a vector: read once and used once, it runs on the vector unit."""
    a, x = matrix(args, first), matrix(args, first + 1, 1)
    fits = a is not None and x is not None and a.shape[1] == x.shape[0]
    product = Product(a.shape[0], 1, a.shape[1]) if a is not None and fits else None
    bias = _added(args) if first else None
    return product_cost(args, product, a, x, Extras(bias=bias, unit="vector"))


def _dot(args: OpArgs) -> OpCost | None:
    a, b = matrix(args, 0, 1), matrix(args, 1, 1)
    fits = a is not None and b is not None and a.shape == b.shape
    product = Product(1, 1, a.shape[0]) if a is not None and fits else None
    return product_cost(args, product, a, b, Extras(unit="vector"))


def _scaled_mm(args: OpArgs) -> OpCost | None:
    """(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype).  Row and block scales count as read, scalars not.

    The output type is the recorded ``out_dtype``, else 2 bytes for 8-bit operands.  Packed fp4 holds 2 values of K.
    """
    return _scaled(args, scales=(2, 3), bias=4, code=6)


def _scaled(args: OpArgs, *, scales: tuple[int, ...], bias: int, code: int) -> OpCost | None:
    a, b = matrix(args, 0), matrix(args, 1)
    product = _product(a, b)
    if product is None or a is None:
        return None
    packed = a.dtype.values if a.dtype else 1
    product = Product(product.m, product.n, product.k * packed)
    number = as_int(value(args, code))
    out = dtype_of_code(number) if number is not None else narrow_output(a.dtype)
    extras = Extras(bias=tensor(args, bias), read=[filled(args, index) for index in scales], out=out)
    return product_cost(args, product, a, b, extras)


def _added(args: OpArgs) -> Tensor | None:
    """Return argument 0 as the tensor that is added, None where beta is 0 and it is neither read nor added."""
    return None if as_float(value(args, 3)) == 0 else tensor(args, 0)


def _matmul(args: OpArgs) -> OpCost | None:
    """Vectors, matrices or stacks of them: each stack is read once, however it broadcasts."""
    a, b = tensor(args, 0), tensor(args, 1)
    if a is None or b is None or not a.shape or not b.shape:
        return None
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    (*batch_a, m, k), (*batch_b, k_b, n) = left, right
    batch = _broadcast_size(tuple(batch_a), tuple(batch_b))
    return product_cost(args, Product(m, n, k, batch) if batch is not None and k == k_b else None, a, b)


def _broadcast_size(one: Shape, other: Shape) -> int | None:
    """How many matrices two stacks make together, None if they do not broadcast."""
    size = 1
    for index in range(1, max(len(one), len(other)) + 1):
        x, y = (shape[-index] if index <= len(shape) else 1 for shape in (one, other))
        if x != y and 1 not in {x, y}:
            return None
        size *= y if x == 1 else x
    return size


def _int4_weights(args: OpArgs) -> OpCost | None:
    """``_weight_int4pack_mm(self, mat2, group size, scales and zeros)``: the last, K/g × N × 2, tells N."""
    a, b, scales = matrix(args, 0), tensor(args, 1), matrix(args, 3, 3)
    rows = flat(a)
    product = None if rows is None or scales is None else Product(rows[0], scales.shape[1], rows[1])
    return product_cost(args, product, a, b, Extras(read=[scales]))


def _bnb_gemv(args: OpArgs) -> OpCost | None:
    """``gemv_4bit(A, B, shape of B, absmax, code, block size)``: one row times 4-bit weights N×K."""
    a, b, scales = tensor(args, 0), tensor(args, 1), tensor(args, 3)
    rows, shape = flat(a), _two(value(args, 2))
    product = None if rows is None or shape is None or shape[1] != rows[1] else Product(rows[0], shape[0], rows[1])
    precision = None if a is None else operand_precision(args, a.dtype)
    return product_cost(args, product, a, b, Extras(read=[scales], precision=precision, unit="vector"))


def _two(text: str) -> tuple[int, int] | None:
    numbers = [as_int(part) for part in text.strip("[]() ").split(",")]
    match numbers:
        case [int() as n, int() as k]:
            return n, k
    return None


MODELS = (
    OpModel(("aten::mm",), "GEMM", "GEMM", partial(_multiply, rank=2)),
    OpModel(("aten::addmm", "aten::_addmm_activation"), "GEMM", "GEMM", partial(_add_multiply, rank=2)),
    OpModel(("aten::bmm",), "GEMM", "GEMM", partial(_multiply, rank=3)),
    OpModel(("aten::baddbmm", "aten::baddbmm_"), "GEMM", "GEMM", partial(_add_multiply, rank=3)),
    OpModel(("aten::_int_mm",), "GEMM", "GEMM", _int_mm),
    OpModel(("aten::_scaled_mm",), "GEMM", "GEMM", _scaled_mm),
    OpModel(("aten::mv",), "GEMM", "GEMM", _vector),
    OpModel(("aten::addmv", "aten::addmv_"), "GEMM", "GEMM", partial(_vector, first=1)),
    OpModel(("aten::dot", "aten::vdot"), "GEMM", "GEMM", _dot),
    OpModel(("aten::linear",), "GEMM", "GEMM", Gemm(rows_of_b="N", bias=2), leaf_only=True),
    OpModel(("aten::matmul",), "GEMM", "GEMM", _matmul, leaf_only=True),
    OpModel(("aten::_weight_int8pack_mm",), "GEMM", "GEMM", Gemm(rows_of_b="N", scales=(2,))),
    OpModel(("aten::_weight_int4pack_mm",), "GEMM", "GEMM", _int4_weights),
    OpModel(("bitsandbytes::gemv_4bit",), "GEMM", "GEMM", _bnb_gemv),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``, bitsandbytes as in its ``_ops.py``."""
