"""Make op arguments the way a trace records them."""

import json

from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpArgs

BF16, FP16, FP32, FP64 = "c10::BFloat16", "c10::Half", "float", "double"


def args(name, dims, types, concrete=(), strides=None, kernels=()) -> OpArgs:
    """Arguments from Python lists; a single type string stands for every tensor."""
    if isinstance(types, str):
        types = [types if shape else "Scalar" for shape in dims]
    return op_args(
        name,
        json.dumps(dims),
        json.dumps(types),
        "" if strides is None else json.dumps(strides),
        json.dumps(list(concrete)),
        kernels,
    )


def figures(name, dims, types, concrete=(), kernels=()) -> tuple[int | None, int | None, int | None]:
    """FLOPs, bytes read and bytes written that the built-in models answer; fails where they have no answer."""
    cost = cost_of(args(name, dims, types, concrete, kernels=kernels))
    assert cost is not None
    return cost.flops, cost.bytes_read, cost.bytes_written
