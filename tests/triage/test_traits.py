"""Traits: where they hold, where they do not, and the facts that they state."""

import pytest

from tests.triage.making import BF16, TENSILE, context, op_facts
from tracelens_tui.triage.facts import OtherOp
from tracelens_tui.triage.traits import TRAITS, shapes_in


def trait(name, op, *others, **run):
    return TRAITS[name].test(op, context(*others, **run))


def gemm(m, n, k, *, b=1, **more):
    return op_facts(params={"M": m, "N": n, "K": k, "B": b}, **more)


def test_misaligned_looks_at_n_and_k_of_16_bit_products():
    assert trait("misaligned", gemm(4096, 50257, 2048)) == {"odd_dim": "N", "odd": 50257, "padded": 50304}
    assert trait("misaligned", gemm(4096, 4096, 4097)) == {"odd_dim": "K", "odd": 4097, "padded": 4160}
    assert trait("misaligned", gemm(4097, 4096, 4096)) is None  # M alone rarely matters
    assert trait("misaligned", gemm(4097, 4097, 4097, precision="fp32")) is None


@pytest.mark.parametrize(
    ("kernel", "tile"),
    [
        (TENSILE, "256x256"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1", "128x64"),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8", "128x64"),
        ("nvjet_hsh_192x128_64x5_2x1_v_bz_coopA_NNT", "192x128"),
    ],
)
def test_the_tile_is_read_from_the_kernel_name(kernel, tile):
    facts = trait("few_tiles", gemm(64, 64, 8192, kernels=(kernel,)))
    assert facts is not None
    assert facts["tile"] == tile


def test_tiles_swap_the_sides_as_the_library_sees_them():
    # tile 320x224 covers the op's N by its M: ceil(9728/320) * ceil(8192/224) = 31 * 37
    op = gemm(8192, 9728, 2432, kernels=("Cijk_Alik_Bljk_BBS_MT320x224x64_MI",))
    facts = trait("wave_tail", op)
    assert facts is None  # 1147 tiles are 3.77 waves that fill 94 %
    # 31 * 12 = 372 tiles on 304 units: 1.22 waves, 61 % full
    facts = trait("wave_tail", gemm(2560, 9728, 2432, kernels=("Cijk_Alik_Bljk_BBS_MT320x224x64_MI",)))
    assert facts == {"tiles": 372, "sms": 304, "tile": "320x224", "waves": 372 / 304, "fill": 100 * 372 / 608}


def test_few_tiles_is_less_than_half_the_units():
    assert trait("few_tiles", gemm(256, 512, 131072)) == {
        "tiles": 2, "sms": 304, "tile": "256x256", "waves": 2 / 304, "fill": 100 * 2 / 304
    }  # fmt: skip
    assert trait("few_tiles", gemm(4096, 4096, 4096)) is None
    assert trait("few_tiles", gemm(256, 512, 64, kernels=("gemv",))) is None  # no tile in the name


def test_deep_and_skinny_shapes():
    assert trait("deep", gemm(256, 512, 131072)) == {"m": 256, "n": 512, "k": 131072}
    assert trait("deep", gemm(4096, 4096, 4096)) is None
    assert trait("skinny", gemm(131072, 32, 32)) == {"long": 131072, "short": 32, "k": 32}
    assert trait("skinny", gemm(32, 131072, 32)) == {"long": 131072, "short": 32, "k": 32}
    assert trait("skinny", gemm(131072, 32, 4096)) is None


def test_channel_stride_counts_bytes():
    assert trait("channel_stride", gemm(8, 8, 1024)) == {"k": 1024}
    assert trait("channel_stride", gemm(8, 8, 1000)) is None


SOFTMAX = OtherOp("aten::_softmax", "reduce", ((8, 12, 3137, 3137), (), ()), 12, 60.0)
BMM = OtherOp("aten::bmm", "gemm", ((96, 3137, 64), (96, 64, 3137)), 12, 20.0)


