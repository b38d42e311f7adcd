"""Attention of serving engines: the batch stands in the iteration's name; counted by hand from its sums."""

from dataclasses import replace

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.iterations import Iteration, Requests, iteration_of
from tracelens_tui.perf.registry import cost_of, default_registry
from tracelens_tui.perf.types import OpCost

H, H_KV, D = 32, 8, 128
BATCH = "execute_5_context_2(sq100sk300sqsq5000sqsk20000)_generation_3(sq3sk900sqsq3sqsk900)"
PAIRS = 2 * 20_000 - 5_000 + 2 * 900  # twice the pairs


def serving(name, dims, types, concrete=(), iteration=BATCH) -> OpCost | None:
    return cost_of(replace(args(name, dims, types, concrete), iteration=iteration))


def known(found: OpCost | None) -> OpCost:
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["vllm::unified_attention_with_output", "aiter::mha_varlen_fwd"])
def test_prefill_and_decode_in_one_batch(name):
    q, kv = [103, H, D], [103, H_KV, D]
    found = known(serving(name, [q, kv, kv, q], BF16))
    assert found.flops == H * 2 * D * PAIRS == 301_465_600
    new, cached = 103, 200 + 897
    assert found.bytes_moved == 2 * new * (H + H_KV) * 2 * D + 2 * cached * H_KV * 2 * D
    assert found.bytes_written == 2 * new * H * D
    assert (found.unit, found.precision) == ("matrix", "bf16")
    assert (found.params["sum_ctx_tokens"], found.params["sum_gen_tokens"]) == (100, 3)
    model = default_registry().model(name)
    assert model is not None
    assert model.per_iteration


def test_values_of_another_width_and_cache_of_another_type():
    found = known(
        serving(
            "aiter::mha_batch_prefill",
            [[103, H, 192], [9, 16, H_KV, 192], [9, 16, H_KV, 64]],
            [BF16, "c10::Float8_e4m3fnuz", BF16],
        )
    )
    assert found.flops == H * 256 * PAIRS
    assert found.bytes_moved == 2 * 103 * (H + H_KV) * 256 + 1 * 1097 * H_KV * 256


def test_decode_alone_with_a_window():
    """3 requests of 300 keys, of which a window of 128 is seen."""
    dims = [[3, H, D], [], [99, H_KV, 16, D], *[[]] * 17]
    concrete = [*[""] * 19, "128"]
    found = known(serving("aiter::pa_decode_gluon", dims, [BF16, "", BF16, *[""] * 17], concrete))
    assert found.flops == H * 2 * D * 2 * 3 * 128
    assert found.bytes_moved == 2 * 3 * (H + H_KV) * 2 * D + 2 * (3 * 128 - 3) * H_KV * 2 * D
    concrete[19] = "0"
    assert known(serving("aiter::pa_decode_gluon", dims, [BF16, "", BF16], concrete)).flops == H * 2 * D * 2 * 900


@pytest.mark.parametrize(("name", "before"), [("_C::paged_attention_v1", 1), ("_C::paged_attention_v2", 4)])
def test_paged_attention(name, before):
    dims = [*[[3, H, D]] * before, [3, H, D], [99, H_KV, 16, 16, 8], [99, H_KV, D, 16], [], [], [3, 9], [3]]
    types = [*[FP32] * before, BF16, BF16, BF16, "Scalar", "Scalar", "int", "int"]
    found = known(serving(name, dims, types, [*[""] * (before + 3), "8", "0.1"]))
    assert found.flops == H * 2 * D * 2 * 900
    assert found.params["H_KV"] == 8


@pytest.mark.parametrize(
    "iteration",
    [
        "",
        "ProfilerStep#3",
        "execute_context_1(888_788544)_generation_0(0)",  # tokens alone: how much is cached is not said
        "execute_2_context_1(sq9sk3sqsq81sqsk27)_generation_0(0)",  # fewer keys than queries
        "step[DECODE bs=32]",
    ],
)
def test_without_sums_there_is_no_answer(iteration):
    q = [103, H, D]
    assert serving("vllm::unified_attention_with_output", [q, q, q], BF16, iteration=iteration) is None


