"""Convolutions of any rank: grouped, depthwise, strided, dilated, transposed; forward and backward.

    FLOPs forward   2 · elements · Π weight[1:]  (+ one per output for a bias, and for a tensor that is added)
    FLOPs backward  the same once for the gradient of the input and once for that of the weight, as far as the output
                    mask asks for them, and one per output for the gradient of the bias
    bytes forward   input + weight (+ bias, + added tensor) + output
    bytes backward  each of the two gradients is a product of its own: two operands and its result

``elements`` are those of the output, and of the input where the convolution is transposed.  Groups need no factor: the
weight has only a group's channels.  The output has (n + 2·pad − dil·(k−1) − 1) // stride + 1 positions, transposed
(n−1)·stride − 2·pad + dil·(k−1) + output_pad + 1.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.dtypes import matrix_precision
from tracelens_tui.perf.operands import Tensor, as_text, moved, tensor, total, value
from tracelens_tui.perf.parse import as_bool, as_bools, as_int, as_ints
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape
from tracelens_tui.perf.work import flags_text

_TF32_KERNEL = re.compile(r"tf32|s1688(?:fprop|dgrad|wgrad|gemm)(?!_(?:bf16|f16|fp16))")


@dataclass(frozen=True, slots=True)
class _Places:
    """Where an op keeps its arguments; None where it has none.  Input and weight are the first two."""

    stride: int
    padding: int
    dilation: int | None = None
    groups: int | None = None
    bias: int | None = None
    added: int | None = None
    transposed: int | None = None  # a recorded flag
    output_padding: int | None = None
    always_transposed: bool = False


@dataclass(frozen=True, slots=True)
class _Window:
    """What one call recorded, an entry per spatial dimension."""

    stride: Shape
    padding: Shape
    dilation: Shape
    output_padding: Shape
    transposed: bool
    groups: int


def _forward(args: OpArgs, places: _Places) -> OpCost | None:
    x, w = tensor(args, 0), tensor(args, 1)
    if x is None or w is None or _complex(x, w):
        return None
    window = _window(args, places, x.shape, w.shape)
    shape = None if window is None else _output(x.shape, w.shape, window)
    if window is None or shape is None:
        return None
    out = Tensor(shape, x.dtype)
    bias, added = (None if at is None else tensor(args, at) for at in (places.bias, places.added))
    extra = sum(out.numel for operand in (bias, added) if operand is not None)
    return OpCost(
        flops=_product(x, w, out, transposed=window.transposed) + extra,
        bytes_read=moved(x, w, bias, added),
        bytes_written=out.bytes,
        unit="matrix",
        precision=_precision(args, x),
        params=_params(x, w, window, bias=bias is not None),
    )


def _backward(args: OpArgs, first: tuple[int, int, int], mask_at: int, transposed_at: int | None) -> OpCost | None:
    """Gradients of a convolution; ``first`` are the places of the output's gradient, the input and the weight."""
    grad, x, w = (tensor(args, index) for index in first)
    mask = as_bools(value(args, mask_at))
    transposed = False if transposed_at is None else as_bool(value(args, transposed_at))
    if grad is None or x is None or w is None or mask is None or len(mask) < 2 or transposed is None:
        return None
    if not len(grad.shape) == len(x.shape) == len(w.shape) >= 3 or _complex(grad, x, w):
        return None
    of_input, of_weight = mask[:2]
    of_bias = len(mask) > 2 and mask[2]
    bias = Tensor((grad.shape[1],), w.dtype) if of_bias else None
    return OpCost(
        flops=_product(x, w, grad, transposed=transposed) * (of_input + of_weight) + grad.numel * of_bias,
        bytes_read=total(moved(grad, w) if of_input else 0, moved(grad, x) if of_weight else 0),
        bytes_written=total(x.bytes if of_input else 0, w.bytes if of_weight else 0, moved(bias)),
        unit="matrix",
        precision=_precision(args, x),
        params={
            "convNd": f"conv{len(x.shape) - 2}d",
            "input_shape": as_text(x.shape),
            "filter_shape": as_text(w.shape),
            "transposed_conv": transposed,
            "output_mask": flags_text(mask),
        },
    )


def _product(x: Tensor, w: Tensor, out: Tensor, *, transposed: bool) -> int:
    return 2 * (x if transposed else out).numel * math.prod(w.shape[1:])


def _window(args: OpArgs, places: _Places, x: Shape, w: Shape) -> _Window | None:
    """Return what the call recorded, None where something is missing or input and weight do not go together."""
    rank = len(w) - 2
    if len(x) != len(w) or rank < 1:
        return None
    transposed = places.always_transposed
    if places.transposed is not None:
        recorded = as_bool(value(args, places.transposed))
        if recorded is None:
            return None
        transposed = recorded
    stride = _sizes(args, places.stride, rank, 1)
    padding = _sizes(args, places.padding, rank, 0)
    dilation = (1,) * rank if places.dilation is None else _sizes(args, places.dilation, rank, 1)
    extra = (0,) * rank
    if transposed and places.output_padding is not None:
        extra = _sizes(args, places.output_padding, rank, 0)
    groups = _groups(args, places, x[1], w, transposed=transposed)
    if stride is None or padding is None or dilation is None or extra is None or groups is None:
        return None
    return _Window(stride, padding, dilation, extra, transposed, groups)