def test_attention_scores_need_a_softmax_of_the_same_batch_and_sides():
    facts = {"softmax": "aten::_softmax", "softmax_time": 60.0, "rows": 3137, "row": 3137}
    assert trait("attention_scores", gemm(3137, 3137, 64, b=96), SOFTMAX) == facts
    assert trait("attention_scores", gemm(3137, 64, 3137, b=96), SOFTMAX) == facts
    assert trait("attention_scores", gemm(3137, 3137, 64, b=95), SOFTMAX) is None
    assert trait("attention_scores", gemm(3137, 3137, 64, b=96)) is None
    small = OtherOp("aten::_softmax", "reduce", ((96, 8, 8), (), ()), 12, 60.0)
    assert trait("attention_scores", gemm(8, 8, 64, b=96), small) is None


def test_softmax_of_scores_is_the_other_side_of_it():
    softmax = op_facts("aten::_softmax", category="reduce", dims=((8, 12, 3137, 3137), (), ()))
    facts = {"rows": 3137, "row": 3137, "product": "aten::bmm", "product_time": 20.0}
    assert trait("softmax_of_scores", softmax, BMM) == facts
    assert trait("softmax_of_scores", softmax) is None


def test_padded_head_states_the_waste():
    facts = {"head_dim": 80, "head_tile": 128, "head_waste": 37.5}
    assert trait("padded_head", op_facts(params={"d_h_qk": 80})) == facts
    assert trait("padded_head", op_facts(params={"d_h_qk": 128})) is None


def test_dense_mask_is_an_input_of_the_efficient_backend():
    query = (2, 8, 512, 64)
    name = "aten::_scaled_dot_product_efficient_attention"
    assert trait("dense_mask", op_facts(name, dims=(query, query, query, (2, 8, 512, 512)))) == {}
    assert trait("dense_mask", op_facts(name, dims=(query, query, query, ()))) is None
    flash = "aten::_scaled_dot_product_flash_attention"
    assert trait("dense_mask", op_facts(flash, dims=(query, query, query, (2, 8, 512, 512)))) is None


def test_few_kv_blocks_compares_with_the_units():
    assert trait("few_kv_blocks", op_facts(params={"B": 4, "H_KV": 8})) == {"blocks": 32, "sms": 304}
    assert trait("few_kv_blocks", op_facts(params={"B": 64, "H_KV": 8})) is None


def test_slow_backward_compares_calls_of_the_same_query():
    query = (2, 8, 512, 64)
    forward = OtherOp("aten::_flash_attention_forward", "sdpa_fwd", (query,), 10, 1.0)  # 100 µs a call
    backward = op_facts("bwd", category="sdpa_bwd", dims=(query,), time_ms=4.0, count=10)
    assert trait("slow_backward", backward, forward) == {"bwd_ratio": 4.0, "forward_mean": 100.0}
    assert trait("slow_backward", op_facts("bwd", category="sdpa_bwd", dims=(query,), time_ms=3.0), forward) is None


def test_copies_are_casts_or_change_the_layout():
    cast = op_facts("aten::copy_", dims=((8, 8), (8, 8)), types=(BF16, "float"))
    assert trait("cast", cast) == {"from_type": "fp32", "to_type": "bf16"}
    layout = op_facts("aten::copy_", types=(BF16, BF16), strides=((8, 1), (1, 8)), dims=((8, 8), (8, 8)))
    assert trait("cast", layout) is None
    assert trait("layout_copy", layout) == {}
    assert trait("layout_copy", cast) is None


def test_attention_copy_knows_both_orders_of_heads():
    fused = OtherOp("aten::_flash_attention_forward", "sdpa_fwd", ((2, 8, 512, 64),), 10, 1.0)
    for shape in ((2, 8, 512, 64), (2, 512, 8, 64)):
        copy = op_facts("aten::copy_", dims=(shape, shape), types=(BF16, BF16))
        assert trait("attention_copy", copy, fused) == {"attention": "aten::_flash_attention_forward"}
    other = op_facts("aten::copy_", dims=((2, 8, 256, 64),) * 2, types=(BF16, BF16))
    assert trait("attention_copy", other, fused) is None