def test_the_arguments_must_fit():
    assert serving("vllm::unified_attention_with_output", [[103, H * D], [103, H_KV, D]], BF16) is None
    assert serving("vllm::unified_attention_with_output", [[103, 32, D], [103, 5, D]], BF16) is None


def test_sparse_prefill_has_its_pairs_in_the_arguments():
    dims = [[10, H, 512], [99, 512], [500], [], [], [700]]
    found = known(serving("aiter::pa_sparse_prefill_opus_fwd", dims, [BF16, BF16, "int", "", "", "int"], iteration=""))
    assert found.flops == 1200 * H * 2 * 2 * 512
    assert found.bytes_moved == 2 * 2 * 10 * H * 512 + 2 * 1200 * 512


def test_gated_delta_net():
    """16 value heads of 128, 8 key heads of 128: the projection has 2·8·128 + 16·128 columns."""
    dims = [[103, 4096], [103, 16], [103, 16], [103, 16, 128]]
    found = known(serving("vllm::gdn_attention_core", dims, BF16, iteration="execute_2_context_1(100)_generation_1(3)"))
    assert found.flops == 103 * 16 * 7 * 128 * 128
    assert found.bytes_moved == 103 * 16 * (128 + 2 * 128 + 2) * 2


def test_writing_the_cache():
    kv, cache = [100, H_KV, D], [9, 16, H_KV, D]
    dims, types = [kv, kv, cache, cache, [96]], [BF16, BF16, "unsigned char", "unsigned char", "long int"]
    found = known(serving("_C_cache_ops::reshape_and_cache_flash", dims, types, iteration=""))
    assert found.bytes_read == 2 * 2 * 96 * H_KV * D + 8 * 96  # 4 of the 100 tokens are padding
    assert (found.bytes_written, found.flops) == (2 * 96 * H_KV * D, 0)
    mla = known(
        serving(
            "_C_cache_ops::concat_and_cache_mla",
            [[96, 512], [96, 64], [9, 16, 576], [96]],
            [BF16, BF16, BF16, "long int"],
        )
    )
    assert mla.bytes_moved == 2 * 2 * 96 * 576 + 8 * 96
    store = known(serving("sglang::store_cache", [kv, kv, cache, cache], BF16, iteration=""))
    assert store.bytes_moved == 4 * 2 * 100 * H_KV * D


SUMS = Requests(10, 20, 100, 200)
NONE = Requests(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "iteration"),
    [
        (BATCH, Iteration(Requests(100, 300, 5000, 20_000), Requests(3, 900, 3, 900))),
        ("execute_5_context_1(sq=10, sk=20, sqsq=100, sqsk=200)_generation_0()", Iteration(SUMS, NONE)),
        ("execute_32_context_0(0)_generation_32(32)", Iteration(NONE, Requests(32))),
        ("execute_context_1(888_788544)_generation_0(0)", Iteration(Requests(888), NONE)),
        ("step[DECODE bs=32]", Iteration(NONE, Requests(32))),
        ("step[EXTEND bs=15 toks=15360]", Iteration(Requests(15_360), NONE)),
        ("step[MIXED bs=4 c_sq=10 c_sk=20 c_sqsq=100 c_sqsk=200]", Iteration(SUMS, NONE)),
        ("step[DECODE g_sq=10 g_sk=20 g_sqsq=100 g_sqsk=200]", Iteration(NONE, SUMS)),
        ("prefill[bs=1 tok=10]", Iteration(Requests(10), NONE)),
        ("decode[bs=3 tok=3]", Iteration(NONE, Requests(3))),
        ("step[DECODE]", None),
        ("execute_context_1(x)_generation_0(0)", None),
        ("execute_diffusion_3_1024x1024", None),
        ("ProfilerStep#1", None),
        ("", None),
    ],
)
def test_names_of_iterations(name, iteration):
    assert iteration_of(name) == iteration


def test_a_long_name_is_looked_at_in_part():
    assert iteration_of("execute_context_" + "1" * 100_000) is None
    assert iteration_of("sq1" * 100_000) is None