def _sizes(args: OpArgs, index: int, rank: int, least: int) -> Shape | None:
    """Return a recorded size per spatial dimension; one number stands for all of them."""
    text = value(args, index)
    single = as_int(text)
    sizes = as_ints(text) if single is None else (single,)
    if sizes is None or len(sizes) not in {1, rank} or min(sizes) < least:
        return None
    return sizes * rank if len(sizes) == 1 else sizes


def _groups(args: OpArgs, places: _Places, channels: int, w: Shape, *, transposed: bool) -> int | None:
    """Return the number of groups, None where it is unknown or does not divide the channels.

    Ops without such an argument (depthwise kernels) have as many as the channels say.
    """
    if places.groups is None:
        groups = 1 if transposed or not w[1] else channels // w[1]
    else:
        groups = as_int(value(args, places.groups)) or 0
    if groups < 1 or w[0] % groups or channels != (w[0] if transposed else w[1] * groups):
        return None
    return groups


def _output(x: Shape, w: Shape, window: _Window) -> Shape | None:
    """Return the shape of the output, None where the window does not fit into the input."""
    positions: list[int] = []
    for axis, (n, k) in enumerate(zip(x[2:], w[2:], strict=True)):
        stride, padding = window.stride[axis], window.padding[axis]
        reach = window.dilation[axis] * (k - 1)
        if window.transposed:
            positions.append((n - 1) * stride - 2 * padding + reach + window.output_padding[axis] + 1)
        else:
            positions.append((n + 2 * padding - reach - 1) // stride + 1)
    if min(positions) < 0:
        return None
    return (x[0], w[1] * window.groups if window.transposed else w[0], *positions)


def _complex(*tensors: Tensor) -> bool:
    """Whether an operand is complex: such a product is four real ones, not modelled."""
    return any(t.dtype is not None and t.dtype.kind == "complex" for t in tensors)


def _precision(args: OpArgs, x: Tensor) -> str | None:
    """Precision of the operands; fp32 counts as TF32 where a kernel's name proves it."""
    precision = None if x.dtype is None else matrix_precision(x.dtype)
    if precision == "fp32" and any(_TF32_KERNEL.search(kernel) for kernel in args.kernels):
        return "tf32"
    return precision


def _params(x: Tensor, w: Tensor, window: _Window, *, bias: bool) -> Mapping[str, int | float | str | bool]:
    return {
        "convNd": f"conv{len(window.stride)}d",
        "input_shape": as_text(x.shape),
        "filter_shape": as_text(w.shape),
        "input_stride": as_text(x.strides),
        "weight_stride": as_text(w.strides),
        "bias": bias,
        "stride": as_text(window.stride),
        "padding": as_text(window.padding),
        "dilation": as_text(window.dilation),
        "transposed_conv": window.transposed,
        "output_padding": as_text(window.output_padding),
        "groups": window.groups,
    }


def _conv(places: _Places, *names: str) -> OpModel:
    return OpModel(names, "CONV", "CONV_fwd", partial(_forward, places=places))


def _gradients(first: tuple[int, int, int], mask: int, transposed: int | None, *names: str) -> OpModel:
    cost = partial(_backward, first=first, mask_at=mask, transposed_at=transposed)
    return OpModel(names, "CONV", "CONV_bwd", cost)


MODELS = (
    _conv(
        _Places(3, 4, 5, groups=8, bias=2, transposed=6, output_padding=7),
        "aten::convolution",
        "aten::_convolution",
        "aten::convolution_overrideable",
    ),
    _conv(_Places(3, 2, 4, groups=5), "aten::cudnn_convolution"),
    _conv(_Places(4, 2, 5, groups=6, output_padding=3, always_transposed=True), "aten::cudnn_convolution_transpose"),
    _conv(_Places(3, 4, 5, groups=6, bias=2), "aten::cudnn_convolution_relu", "aten::miopen_convolution_relu"),
    _conv(
        _Places(5, 6, 7, groups=8, bias=4, added=2),
        "aten::cudnn_convolution_add_relu",
        "aten::miopen_convolution_add_relu",
    ),
    _conv(_Places(4, 3, 5, groups=6, bias=2), "aten::miopen_convolution", "aten::miopen_depthwise_convolution"),
    _conv(
        _Places(5, 3, 6, groups=7, bias=2, output_padding=4, always_transposed=True),
        "aten::miopen_convolution_transpose",
    ),
    _conv(
        _Places(4, 5, 6, bias=3),
        "aten::_conv_depthwise2d",
        "aten::conv_depthwise3d",
        "aten::slow_conv_dilated2d",
        "aten::slow_conv_dilated3d",
    ),
    _conv(_Places(4, 5, bias=3), "aten::_slow_conv2d_forward", "aten::slow_conv3d_forward"),
    _conv(
        _Places(4, 5, 7, bias=3, output_padding=6, always_transposed=True),
        "aten::slow_conv_transpose2d",
        "aten::slow_conv_transpose3d",
    ),
    _conv(_Places(4, 3, groups=None, bias=2), "ConvBias_", "ConvBiasReLU_"),
    _gradients((0, 1, 2), 10, 7, "aten::convolution_backward", "aten::convolution_backward_overrideable"),
    _gradients((1, 0, 2), 10, None, "aten::cudnn_convolution_backward"),
    _gradients((1, 0, 2), 9, None, "aten::miopen_convolution_backward", "aten::miopen_depthwise_convolution_backward"),
)
"""Argument positions as in PyTorch's ``native_functions.yaml`` and apex (``ConvBias_``: padding before stride)."""