def test_elementwise_traits():
    assert trait("broadcast", op_facts(dims=((8, 1024), (1024,)))) == {}
    assert trait("broadcast", op_facts(dims=((8, 1024), (8, 1024)))) is None
    assert trait("square_mask", op_facts(dims=((1, 1, 2048, 2048),))) == {"side": 2048}
    assert trait("square_mask", op_facts(dims=((1, 1, 2048, 64),))) is None
    large = op_facts("aten::add", dims=((1024, 1024),), types=("long int",))
    assert trait("int64_math", large) == {"elements": 2**20}
    assert trait("int64_math", op_facts("aten::add", dims=((10,),), types=("long int",))) is None
    assert trait("overlapped", op_facts(time_ms=10.0, exposed_ms=6.0)) == {"hidden": pytest.approx(40.0)}
    assert trait("overlapped", op_facts(time_ms=10.0, exposed_ms=9.0)) is None
    assert trait("repeated", op_facts(count=300, time_ms=2.0)) == {}
    assert trait("repeated", op_facts(count=300, time_ms=6.0)) is None


def test_a_gated_sigmoid_and_a_rotary_concatenation_need_their_partner():
    sigmoid = op_facts("aten::sigmoid", dims=((8, 64),))
    assert trait("self_gated", sigmoid, OtherOp("aten::mul", "elementwise", ((8, 64), (8, 64)), 1, 1.0)) == {}
    assert trait("self_gated", sigmoid, OtherOp("aten::mul", "elementwise", ((8, 65),), 1, 1.0)) is None
    cat = op_facts("aten::cat", dims=(((8, 32), (8, 32)), ()))
    assert trait("rotary", cat, OtherOp("aten::neg", "elementwise", ((8, 32),), 1, 1.0)) == {}
    assert trait("rotary", cat) is None


def test_every_trait_states_what_it_promises():
    ops = [gemm(256, 512, 131072), gemm(131072, 32, 32), op_facts("aten::copy_", types=(BF16, "float"))]
    for op in ops:
        for entry in TRAITS.values():
            facts = entry.test(op, context(SOFTMAX, BMM))
            assert facts is None or set(facts) == set(entry.provides)


def test_shapes_look_into_tensor_lists():
    assert shapes_in((((2, 3), (4,)), (), (5, 6))) == [(2, 3), (4,), (5, 6)]


def conv(found, weight, *, stride=None, groups=1, **more):
    params = {"input_shape": str(found), "filter_shape": str(weight), "stride": str(stride or [1, 1]), "groups": groups}
    return op_facts("aten::convolution", category="conv_fwd", params=params, **more)


def test_kinds_of_convolutions_by_their_shapes():
    patches = conv([1, 3, 1008, 1008], [1024, 3, 14, 14], stride=[14, 14])
    assert trait("patch_embedding", patches) == {"patch": 14, "channels": 3}
    assert trait("patch_embedding", conv([1, 3, 224, 224], [64, 3, 7, 7], stride=[2, 2])) is None
    depthwise = conv([8, 1024, 56, 56], [1024, 1, 3, 3], groups=1024)
    assert trait("depthwise", depthwise) == {"channels": 1024}
    assert trait("depthwise", conv([8, 1024, 56, 56], [1024, 512, 3, 3], groups=2)) is None
    pointwise = conv([8, 1024, 14, 14], [2048, 1024, 1, 1])
    assert trait("pointwise", pointwise) == {"channels": 1024, "filters": 2048}
    assert trait("pointwise", conv([8, 1024, 14, 14], [2048, 1024, 3, 3])) is None
    assert trait("narrow_channels", conv([8, 3, 14, 14], [64, 3, 3, 3])) == {"odd_channels": 3}
    assert trait("narrow_channels", conv([8, 3, 14, 14], [64, 3, 3, 3], precision="fp32")) is None
    assert trait("narrow_channels", conv([8, 16, 14, 14], [64, 16, 3, 3])) is None
    assert trait("volumetric", conv([2, 4, 8, 8, 8], [4, 4, 3, 3, 3])) == {}
    assert trait("volumetric", pointwise) is None
    assert trait("few_images", patches) == {"images": 1}
    assert trait("few_images", pointwise) is None


