"""Backward attention: five products over the pairs of the forward pass, computed by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.registry import cost_of

FLASH = "aten::_scaled_dot_product_flash_attention_backward"
Q, KV, LSE = [2, 32, 4096, 128], [2, 8, 4096, 128], [2, 32, 4096]
Q_BYTES, KV_BYTES = 2 * 2 * 32 * 4096 * 128, 2 * 2 * 8 * 4096 * 128


def backward(name, layout, concrete, dims=None, grad=0):
    """``layout`` are the tensors in order, by letter: g gradient and o output (as Q), q, k, v, l log-sum-exp."""
    shapes = {"g": Q, "o": Q, "q": Q, "k": KV, "v": KV, "l": LSE, "-": []}
    types = {"l": FP32, "-": ""}
    return cost_of(
        args(
            name,
            [(dims or shapes).get(part, shapes[part]) for part in layout],
            [types.get(part, BF16) for part in layout],
            concrete,
        )
    )


@pytest.mark.parametrize(("causal", "share"), [("False", 1), ("True", 2)])
def test_flash(causal, share):
    cost = backward(FLASH, "gqkvol--------", [*[""] * 10, "0.", causal])
    assert cost is not None
    assert cost.flops == 2 * 2 * 32 * 4096 * 4096 * (3 * 128 + 2 * 128) // share
    assert cost.flops * share == 1_374_389_534_720
    assert cost.bytes_read == 3 * Q_BYTES + 2 * KV_BYTES + 4 * 2 * 32 * 4096  # Q, output, its gradient, K, V
    assert cost.bytes_written == Q_BYTES + 2 * KV_BYTES
    assert (cost.unit, cost.precision, cost.params["H_KV"]) == ("matrix", "bf16", 8)


@pytest.mark.parametrize(
    ("name", "layout", "position"),
    [
        ("aten::_scaled_dot_product_efficient_attention_backward", "gqkv-ol------", 11),
        ("aten::_scaled_dot_product_cudnn_attention_backward", "gqkvol----------", 14),
        ("aten::_scaled_dot_product_fused_attention_overrideable_backward", "gqkv--ol--------", 13),
        (FLASH, "gqkvol--------", 11),
    ],
)
def test_all_backends_count_alike(name, layout, position):
    concrete = [""] * len(layout)
    concrete[position] = "False"
    cost = backward(name, layout, concrete)
    assert cost is not None
    assert cost.flops == 1_374_389_534_720
    assert cost.bytes_moved == 4 * Q_BYTES + 4 * KV_BYTES + 4 * 2 * 32 * 4096
    concrete[position] = ""
    unknown = backward(name, layout, concrete)
    assert unknown is not None
    assert (unknown.flops, unknown.bytes_moved) == (None, cost.bytes_moved)


@pytest.mark.parametrize(
    ("name", "layout", "position", "value"),
    [
        ("aten::_flash_attention_backward", "gqkvol---------", 11, "False"),
        ("aten::_efficient_attention_backward", "gqkv-o----l--------", 14, "0"),
        ("flash_attn::_flash_attn_backward", "gqkvol------", 11, "False"),
        ("aiter::_flash_attn_backward", "gqkvol-------", 12, "False"),
        ("aiter::wrapper_fmha_v3_bwd", "gqkvol----", 9, "False"),
        ("aiter::mha_bwd", "gqkvol---", 8, "False"),
        ("flash_attn_3::bwd", "gqkvol-----------", 16, "False"),
        ("xformers_flash::flash_bwd", "-gqkvol-------", 13, "False"),
    ],
)
def test_lengths_before_heads(name, layout, position, value):
    q, kv = [2, 4096, 32, 128], [2, 4096, 8, 128]
    concrete = [""] * len(layout)
    concrete[position] = value
    cost = backward(name, layout, concrete, {"g": q, "o": q, "q": q, "k": kv, "v": kv})
    assert cost is not None
    assert cost.flops == 1_374_389_534_720
    assert cost.bytes_moved == 4 * Q_BYTES + 4 * KV_BYTES + 4 * 2 * 32 * 4096


def test_packed_backward():
    """Two sequences of 3 and 1 tokens, one head of 8: 9 + 1 pairs at least and at most."""
    layout = "gqkvol---ss"
    shapes = {"g": [4, 1, 8], "o": [4, 1, 8], "q": [4, 1, 8], "k": [4, 1, 8], "v": [4, 1, 8], "l": [1, 4], "s": [3]}
    types = [BF16] * 5 + [FP32, "", "", "", "int", "int"]
    concrete = [*[""] * 11, "3", "3", "0.", "1.", "False", "-1", "-1"]
    dims = [shapes.get(part, []) for part in layout]
    cost = cost_of(args("flash_attn::_flash_attn_varlen_backward", dims, types, concrete))
    assert cost is not None
    assert cost.flops == 2 * 10 * (3 * 8 + 2 * 8)
    assert cost.flops_range is None
