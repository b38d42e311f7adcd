"""Kernels that torch.compile makes: ``triton_poi_fused_…`` pointwise, ``triton_red_…`` and ``triton_per_…`` reductions.

A call records the kernel's arguments: its buffers with their shapes, then the problem sizes (outer to inner).

FLOPs = elements of the problem × operations per element of the ops in the name (TraceLens's table: 1 for arithmetic and
sums, 2 for powers and roots, 4 for exponentials, 8 for gelu, none for the rest; each op once, for a name has it once).

Bytes: every buffer once.  A buffer that a pointwise kernel updates in place is the first and moves twice.  It is so
where no other buffer can be the result (the last has another size than the problem); where the first and the last both
can be it, the figure counts the update and the range begins without it.  What a kernel reads twice, or in part, or
computes into, is not recorded either.
"""

import math
import re

from tracelens_tui.perf.broadcasting import promoted
from tracelens_tui.perf.fused_names import fused_ops
from tracelens_tui.perf.operands import Tensor, bytes_of, moved, tensor, total, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

_NAME = re.compile(r"triton_(poi|red|per)_fused_(.+)_\d+")
_OPERATIONS = {
    **dict.fromkeys(("add", "sub", "mul", "div", "relu", "mean", "sum", "abs", "neg", "ne", "eq", "lt", "gt"), 1),
    **dict.fromkeys(("pow", "sqrt", "rsqrt", "var", "reciprocal"), 2),
    **dict.fromkeys(("exp", "log", "sigmoid", "tanh", "silu"), 4),
    "gelu": 8,
}


def fused_kernel(args: OpArgs) -> OpCost | None:
    """Return the cost of one compiled kernel, None where its buffers were not recorded."""
    name = _NAME.fullmatch(args.name[:4096])
    buffers = [found for found in (tensor(args, index) for index in range(len(args.dims))) if found is not None]
    if name is None or not buffers:
        return None
    kind, ops = name[1], fused_ops(name[2])
    sizes = _sizes(args, kind, buffers)
    elements = None if sizes is None else math.prod(sizes)
    once = moved(*buffers)
    updated = _updated(buffers, elements) if kind == "poi" else (0, 0)
    most, least = (total(once, extra) for extra in updated)
    computed = promoted(buffers)
    return OpCost(
        flops=None if elements is None else elements * sum(_OPERATIONS.get(op, 0) for op in ops),
        bytes_read=most,
        bytes_written=None if most is None else 0,  # which buffers are results is not recorded: all count above
        unit="vector",
        precision=None if computed is None else computed.precision,
        params={
            "fused_ops": ", ".join(f"aten.{op}" for op in ops),
            "xnumel": 0 if sizes is None else math.prod(sizes[:-1]) if kind != "poi" else math.prod(sizes),
            "rnumel": sizes[-1] if sizes is not None and kind != "poi" else 1,
        },
        bytes_range=(least, most) if least is not None and most is not None and least < most else None,
    )


def _sizes(args: OpArgs, kind: str, buffers: list[Tensor]) -> list[int] | None:
    """The problem sizes: the longest run of numbers at the end that multiplies to a buffer's size.

    Other numbers (sizes of dynamic shapes, a seed's offset) may stand before them.  A reduction has at least two.
    """
    recorded = [as_int(value(args, index)) for index in range(len(args.dims))]
    numbers = [number for number in recorded if number is not None and number > 0]
    fewest = 1 if kind == "poi" else 2
    if len(numbers) == fewest:
        return numbers
    known = {buffer.numel for buffer in buffers}
    runs = (numbers[start:] for start in range(len(numbers) - fewest + 1))
    return next((run for run in runs if math.prod(run) in known), None)


def _updated(buffers: list[Tensor], elements: int | None) -> tuple[int | None, int | None]:
    """What an update in place of the first buffer adds, at most and at least."""
    first, last = buffers[0], buffers[-1]
    if elements is None or first.numel != elements:
        return 0, 0
    again = bytes_of(elements, first.dtype)
    can_be_last = len(buffers) > 1 and last.numel == elements
    return again, 0 if can_be_last else again


MODELS = (
    OpModel(
        names=(),
        family="Triton",
        category="triton",
        cost=fused_kernel,
        prefixes=("triton_poi_fused_", "triton_red_fused_", "triton_per_fused_"),
    ),
)