@pytest.mark.parametrize("shape", ["[1,", "", "nonsense", "[1.5, 2]"])
def test_shapes_that_are_none_have_no_traits(shape):
    op = op_facts(params={"input_shape": shape, "filter_shape": "[8, 8, 1, 1]", "groups": 1})
    assert all(trait(name, op) is None for name in ("patch_embedding", "depthwise", "pointwise", "few_images"))


def test_norms_with_few_channels_or_short_rows():
    norm = op_facts("aten::batch_norm", category="norm_fwd", params={"num_channels": 64})
    assert trait("few_channels", norm) == {"channels": 64, "sms": 304}
    assert trait("few_channels", op_facts("aten::batch_norm", params={"num_channels": 304})) is None
    assert trait("few_channels", op_facts("aten::layer_norm", params={"num_channels": 64})) is None
    rows = op_facts("aten::layer_norm", category="norm_fwd", dims=((16, 559, 1024),))
    assert trait("short_rows", rows) == {"rows": 16 * 559, "row": 1024}
    assert trait("short_rows", op_facts("aten::layer_norm", dims=((16, 559, 2048),))) is None
    assert trait("short_rows", op_facts("aten::layer_norm", dims=((16, 500, 1024),))) is None  # 8,000 rows


def test_reductions_by_rows_and_results():
    few = op_facts("aten::sum", category="reduce", params={"num_output_elems": 32}, mib=64.0)
    assert trait("few_results", few) == {"results": 32, "sms": 304}
    assert trait("few_results", op_facts("aten::sum", params={"num_output_elems": 32}, mib=3.9)) is None
    assert trait("few_results", op_facts("aten::sum", params={"num_output_elems": 304}, mib=64.0)) is None
    softmax = op_facts("aten::_softmax", category="reduce", dims=((16, 5185, 5185),))
    assert trait("long_rows", softmax) == trait("odd_rows", softmax) == {"row": 5185}
    assert trait("odd_rows", op_facts("aten::_softmax", dims=((16, 8, 4096),))) is None
    assert trait("long_rows", op_facts("aten::_softmax", dims=((16, 8, 1024),))) is None
    logits = op_facts("aten::_log_softmax", dims=((8192, 128256),))
    assert trait("vocabulary", logits) == {"classes": 128256}
    assert trait("vocabulary", op_facts("aten::_log_softmax", dims=((8192, 1000),))) is None
    mean = op_facts("aten::mean", dims=((64, 4096),))
    variance = OtherOp("aten::var", "reduce", ((64, 4096),), 1, 1.0)
    assert trait("mean_and_variance", mean, variance) == {"variance": "aten::var"}
    assert trait("mean_and_variance", mean, OtherOp("aten::var", "reduce", ((64, 2048),), 1, 1.0)) is None


def test_experts_with_few_rows_each():
    few = op_facts(category="moe_fused", params={"M": 16, "E": 64, "topk": 2})
    assert trait("few_rows_per_expert", few) == {"tokens": 16, "experts": 64, "topk": 2}
    assert trait("few_rows_per_expert", op_facts(params={"M": 512, "E": 16, "topk": 2})) is None  # 64 rows each
    assert trait("many_tokens", op_facts(params={"M": 2048})) == {"tokens": 2048}
    assert trait("many_tokens", few) is None


def test_generated_kernels_by_their_names_and_numbers():
    moving = op_facts("triton_poi_fused_clone_3", params={"fused_ops": "aten.clone, aten.mul"})
    assert trait("moving", moving) == {"mover": "clone"}
    assert trait("moving", op_facts(params={"fused_ops": "aten.add, aten.mul"})) is None
    assert trait("moving", op_facts(params={"fused_ops": "aten.concat_nothing"})) is None
    column = op_facts("triton_red_fused_sum_7", params={"xnumel": 64, "rnumel": 32768})
    assert trait("few_programs", column) == {"results": 64, "length": 32768, "sms": 304}
    assert trait("few_programs", op_facts(params={"xnumel": 4096, "rnumel": 2048})) is None
    looped = op_facts("triton_red_fused_mean_1", params={"xnumel": 8192, "rnumel": 2432})
    assert trait("fitting_loop", looped) == {"length": 2432}
    assert trait("fitting_loop", op_facts("triton_per_fused_mean_1", params={"rnumel": 2432})) is None
