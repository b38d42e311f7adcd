"""Traits of attention, fused or not: the model's B, H_Q, H_KV, N_Q, N_KV, d_h_qk."""

import math

from tracelens_tui.perf.types import Shape
from tracelens_tui.triage.facts import OpFacts, OtherOp, RunContext
from tracelens_tui.triage.traits.shapes import SCORES, first_shape, shapes_in
from tracelens_tui.triage.traits.types import Facts, Trait

BWD_OVER_FWD = 3.5


def _softmax_of_scores(op: OpFacts, run: RunContext) -> Facts | None:
    """A softmax over a score matrix that a batched product of the run writes."""
    shape = next(iter(shapes_in(op.dims)), ())
    if "softmax" not in op.name or len(shape) < 3 or min(shape[-2:]) < SCORES:
        return None
    batch = math.prod(shape[:-2])
    products = [other for other in run.others if _writes(other, batch, shape[-2:])]
    if not products:
        return None
    time = math.fsum(other.time_ms for other in products)
    return {"rows": shape[-2], "row": shape[-1], "product": products[0].name, "product_time": time}


def _writes(op: OtherOp, batch: int, matrix: Shape) -> bool:
    """True for a batched product whose output has this batch and these sides."""
    shapes = shapes_in(op.dims)
    if op.category != "gemm" or "bmm" not in op.name or len(shapes) < 2:
        return False
    left, right = shapes[-2], shapes[-1]
    return (math.prod(left[:-2]), left[-2], right[-1]) == (batch, *matrix)


def _padded_head(op: OpFacts, _run: RunContext) -> Facts | None:
    """The head dimension is no power of two, so a kernel with power-of-two tiles pads it."""
    size = op.param("d_h_qk")
    if size is None or size < 1:
        return None
    tile = 2 ** math.ceil(math.log2(size))
    if tile == size:
        return None
    return {"head_dim": int(size), "head_tile": tile, "head_waste": 100 * (1 - size / tile)}


def _dense_mask(op: OpFacts, _run: RunContext) -> Facts | None:
    """An attention mask tensor is among the inputs."""
    if len(op.dims) < 4 or ("efficient" not in op.name and "dot_product_attention" not in op.name):
        return None
    if "flash" in op.name:
        return None
    mask = op.dims[3]
    return {} if isinstance(mask, tuple) and len(mask) >= 2 else None


def _few_kv_blocks(op: OpFacts, run: RunContext) -> Facts | None:
    """Batch times key heads gives fewer independent blocks than the device has compute units."""
    batch, heads = op.param("B"), op.param("H_KV")
    if batch is None or heads is None or not run.sm_count or batch * heads >= run.sm_count:
        return None
    return {"blocks": int(batch * heads), "sms": run.sm_count}


def _slow_backward(op: OpFacts, run: RunContext) -> Facts | None:
    """One backward call takes over 3.5 times as long as the forward call of the same query shape."""
    if op.category != "sdpa_bwd" or not op.dims:
        return None
    query = shapes_in(op.dims)
    for other in run.others:
        if other.category != "sdpa_fwd" or not other.count or first_shape(other) not in query:
            continue
        forward = 1e3 * other.time_ms / other.count
        if forward and op.mean_us / forward > BWD_OVER_FWD:
            return {"bwd_ratio": op.mean_us / forward, "forward_mean": forward}
    return None


def _rotary(op: OpFacts, run: RunContext) -> Facts | None:
    """A concatenation of two equal halves, one of which a negation made: rotary embedding in eager mode."""
    halves = shapes_in(op.dims)
    if not op.name.endswith("::cat") or len(halves) != 2 or halves[0] != halves[1]:
        return None
    found = any(other.name.endswith("::neg") and first_shape(other) == halves[0] for other in run.others)
    return {} if found else None


TRAITS = {
    "softmax_of_scores": Trait(_softmax_of_scores, ("rows", "row", "product", "product_time")),
    "padded_head": Trait(_padded_head, ("head_dim", "head_tile", "head_waste")),
    "dense_mask": Trait(_dense_mask),
    "few_kv_blocks": Trait(_few_kv_blocks, ("blocks", "sms")),
    "slow_backward": Trait(_slow_backward, ("bwd_ratio", "forward_mean")),
    "rotary": Trait(_rotary),
}
