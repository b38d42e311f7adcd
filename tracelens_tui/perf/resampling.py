"""Ops that change the size of an image or a sequence: interpolation, padding by reflection or replication, sampling.

Bytes: input read, result written.  FLOPs: one per output element for the nearest neighbour and for padding (TraceLens),
otherwise a multiplication and an addition per neighbour: 2 · 2^d for linear interpolation in d dimensions, 2 · 16 for
bicubic.  With antialiasing the number of neighbours follows the scale and is unknown.  A backward op does as many per
element of the gradient and writes the input's.
"""

import math
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, tensor, value
from tracelens_tui.perf.parse import as_floats, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import vector

_FAMILY, _CATEGORY = "elementwise", "elementwise"
_SAMPLER_OPS = {0: 4, 1: 1, 2: 16}  # neighbours by the recorded mode: bilinear, nearest, bicubic


@dataclass(frozen=True, slots=True)
class _Upsample:
    """``(self, output_size, [align_corners], scales…)``; the size may be missing where a list of scales is recorded."""

    dims: int
    per_output: int | None
    scales_at: int

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where neither size nor scales say how large the result is."""
        x = tensor(args, 0)
        if x is None or len(x.shape) != self.dims + 2:
            return None
        size = _ints(args, 1, self.dims)
        scales = as_floats(value(args, self.scales_at))
        if size is None and scales is not None and len(scales) == self.dims and min(scales) > 0:
            size = tuple(math.floor(n * scale) for n, scale in zip(x.shape[2:], scales, strict=True))
        if size is None:
            return None
        out = Tensor((*x.shape[:2], *size), x.dtype)
        flops = None if self.per_output is None else self.per_output * out.numel
        return vector(flops, [x], [out], x.dtype, _params(x, out.shape))


@dataclass(frozen=True, slots=True)
class _UpsampleBackward:
    """``(grad_output, output_size, input_size, …)``."""

    dims: int
    per_output: int | None

    def __call__(self, args: OpArgs) -> OpCost | None:
        """Return the cost, None where the size of the input was not recorded."""
        grad, size = tensor(args, 0), _ints(args, 2, self.dims + 2)
        if grad is None or size is None:
            return None
        flops = None if self.per_output is None else self.per_output * grad.numel
        return vector(flops, [grad], [elements(math.prod(size), grad.dtype)], grad.dtype, _params(grad, size))


def _pad(args: OpArgs, *, dims: int) -> OpCost | None:
    """``(self, padding)``: two numbers per dimension, the last dimension first."""
    x, padding = tensor(args, 0), as_ints(value(args, 1))
    if x is None or padding is None or len(padding) != 2 * dims or len(x.shape) < dims:
        return None
    pairs = [padding[at] + padding[at + 1] for at in range(0, 2 * dims, 2)]
    spatial = [n + both for n, both in zip(x.shape[-dims:], reversed(pairs), strict=True)]
    if min(spatial) < 0:
        return None
    out = Tensor((*x.shape[:-dims], *spatial), x.dtype)
    return vector(out.numel, [x], [out], x.dtype, _params(x, out.shape))


def _pad_backward(args: OpArgs) -> OpCost | None:
    """``(grad_output, self, padding)``."""
    grad, x = tensor(args, 0), tensor(args, 1)
    if grad is None or x is None:
        return None
    return vector(grad.numel, [grad], [x], x.dtype, _params(grad, x.shape))


def _sample(args: OpArgs) -> OpCost | None:
    """``(input, grid, interpolation_mode, …)``: the input's value at each position of the grid."""
    x, grid, mode = tensor(args, 0), tensor(args, 1), as_int(value(args, 2))
    neighbours = None if mode is None else _SAMPLER_OPS.get(mode)
    if x is None or grid is None or neighbours is None or len(x.shape) < 3 or len(grid.shape) != len(x.shape):
        return None
    if len(x.shape) == 5 and neighbours == 4:
        neighbours = 8
    out = Tensor((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    per_output = 1 if neighbours == 1 else 2 * neighbours
    return vector(per_output * out.numel, [x, grid], [out], x.dtype, _params(x, out.shape))


def _ints(args: OpArgs, index: int, length: int) -> Shape | None:
    """Return a recorded list of so many sizes."""
    sizes = as_ints(value(args, index))
    return sizes if sizes is not None and len(sizes) == length and min(sizes) >= 0 else None


def _params(x: Tensor, out: Shape) -> dict[str, int | float | str | bool]:
    return {
        "op_shape": as_text(x.shape),
        "out_shape": as_text(out),
        "dtype_in": x.dtype.name if x.dtype else "",
    }


def _interpolation(dims: int, per_output: int | None, scales_at: int, *names: str) -> tuple[OpModel, OpModel]:
    """Return the models of an interpolation and of its backward op."""
    forward = tuple(f"aten::{name}" for name in names)
    backward = tuple(f"aten::{name}_backward" for name in names)
    return (
        OpModel(forward, _FAMILY, _CATEGORY, _Upsample(dims, per_output, scales_at)),
        OpModel(backward, _FAMILY, _CATEGORY, _UpsampleBackward(dims, per_output)),
    )


def _padding(dims: int) -> tuple[OpModel, OpModel]:
    kinds = (f"aten::reflection_pad{dims}d", f"aten::replication_pad{dims}d")
    return (
        OpModel(kinds, _FAMILY, _CATEGORY, partial(_pad, dims=dims)),
        OpModel(tuple(f"{name}_backward" for name in kinds), _FAMILY, _CATEGORY, _pad_backward),
    )


MODELS = (
    *_interpolation(1, 1, 2, "upsample_nearest1d", "_upsample_nearest_exact1d"),
    *_interpolation(2, 1, 2, "upsample_nearest2d", "_upsample_nearest_exact2d"),
    *_interpolation(3, 1, 2, "upsample_nearest3d", "_upsample_nearest_exact3d"),
    *_interpolation(1, 4, 3, "upsample_linear1d"),
    *_interpolation(2, 8, 3, "upsample_bilinear2d"),
    *_interpolation(3, 16, 3, "upsample_trilinear3d"),
    *_interpolation(2, 32, 3, "upsample_bicubic2d"),
    *_interpolation(2, None, 3, "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
    *_padding(1),
    *_padding(2),
    *_padding(3),
    OpModel(("aten::grid_sampler_2d", "aten::grid_sampler_3d"), _FAMILY, _CATEGORY, _sample),
)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
