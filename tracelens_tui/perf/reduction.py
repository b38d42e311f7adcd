"""Reductions and scans: one operation per element that is read (TraceLens's convention).

Bytes: the input read, one element written for each position that is kept, with its int64 index where the op answers one
(scans: as many as the input has).  TraceLens always counts a single result; here the recorded dims decide.  Sums of
integers are int64, tests are bool, norms of complex numbers real; an output tensor or a recorded dtype wins.
"""

import math
from dataclasses import dataclass

from tracelens_tui.perf.dtypes import Dtype, dtype_of, dtype_of_code
from tracelens_tui.perf.elementwise import Elementwise
from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_float, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import BOOL, INT64, UNKNOWN, position, vector

_REAL = {4: dtype_of("half"), 8: dtype_of("float"), 16: dtype_of("double")}
_INTEGERS = frozenset({"int", "bool"})


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Where a reduction keeps its arguments, and what it answers."""

    dims: int = 1
    full: int = 1  # a call with at most so many arguments reduces everything
    full_dtype_at: int | None = None  # a recorded ScalarType number in that form
    dtype_at: int | None = None  # and in the other
    result: Dtype | None = None  # a fixed type; None: that of the input
    sums: bool = False  # integers become int64
    real: bool = False  # complex becomes real
    results: int = 1
    indices: bool = False  # an int64 index with each result where dims are given

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost; the bytes are unknown where the dims were not recorded."""
        x = tensor(args, 0)
        if x is None:
            return None
        everything = len(args.dims) <= self.full
        if not everything and not args.concrete:
            return vector(x.numel, [x], [UNKNOWN], x.dtype, _params(x))
        dims = tuple(range(len(x.shape))) if everything else _dims(args, self.dims, len(x.shape))
        if dims is None:
            return None
        kept = math.prod(size for dim, size in enumerate(x.shape) if dim not in dims)
        dtype = self._type(args, x.dtype, everything=everything)
        index = elements(kept, INT64) if self.indices and not everything else None
        written = [elements(self.results * kept, dtype), index]
        return vector(x.numel, [x], written, x.dtype, {**_params(x), "num_output_elems": kept})

    def _type(self, args: OpArgs, own: Dtype | None, *, everything: bool) -> Dtype | None:
        last = len(args.dims) - 1
        out = tensor(args, last) if last > self.dims + 1 and not self.indices else None
        if out is not None:
            return out.dtype
        dtype_at = self.full_dtype_at if everything else self.dtype_at
        code = None if dtype_at is None else as_int(value(args, dtype_at))
        if code is not None:
            return dtype_of_code(code)
        if self.result is not None or own is None:
            return self.result
        if self.real and own.kind == "complex":
            return _REAL.get(own.bytes)
        return INT64 if self.sums and own.kind in _INTEGERS else own


def _dims(args: OpArgs, index: int, rank: int) -> tuple[int, ...] | None:
    """Return the dims that a call reduces, all where it names none, None where one is none of the input's."""
    text = value(args, index)
    one = as_int(text)
    recorded = as_ints(text) if one is None else (one,)
    if recorded is None:
        return None if text else tuple(range(rank))
    found = [position(dim, rank) for dim in recorded]
    known = tuple(dim for dim in found if dim is not None)
    if len(known) != len(found):
        return None
    return known or tuple(range(rank))


def _extreme(args: OpArgs) -> OpCost | None:
    """``(self)``, ``(self, dim, keepdim)``, or the larger or smaller of two tensors: ``(self, other)``."""
    if tensor(args, 1) is not None:
        return Elementwise(2, out=2)(args)
    return _Reduction(indices=True)(args)


def _linalg_norm(args: OpArgs) -> OpCost | None:
    """``(self, ord, dim, keepdim, dtype)``; norms of matrices by their singular values are no reduction."""
    x, order = tensor(args, 0), value(args, 1)
    if x is None:
        return None
    dims = as_ints(value(args, 2))
    of_matrix = len(x.shape if dims is None else dims) == 2
    if of_matrix and order and (order == "nuc" or as_float(order) in {2.0, -2.0}):
        return None
    return _Reduction(dims=2, dtype_at=4, real=True)(args)


@dataclass(frozen=True, slots=True)
class _Scan:
    """``(self, dim, [dtype,] …)``: a result for every element."""

    dtype_at: int | None = None
    sums: bool = False
    indices: bool = False

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where no input was recorded."""
        x = tensor(args, 0)
        if x is None:
            return None
        in_place = args.name.endswith("_")
        out = None if self.dtype_at is None else tensor(args, self.dtype_at + 1)
        code = None if self.dtype_at is None or in_place else as_int(value(args, self.dtype_at))
        dtype = x.dtype
        if out is not None:
            dtype = out.dtype
        elif code is not None:
            dtype = dtype_of_code(code)
        elif self.sums and not in_place and dtype is not None and dtype.kind in _INTEGERS:
            dtype = INT64
        index = elements(x.numel, INT64) if self.indices else None
        return vector(x.numel, [x], [elements(x.numel, dtype), index], x.dtype, _params(x))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "num_input_elems": x.numel, "dtype_in": x.dtype.name if x.dtype else ""}


def _model(text: str, cost: _Reduction | _Scan) -> OpModel:
    return OpModel(tuple(f"aten::{name}" for name in text.split()), "Reduce", "reduce", cost)


MODELS = (
    _model("sum prod", _Reduction(full=2, full_dtype_at=1, dtype_at=3, sums=True)),
    _model("mean", _Reduction(full=2, full_dtype_at=1, dtype_at=3)),
    _model("nansum", _Reduction(dtype_at=3, sums=True)),
    _model("amax amin logsumexp", _Reduction()),
    _model("aminmax _aminmax", _Reduction(results=2)),
    _model("std var", _Reduction(full=2, real=True)),
    _model("std_mean var_mean", _Reduction(full=2, results=2)),
    _model("norm", _Reduction(dims=2, full=3, dtype_at=4, real=True)),
    _model("linalg_vector_norm", _Reduction(dims=2, dtype_at=4, real=True)),
    _model("any all", _Reduction(full=2, result=BOOL)),
    _model("argmax argmin count_nonzero", _Reduction(result=INT64)),
    OpModel(("aten::max", "aten::min"), "Reduce", "reduce", _extreme),
    OpModel(("aten::linalg_norm",), "Reduce", "reduce", _linalg_norm),
    _model("cumsum cumsum_ cumprod cumprod_", _Scan(dtype_at=2, sums=True)),
    _model("logcumsumexp", _Scan()),
    _model("cummax cummin", _Scan(indices=True)),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
