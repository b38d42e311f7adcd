"""The cost of a matrix product: 2·B·M·N·K operations, every operand read once, the result written once.

:class:`Gemm` describes where an op keeps its operands, so that each op of a library is one line of a table.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracelens_tui.perf.dtypes import Dtype, dtype_of, dtype_of_code, matrix_precision
from tracelens_tui.perf.operands import Tensor, as_text, bytes_of, moved, tensor, total, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.transposition import transposition
from tracelens_tui.perf.types import OpArgs, OpCost, Unit

Params = dict[str, int | float | str | bool]

BF16 = dtype_of("bfloat16")

_TF32_KERNEL = re.compile(r"tf32|s1688gemm(?!_(?:bf16|f16|fp16))")


@dataclass(frozen=True, slots=True)
class Product:
    """``batch`` times M×K by K×N."""

    m: int
    n: int
    k: int
    batch: int = 1

    @property
    def flops(self) -> int:
        """Two operations per multiplication and addition."""
        return 2 * self.batch * self.m * self.n * self.k

    @property
    def outputs(self) -> int:
        """Elements of the result."""
        return self.batch * self.m * self.n


@dataclass(frozen=True, slots=True)
class Extras:
    """What a product has besides its two operands."""

    bias: Tensor | None = None  # read, and one addition per output
    read: Sequence[Tensor | None] = ()  # scales and the like
    out: Dtype | None = None  # None: the type of A
    precision: str | None = None  # None: that of A
    unit: Unit = "matrix"


_PLAIN = Extras()


def product_cost(
    args: OpArgs, product: Product | None, a: Tensor | None, b: Tensor | None, extras: Extras = _PLAIN
) -> OpCost | None:
    """Return the cost of a product of ``a`` and ``b``, None without one.

    Complex products, each of which is four real ones, have no answer.
    """
    if product is None or a is None or b is None:
        return None
    if any(operand.dtype is not None and operand.dtype.kind == "complex" for operand in (a, b)):
        return None
    bias = extras.bias
    return OpCost(
        flops=product.flops + (0 if bias is None else product.outputs),
        bytes_read=total(moved(a, b), 0 if bias is None else bias.bytes, moved(*extras.read)),
        bytes_written=bytes_of(product.outputs, extras.out if extras.out is not None else a.dtype),
        unit=extras.unit,
        precision=extras.precision or operand_precision(args, a.dtype),
        params=_params(product, a, b, has_bias=bias is not None) | _transposed(args),
    )


def operand_precision(args: OpArgs, operand: Dtype | None) -> str | None:
    """Return the precision of an operand's type; fp32 counts as TF32 where the kernel's name proves it."""
    if operand is None:
        return None
    precision = matrix_precision(operand)
    if precision == "fp32" and any(_TF32_KERNEL.search(kernel) for kernel in args.kernels):
        return "tf32"
    return precision


def _transposed(args: OpArgs) -> Params:
    letters = transposition(args.kernels)
    return {} if letters is None else {"transpose": letters}


def _params(product: Product, a: Tensor, b: Tensor, *, has_bias: bool) -> Params:
    return {
        "B": product.batch,
        "M": product.m,
        "N": product.n,
        "K": product.k,
        "bias": has_bias,
        "stride_A": as_text(a.strides),
        "stride_B": as_text(b.strides),
        "dtype_A": a.dtype.name if a.dtype else "",
        "dtype_B": b.dtype.name if b.dtype else "",
    }


def narrow_output(operand: Dtype | None) -> Dtype | None:
    """Return what a product of 8-bit operands gives where the op does not say: bf16; else the operands' own type."""
    return BF16 if operand is not None and operand.bytes == 1 else operand


def flat(found: Tensor | None) -> tuple[int, int] | None:
    """Return (rows, columns) of a tensor whose last dimension is contracted; None below two dimensions."""
    if found is None or len(found.shape) < 2:
        return None
    return math.prod(found.shape[:-1]), found.shape[-1]


@dataclass(frozen=True, slots=True)
class Gemm:
    """Where an op keeps A (its leading dimensions are rows), B and the rest; call it with the arguments.

    The result has the type of the recorded output tensor, of the recorded type number, or else ``otherwise``.
    ``packed`` values of K lie in one element of each operand (2 for fp4 pairs in bytes).
    """

    a: int = 0
    b: int = 1
    rows_of_b: Literal["K", "N"] = "K"  # B is K×N, or N×K as weights are stored
    bias: int | None = None
    scales: tuple[int, ...] = ()
    out: int | None = None  # position of the output tensor
    out_code: int | None = None  # position of the output's type number
    otherwise: Literal["operand", "narrow", "bf16", "int32"] = "operand"
    packed: int = 1
    precision: str | None = None

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where the shapes do not say or do not fit."""
        a, b = tensor(args, self.a), tensor(args, self.b)
        rows, weights = flat(a), b.shape if b is not None else ()
        if a is None or rows is None or len(weights) != 2:
            return None
        m, k = rows[0], rows[1] * self.packed
        n, k_b = (weights[1], weights[0]) if self.rows_of_b == "K" else weights
        fits = k == k_b * self.packed
        extras = Extras(
            bias=None if self.bias is None else filled(args, self.bias),
            read=[filled(args, index) for index in self.scales],
            out=self._out(args, a.dtype),
            precision=self.precision,
        )
        return product_cost(args, Product(m, n, k) if fits else None, a, b, extras)

    def _out(self, args: OpArgs, operand: Dtype | None) -> Dtype | None:
        given = None if self.out is None else tensor(args, self.out)
        if given is not None and given.dtype is not None:
            return given.dtype
        code = None if self.out_code is None else as_int(value(args, self.out_code))
        if code is not None:
            return dtype_of_code(code)
        kinds = {"narrow": narrow_output(operand), "bf16": BF16, "int32": dtype_of("int")}
        return kinds.get(self.otherwise, operand)


def filled(args: OpArgs, index: int) -> Tensor | None:
    """Return the tensor at a position unless it is a single number or, as a stand-in for none, has no elements."""
    found = tensor(args, index)
    return found if found is not None and found.shape and found.numel else None
