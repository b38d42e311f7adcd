"""Sequences packed into one batch: what their number, their sum and the longest tell, counted by hand."""

import pytest

from tests.perf.calling import BF16, args
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.roofline import roof_range
from tracelens_tui.perf.types import OpCost

NAME = "flash_attn::_flash_attn_varlen_forward"
PER_PAIR = 2 * 2 * 64  # scores and values of one head


def packed(t_q, t_kv, count, longest, *, causal=False, window="-1") -> OpCost:
    dims = [[t_q, 1, 64], [t_kv, 1, 64], [t_kv, 1, 64], [count + 1], [count + 1], *[[]] * 13]
    types = [BF16] * 3 + ["int", "int"] + ["Scalar"] * 7 + [""] * 6
    concrete = ["", "", "", "", "", *map(str, longest), "0.", "1.", str(causal), window, "-1", *[""] * 6]
    found = cost_of(args(NAME, dims, types, concrete))
    assert found is not None
    return found


def test_one_sequence_is_exact():
    assert packed(8, 24, 1, (8, 24)).flops == PER_PAIR * 8 * 24
    assert packed(8, 24, 1, (8, 24), causal=True).flops == PER_PAIR * (8 * 24 - 32)
    assert packed(4096, 4096, 1, (4096, 4096), causal=True, window="128").flops == PER_PAIR * 518_080


def test_equal_lengths_are_exact():
    cost = packed(40, 80, 4, (10, 20))
    assert (cost.flops, cost.flops_range) == (PER_PAIR * 4 * 10 * 20, None)


def test_decoding_sees_every_key():
    cost = packed(4, 1000, 4, (1, 700))
    assert cost.flops == PER_PAIR * 1000
    assert packed(4, 1000, 4, (1, 700), causal=True).flops == PER_PAIR * 998  # the four diagonals count half


def test_self_attention_lies_between_equal_and_extreme_lengths():
    """100 tokens in 4 sequences, the longest 60: 60² + 3·(40/3)² at least, 60² + 40² at most."""
    cost = packed(100, 100, 4, (60, 60))
    doubled = 2 * 60**2 + 2 * 40**2 // 3
    assert cost.flops == PER_PAIR * doubled // 2
    assert cost.flops_range == (PER_PAIR * doubled // 2, PER_PAIR * (60**2 + 40**2))
    assert cost.bytes_moved == 4 * 2 * 100 * 64
    causal = packed(100, 100, 4, (60, 60), causal=True)
    assert causal.flops_range == (PER_PAIR * (60**2 + 40**2 // 3) // 2, PER_PAIR * (60**2 + 40**2) // 2)


def test_a_range_of_flops_is_a_range_of_roofs():
    """100,000 tokens, the longest 60,000: compute-bound at both ends."""
    cost, platform = packed(100_000, 100_000, 4, (60_000, 60_000)), load_platform("MI300X")
    ends = roof_range(cost, platform)
    assert ends is not None
    least = (2 * 60_000**2 + 2 * 40_000**2 // 3) // 2
    expected = [PER_PAIR * pairs / 708e3 for pairs in (least, 60_000**2 + 40_000**2)]
    assert [end.time_ns for end in ends] == pytest.approx(expected)
    assert {end.bound for end in ends} == {"compute"}


@pytest.mark.parametrize(
    ("t_q", "t_kv", "count", "longest"),
    [
        (100, 300, 4, (60, 90)),  # other lengths of keys: nothing is known of the pairs
        (100, 100, 4, (20, 20)),  # four sequences of at most 20 are not 100 tokens
        (100, 100, 4, (101, 101)),
    ],
)
def test_what_is_not_told_is_unknown(t_q, t_kv, count, longest):
    cost = packed(t_q, t_kv, count, longest)
    assert cost.flops is None
    assert cost.bytes_moved == 2 * 2 * (t_q + t_kv) * 64


def test_a_window_over_several_unequal_sequences_is_unknown():
    assert packed(100, 100, 4, (60, 60), window="8").flops is None


def test_a_paged_cache_has_no_answer():
    dims = [[4, 8, 64], [100, 16, 2, 64], [100, 16, 2, 64], [], [5], [], [4], [], [4, 9], *[[]] * 12]
    types = [BF16] * 3 + ["", "int", "", "int", "", "int", *[""] * 12]
    concrete = [*[""] * 10, "1", "90", "0.", "1.", "False", "True"]
    assert cost_of(args("_vllm_fa2_C::varlen_fwd", dims, types, concrete)) is None
