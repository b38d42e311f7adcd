"""Traits of convolutions: the model's input and filter shapes, groups and strides."""

import msgspec

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.shapes import first_shape
from tracelens_tui.triage.traits.types import Facts, Trait

ALIGN = 8  # elements of 16 bits in the 16 bytes that wide loads move
FEW_IMAGES = 2

_SIXTEEN_BIT = {"bf16", "fp16"}


def sides_of(op: OpFacts, name: str) -> tuple[int, ...]:
    """Return a shape among the parameters, () where there is none."""
    text = op.params.get(name)
    try:
        return msgspec.json.decode(text, type=tuple[int, ...]) if isinstance(text, str) else ()
    except msgspec.DecodeError:
        return ()


def _shapes(op: OpFacts) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Input and filter, both with batch and channels or channels and channels first."""
    found, weight = sides_of(op, "input_shape"), sides_of(op, "filter_shape")
    return (found, weight) if len(found) == len(weight) >= 3 else None


def _patch_embedding(op: OpFacts, _run: RunContext) -> Facts | None:
    """The stride is the filter's size and the input has at most four channels: patches of an image."""
    shapes, stride = _shapes(op), sides_of(op, "stride")
    if shapes is None or shapes[0][1] > 4 or min(shapes[1][2:]) < 4 or stride != shapes[1][2:]:
        return None
    return {"patch": shapes[1][2], "channels": shapes[0][1]}


def _depthwise(op: OpFacts, _run: RunContext) -> Facts | None:
    """As many groups as input channels."""
    shapes, groups = _shapes(op), op.param("groups")
    if shapes is None or groups is None or groups < 2 or groups != shapes[0][1]:
        return None
    return {"channels": int(groups)}


def _pointwise(op: OpFacts, _run: RunContext) -> Facts | None:
    """A filter of one element per channel: a matrix product."""
    shapes = _shapes(op)
    if shapes is None or set(shapes[1][2:]) != {1} or (op.param("groups") or 1) != 1:
        return None
    return {"channels": shapes[0][1], "filters": shapes[1][0]}


def _narrow_channels(op: OpFacts, _run: RunContext) -> Facts | None:
    """Channels of a 16-bit convolution are no multiple of eight."""
    shapes = _shapes(op)
    if shapes is None or op.precision not in _SIXTEEN_BIT or (op.param("groups") or 1) > 1:
        return None
    odd = next((count for count in (shapes[0][1], shapes[1][0]) if count % ALIGN), None)
    return None if odd is None else {"odd_channels": odd}


def _volumetric(op: OpFacts, _run: RunContext) -> Facts | None:
    """Three spatial dimensions."""
    shapes = _shapes(op)
    return {} if shapes is not None and len(shapes[0]) == 5 else None


def _few_images(op: OpFacts, _run: RunContext) -> Facts | None:
    """A batch of one or two."""
    shapes = _shapes(op)
    return {"images": shapes[0][0]} if shapes is not None and shapes[0][0] <= FEW_IMAGES else None


def _transposed(op: OpFacts, _run: RunContext) -> Facts | None:
    """A transposed convolution."""
    return {} if op.params.get("transposed_conv") is True else None


def _dilated(op: OpFacts, _run: RunContext) -> Facts | None:
    """A filter with gaps."""
    return {} if max(sides_of(op, "dilation"), default=1) > 1 else None


def _bias_before_norm(op: OpFacts, run: RunContext) -> Facts | None:
    """A bias, and a batch norm over as many channels as there are filters elsewhere in the run."""
    shapes = _shapes(op)
    if shapes is None or op.params.get("bias") is not True:
        return None
    norms = (first_shape(other) for other in run.others if "batch_norm" in other.name)
    return {} if any(len(shape) > 1 and shape[1] == shapes[1][0] for shape in norms) else None


TRAITS = {
    "patch_embedding": Trait(_patch_embedding, ("patch", "channels")),
    "depthwise": Trait(_depthwise, ("channels",)),
    "pointwise": Trait(_pointwise, ("channels", "filters")),
    "narrow_channels": Trait(_narrow_channels, ("odd_channels",)),
    "volumetric": Trait(_volumetric),
    "transposed": Trait(_transposed),
    "dilated": Trait(_dilated),
    "bias_before_norm": Trait(_bias_before_norm),
    "few_images": Trait(_few_images, ("images",)),
}
