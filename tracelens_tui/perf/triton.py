"""Kernels that torch.compile generates: ``triton_poi_fused_…`` pointwise, ``triton_red_…`` and ``triton_per_…`` reductions.

The call records the kernel's arguments: its buffers with their shapes, then the problem sizes.  Bytes: every buffer
once, the least that can move; the trace does not tell which buffer is written in place, read in part or read twice.
FLOPs: the problem size times the operations per element of the ops that the name lists.
"""

import math
import re

from tracelens_tui.perf.operands import as_text, moved, tensor, type_name, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

_NAME = re.compile(r"triton_(?:poi|red|per)_fused_(.+?)_\d+")
_COSTS = {
    **dict.fromkeys(("add", "sub", "mul", "div", "relu", "mean", "sum", "abs", "neg", "ne", "eq", "lt", "gt"), 1),
    **dict.fromkeys(("pow", "sqrt", "rsqrt", "var", "reciprocal"), 2),
    **dict.fromkeys(("exp", "log", "sigmoid", "tanh", "silu"), 4),
    "gelu": 8,
}


def fused_kernel(args: OpArgs) -> OpCost | None:
    """The buffers come first, the problem sizes (integers) last."""
    name = _NAME.fullmatch(args.name)
    buffers = [found for found in (tensor(args, index) for index in range(len(args.dims))) if found is not None]
    sizes = [as_int(value(args, index)) for index in range(len(args.dims)) if type_name(args, index) == "Scalar"]
    problem = [size for size in sizes if size is not None and size > 0]
    if name is None or not buffers or not problem or len(problem) != len(sizes):
        return None
    operations = sum(_COSTS.get(token, 0) for token in name[1].split("_"))
    largest = max((buffer.dtype for buffer in buffers if buffer.dtype is not None), key=lambda d: d.bytes, default=None)
    return OpCost(
        flops=math.prod(problem) * operations,
        bytes_read=moved(*buffers),
        bytes_written=0,  # which of the buffers are written is not recorded; they are counted once above
        unit="vector",
        precision=None if largest is None else largest.precision,
        params={"fused": name[1], "op_shape": as_text(buffers[0].shape), "num_buffers": len(buffers)},
    )


MODELS = (
    OpModel(("triton_poi_fused_*", "triton_red_fused_*", "triton_per_fused_*"), "Triton", "triton", fused_kernel),
)
