"""FLOPs and bytes of fused attention, computed by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost

FLASH = "aten::_scaled_dot_product_flash_attention"
EFFICIENT = "aten::_scaled_dot_product_efficient_attention"


def flash(q, kv, causal, dtype=BF16) -> OpCost:
    types = [dtype, dtype, dtype, "Scalar", "Scalar", "Scalar", ""]
    found = cost_of(args(FLASH, [q, kv, kv, [], [], [], []], types, ["", "", "", "0.", str(causal), "False", ""]))
    assert found is not None
    return found


def test_grouped_query_attention_counts_query_heads_and_reads_the_kv_heads():
    q, kv = [2, 32, 4096, 128], [2, 8, 4096, 128]
    full = flash(q, kv, causal=False)
    assert full.flops == 4 * 2 * 32 * 4096 * 4096 * 128 == 549_755_813_888
    assert full.bytes_read == 2 * (2 * 32 * 4096 * 128 + 2 * 2 * 8 * 4096 * 128)
    assert full.bytes_written == 2 * 2 * 32 * 4096 * 128
    assert full.bytes_moved == 167_772_160
    assert (full.unit, full.precision) == ("matrix", "bf16")
    assert full.params["H_KV"] == 8
    assert full.params["causal"] is False


def test_causal_with_equal_lengths_is_half():
    cost = flash([2, 32, 4096, 128], [2, 8, 4096, 128], causal=True)
    assert cost.flops == 274_877_906_944
    assert cost.bytes_moved == 167_772_160


def test_decode():
    cost = flash([4, 32, 1, 128], [4, 8, 2048, 128], causal=False)
    assert cost.flops == 134_217_728
    assert cost.bytes_moved == 33_619_968


def test_causal_with_unequal_lengths_is_bottom_right_for_flash():
    cost = flash([1, 2, 8, 64], [1, 2, 24, 64], causal=True)
    assert cost.flops == 4 * 2 * 64 * (8 * 24 - 32) == 81_920
    assert cost.bytes_moved == 16_384
    assert cost.params["causal_alignment"] == "bottom-right"


def test_more_queries_than_keys_bottom_right():
    assert flash([1, 1, 24, 64], [1, 1, 8, 64], causal=True).flops == 4 * 64 * 32  # the first 16 see nothing


def test_real_element_size():
    assert flash([1, 1, 8, 64], [1, 1, 8, 64], causal=False, dtype=FP32).bytes_moved == 4 * 4 * 8 * 64


def test_efficient_attention_is_top_left_and_reads_its_mask():
    q, kv = [1, 2, 8, 64], [1, 2, 24, 64]
    types = [BF16] * 4 + ["Scalar", "Scalar", "Scalar", ""]
    concrete = ["", "", "", "", "False", "0.", "True", ""]
    cost = cost_of(args(EFFICIENT, [q, kv, kv, [], [], [], [], []], [*types[:3], "", *types[4:]], concrete))
    assert cost is not None
    assert cost.flops == 4 * 2 * 64 * 32
    assert cost.bytes_moved == 16_384
    mask, strides = [1, 2, 8, 24], [[1024, 512, 64, 1]] * 3 + [[192, 0, 24, 1]]
    masked = cost_of(args(EFFICIENT, [q, kv, kv, mask, [], [], [], []], types, concrete, strides=strides))
    assert masked is not None
    assert masked.bytes_moved == 16_384 + 2 * 8 * 24  # one mask for both heads
    wide = cost_of(args(EFFICIENT, [kv, q, q, [], [], [], [], []], [*types[:3], "", *types[4:]], concrete))
    assert wide is not None
    assert wide.flops == 4 * 2 * 64 * (24 * 8 - 32)


def test_the_inner_op_has_lengths_before_heads():
    dims = [[2, 4096, 32, 128], [2, 4096, 8, 128], [2, 4096, 8, 128], [], [], [], [], [], [], []]
    types = [BF16] * 3 + ["", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"]
    concrete = ["", "", "", "", "", "4096", "4096", "0.", "True", "False"]
    cost = cost_of(args("aten::_flash_attention_forward", dims, types, concrete))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (274_877_906_944, 167_772_160)


@pytest.mark.parametrize(("mask_type", "pairs"), [("0", 192), ("1", 32), ("2", 160)])
def test_the_inner_efficient_op_names_its_mask(mask_type, pairs):
    dims = [[1, 8, 2, 64], [1, 24, 2, 64], [1, 24, 2, 64], *[[]] * 9]
    types = [BF16] * 3 + ["", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", ""]
    concrete = ["", "", "", "", "", "", "", "", "0.", mask_type, "False", ""]
    cost = cost_of(args("aten::_efficient_attention_forward", dims, types, concrete))
    assert cost is not None
    assert cost.flops == 4 * 2 * 64 * pairs


@pytest.mark.parametrize("name", ["flash_attn::_flash_attn_forward", "FlashAttnFunc"])
def test_the_flash_package(name):
    dims = [[2, 4096, 32, 128], [2, 4096, 8, 128], [2, 4096, 8, 128], [], [], [], [], []]
    types = [BF16] * 3 + ["Scalar"] * 5
    concrete = ["", "", "", "0.", "0.088", "True", "-1", "-1"]
    cost = cost_of(args(name, dims, types, concrete))
    assert cost is not None
    assert cost.flops == 274_877_906_944
    concrete[6:] = ["[128, -1]" if name == "FlashAttnFunc" else "128", "-1"]
    windowed = cost_of(args(name, dims, types, concrete))
    assert windowed is not None
    # a query sees itself (half) and up to 128 keys before: 129·4096 − 128·129/2 − 4096/2 = 518,080 pairs
    assert windowed.flops == 4 * 2 * 32 * 128 * 518_080 == 16_976_445_440
    assert windowed.bytes_moved == 167_772_160


def test_packed_sequences_have_bytes_but_no_flops():
    dims = [[100, 4, 64], [300, 2, 64], [300, 2, 64], [5], [5], [], [], [], []]
    types = [BF16] * 3 + ["int", "int", "Scalar", "Scalar", "Scalar", "Scalar"]
    cost = cost_of(args("aten::_flash_attention_forward", dims, types, ["", "", "", "", "", "40", "90", "0.", "True"]))
    assert cost is not None
    assert cost.flops is None
    assert cost.bytes_moved == 2 * (2 * 100 * 4 * 64 + 2 * 300 * 2 * 64)


def test_an_unrecorded_causal_flag_leaves_flops_unknown():
    q = [1, 2, 8, 64]
    cost = cost_of(args(FLASH, [q, q, q], [BF16] * 3))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (None, 2 * 4 * 2 * 8 * 64)


@pytest.mark.parametrize(
    "dims",
    [
        [],
        [[1, 2, 8, 64], [1, 2, 8, 64]],
        [[1, 2, 8, 64], [2, 2, 8, 64], [2, 2, 8, 64]],
        [[1, 3, 8, 64], [1, 2, 8, 64], [1, 2, 8, 64]],
        [[1, 2, 8, 64], [1, 2, 8, 32], [1, 2, 8, 64]],
        [[1, 2, 8, 64], [1, 2, 8, 64], [1, 2, 9, 64]],
        [[1, 2, 8, 64], [1, 0, 8, 64], [1, 0, 8, 64]],
    ],
)
def test_no_answer(dims):
    assert cost_of(args(FLASH, dims, [BF16] * len(dims), ["", "", "", "0.", "False"])) is None


def test_the_math_backend_has_no_model():
    q = [1, 2, 8, 64]
    assert cost_of(args("aten::_scaled_dot_product_attention_math", [q, q, q], [BF16] * 3)) is None
