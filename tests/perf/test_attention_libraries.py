"""Where libraries keep Q, K, V and the mask; the counts are those of the same attention in PyTorch."""

import pytest

from tests.perf.calling import BF16, args
from tracelens_tui.perf.registry import cost_of

Q, KV = [2, 4096, 32, 128], [2, 4096, 8, 128]
HALF, BYTES = 274_877_906_944, 167_772_160


def called(name, causal_at, value="True", *, first=0, length=0):
    dims = [[]] * first + [Q, KV, KV] + [[]] * max(causal_at - 2 - first, length)
    types = [""] * first + [BF16] * 3 + ["Scalar"] * (len(dims) - 3 - first)
    concrete = [""] * len(dims)
    concrete[causal_at] = value
    return cost_of(args(name, dims, types, concrete))


@pytest.mark.parametrize(
    ("name", "causal_at"),
    [
        ("FlashAttnFunc", 5),
        ("flashattn::_flash_attn_forward", 5),
        ("aiter::_flash_attn_forward", 5),
        ("aiter::mha_fwd", 5),
        ("aiter::fmha_v3_fwd", 5),
        ("flash_attn_3::fwd", 24),
        ("_vllm_fa3_C::fwd", 24),
        ("sgl_kernel::fwd", 24),
        ("xformers_flash::flash_fwd", 10),
        ("xformers_flash3::flash_fwd", 11),
    ],
)
def test_forward(name, causal_at):
    cost = called(name, causal_at)
    assert cost is not None
    assert (cost.flops, cost.bytes_moved, cost.precision) == (HALF, BYTES, "bf16")
    full = called(name, causal_at, "False")
    assert full is not None
    assert full.flops == 2 * HALF


def test_a_library_that_passes_something_first():
    cost = called("aiter::wrapper_fmha_v3_fwd", 6, first=1)
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (HALF, BYTES)


@pytest.mark.parametrize(("mask_type", "flops"), [("0", 2 * HALF), ("1", HALF), ("2", HALF)])
def test_xformers_on_cutlass(mask_type, flops):
    cost = called("xformers::efficient_attention_forward_cutlass", 9, mask_type, length=10)
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (flops, BYTES)


def test_a_window_of_the_memory_efficient_op_is_unknown():
    dims = [Q, KV, KV, *[[]] * 11]
    concrete = [*[""] * 9, "1", "False", "", "", "64"]
    cost = cost_of(args("aten::_efficient_attention_forward", dims, [BF16] * 3 + [""] * 11, concrete))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (None, BYTES)


def test_fp8_gives_16_bit_results():
    dims, types = [Q, KV, KV, *[[]] * 24], ["c10::Float8_e4m3fn"] * 3 + [""] * 24
    cost = cost_of(args("flash_attn_3::fwd", dims, types, [*[""] * 24, "False", "-1", "-1"]))
    assert cost is not None
    assert (cost.precision, cost.bytes_read, cost.bytes_written) == ("fp8", 50_331_648, 2 * 33_554_432)


def test_a_cache_of_unknown_fill_has_no_answer():
    dims = [Q, KV, KV, *[[]] * 8, [2], *[[]] * 13]
    types = [BF16] * 3 + [""] * 8 + ["int"] + [""] * 13
    assert cost_of(args("flash_attn_3::fwd", dims, types, [*[""] * 24, "True"])) is None


def test_evoformer_attends_over_residues():
    """1×8 sequences of 64 residues, 4 heads of 32: 2·8·4·64²·(32 + 32)."""
    shape = [1, 8, 64, 4, 32]
    cost = cost_of(args("EvoformerAttention", [shape, shape, shape], BF16))
    assert cost is not None
    assert cost.flops == 2 * 8 * 4 * 64**2 * 64
    assert cost.bytes_moved == 4 * 2 * 8 * 64 * 4 * 32


@pytest.mark.parametrize(
    ("texts", "flops"),
    [
        (["bshd_bshd_bshd", "causal"], 4 * 2 * 32 * 128 * 4096**2 // 2),
        (["'bshd_bshd_bshd'", "'no_mask'"], 4 * 2 * 32 * 128 * 4096**2),
        (["sbhd_sbhd_sbhd", "no_mask"], 4 * 4096 * 32 * 128 * 2**2),  # then 2 is the length and 4096 the batch
        (["bshd_bshd_bshd", "padding_causal"], None),
        (["no_mask"], None),
        ([], None),
    ],
)
def test_transformer_engine_by_its_texts(texts, flops):
    dims = [[], [], [], [5], [5], Q, Q, Q, [], *[[]] * len(texts)]
    types = ["Scalar", "Scalar", "Scalar", "int", "int", BF16, BF16, BF16, "", *["Scalar"] * len(texts)]
    cost = cost_of(args("FusedAttnFunc", dims, types, ["True", "4096", "4096", *[""] * 6, *texts]))
    assert cost is not None
    assert (cost.flops, cost.bytes_moved) == (flops, 4 * 67_108_864)
