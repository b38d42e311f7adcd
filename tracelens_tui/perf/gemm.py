"""Matrix products.  FLOPs 2·M·N·K (+ M·N for a bias), bytes A + B + output (+ bias), each element counted once.

Convention and values as TraceLens has them (bias add counted, every operand in its own element size).  ``aten::linear``
and ``aten::matmul`` have no model: the product below them is counted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracelens_tui.perf.dtypes import Dtype, dtype_of_code, matrix_precision
from tracelens_tui.perf.operands import Tensor, as_text, bytes_of, matrix, tensor, total, value
from tracelens_tui.perf.parse import as_float, as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

_TF32_KERNEL = re.compile(r"tf32|s1688gemm(?!_(?:bf16|f16|fp16))")


@dataclass(frozen=True, slots=True)
class _Product:
    """``batch`` times M×K by K×N."""

    batch: int
    m: int
    n: int
    k: int
    a: Tensor
    b: Tensor

    @property
    def flops(self) -> int:
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def outputs(self) -> int:
        return self.batch * self.m * self.n


def _product(a: Tensor | None, b: Tensor | None) -> _Product | None:
    """Return the product of two matrices or two stacks of them, None if the shapes do not fit."""
    if a is None or b is None or len(a.shape) != len(b.shape):
        return None
    (*batch_a, m, k), (*batch_b, k_b, n) = a.shape, b.shape
    if k != k_b or batch_a != batch_b:
        return None
    return _Product(batch_a[0] if batch_a else 1, m, n, k, a, b)


def _mm(args: OpArgs) -> OpCost | None:
    return _cost(args, _product(matrix(args, 0), matrix(args, 1)))


def _bmm(args: OpArgs) -> OpCost | None:
    return _cost(args, _product(matrix(args, 0, 3), matrix(args, 1, 3)))


def _addmm(args: OpArgs) -> OpCost | None:
    return _cost(args, _product(matrix(args, 1), matrix(args, 2)), _added(args))


def _baddbmm(args: OpArgs) -> OpCost | None:
    return _cost(args, _product(matrix(args, 1, 3), matrix(args, 2, 3)), _added(args))


def _int_mm(args: OpArgs) -> OpCost | None:
    return _cost(args, _product(matrix(args, 0), matrix(args, 1)), out=dtype_of_code(3))


def _mv(args: OpArgs) -> OpCost | None:
    return _cost(args, _matrix_vector(matrix(args, 0), matrix(args, 1, 1)), unit_is_vector=True)


def _addmv(args: OpArgs) -> OpCost | None:
    return _cost(args, _matrix_vector(matrix(args, 1), matrix(args, 2, 1)), _added(args), unit_is_vector=True)


def _matrix_vector(a: Tensor | None, x: Tensor | None) -> _Product | None:
    if a is None or x is None or a.shape[1] != x.shape[0]:
        return None
    return _Product(1, a.shape[0], 1, a.shape[1], a, x)


def _scaled_mm(args: OpArgs) -> OpCost | None:
    """(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype).  Row and block scales count as read, scalars not.

    The output type is the recorded ``out_dtype``, else 2 bytes for 8-bit operands.  Packed fp4 holds 2 values of K.
    """
    product = _product(matrix(args, 0), matrix(args, 1))
    if product is None:
        return None
    packed = product.a.dtype.values if product.a.dtype else 1
    product = _Product(1, product.m, product.n, product.k * packed, product.a, product.b)
    code = as_int(value(args, 6))
    out = dtype_of_code(code) if code is not None else _scaled_output(product.a.dtype)
    scales = [scale.bytes for scale in (tensor(args, 2), tensor(args, 3)) if scale is not None and scale.shape]
    return _cost(args, product, tensor(args, 4), out=out, extra_read=total(*scales))


def _scaled_output(operand: Dtype | None) -> Dtype | None:
    """bf16 for 8-bit operands, else the operands' own type."""
    return dtype_of_code(15) if operand is not None and operand.bytes == 1 else operand


def _added(args: OpArgs) -> Tensor | None:
    """Return argument 0 as the tensor that is added, None where beta is 0 and it is neither read nor added."""
    return None if as_float(value(args, 3)) == 0 else tensor(args, 0)


def _cost(
    args: OpArgs,
    product: _Product | None,
    bias: Tensor | None = None,
    *,
    out: Dtype | None = None,
    extra_read: int | None = 0,
    unit_is_vector: bool = False,
) -> OpCost | None:
    if product is None or any(t.dtype is not None and t.dtype.kind == "complex" for t in (product.a, product.b)):
        return None  # complex products are four real ones: not modelled
    read = total(product.a.bytes, product.b.bytes, 0 if bias is None else bias.bytes, extra_read)
    written = bytes_of(product.outputs, out if out is not None else product.a.dtype)
    return OpCost(
        flops=product.flops + (product.outputs if bias is not None else 0),
        bytes_read=read,
        bytes_written=written,
        unit="vector" if unit_is_vector else "matrix",
        precision=_precision(args, product.a.dtype),
        params=_params(product, has_bias=bias is not None),
    )


def _precision(args: OpArgs, operand: Dtype | None) -> str | None:
    """Precision of the operands; fp32 counts as TF32 where the kernel's name proves it."""
    if operand is None:
        return None
    precision = matrix_precision(operand)
    if precision == "fp32" and any(_TF32_KERNEL.search(kernel) for kernel in args.kernels):
        return "tf32"
    return precision


def _params(product: _Product, *, has_bias: bool) -> Mapping[str, int | float | str | bool]:
    return {
        "B": product.batch,
        "M": product.m,
        "N": product.n,
        "K": product.k,
        "bias": has_bias,
        "stride_A": as_text(product.a.strides),
        "stride_B": as_text(product.b.strides),
        "dtype_A": product.a.dtype.name if product.a.dtype else "",
        "dtype_B": product.b.dtype.name if product.b.dtype else "",
    }


MODELS = (
    OpModel(("aten::mm",), "GEMM", "GEMM", _mm),
    OpModel(("aten::addmm", "aten::_addmm_activation"), "GEMM", "GEMM", _addmm),
    OpModel(("aten::bmm",), "GEMM", "GEMM", _bmm),
    OpModel(("aten::baddbmm", "aten::baddbmm_"), "GEMM", "GEMM", _baddbmm),
    OpModel(("aten::_int_mm",), "GEMM", "GEMM", _int_mm),
    OpModel(("aten::_scaled_mm",), "GEMM", "GEMM", _scaled_mm),
    OpModel(("aten::mv",), "GEMM", "GEMM", _mv),
    OpModel(("aten::addmv", "aten::addmv_"), "GEMM", "GEMM", _addmv),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
