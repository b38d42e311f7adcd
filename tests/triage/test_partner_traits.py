"""Traits that look at partners in the run, at how calls differ, and at what the arguments of one op say."""

from dataclasses import replace

import pytest

from tests.triage.making import BF16, TENSILE, context, op_facts
from tracelens_tui.triage.facts import KernelFact, OtherOp
from tracelens_tui.triage.traits import TRAITS


def trait(name, op, *others, **run):
    return TRAITS[name].test(op, context(*others, **run))


def other(name, *shapes, category="elementwise"):
    return OtherOp(name, category, shapes, 10, 1.0)


def product(m, n, k):
    return other("aten::mm", (m, k), (k, n), category="gemm")


HIDDEN = (16, 512, 1024)


def test_calls_differ_only_where_their_arguments_are_known_to_agree():
    assert trait("varying", replace(op_facts(dims=(HIDDEN,)), spread=1.5)) == {"spread": 1.5}
    assert trait("varying", op_facts(dims=(HIDDEN,))) is None
    assert trait("varying", replace(op_facts(), spread=1.5)) is None


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [  # time in ms, number of runs; the op has ten calls
        ([("fast", 4.0, 8), ("slow", 3.0, 2)], {"variants": 2, "slower": 3.0}),  # 0.5 and 1.5 ms a run
        ([("fast", 4.0, 8), ("slow", 1.25, 2)], None),  # 0.5 and 0.625 ms
        ([("one", 4.0, 10), ("two", 30.0, 10)], None),  # each call runs both
        ([("one", 4.0, 8), ("two", 30.0, 4)], None),  # some calls run both
        ([("one", 4.0, 4), ("two", 30.0, 4)], None),  # some calls run none
        ([("one", 4.0, 10)], None),
    ],
)
def test_one_shape_on_several_kernels(kernels, expected):
    op = replace(op_facts(dims=(HIDDEN,), count=10), kernels=tuple(KernelFact(*kernel) for kernel in kernels))
    assert trait("several_kernels", op) == expected
    assert trait("several_kernels", replace(op, dims=())) is None


def test_neighbours_of_the_same_shape():
    norm = op_facts("aten::layer_norm", dims=(HIDDEN,))
    assert trait("beside_addition", norm, other("aten::add", HIDDEN, HIDDEN)) == {"addition": "aten::add"}
    assert trait("beside_addition", norm, other("aten::add", (16, 512, 1023))) is None
    assert trait("beside_addition", norm, other("aten::addmm", HIDDEN)) is None
    assert trait("beside_conversion", norm, other("aten::_to_copy", HIDDEN)) == {}
    assert trait("beside_conversion", norm, other("aten::clone", HIDDEN)) is None
    quantiser = other("vllm::per_token_quant", HIDDEN)
    assert trait("before_quantisation", norm, quantiser) == {"quantiser": "vllm::per_token_quant"}
    assert trait("before_quantisation", norm, other("bnb::dequantize", HIDDEN)) is None


def test_an_addition_with_the_sides_of_a_product_s_output():
    bias = op_facts("aten::add", dims=(HIDDEN, (1024,)))
    assert trait("gemm_output", bias, product(8192, 1024, 4096)) == {"product": "aten::mm"}  # 16 * 512 rows
    assert trait("gemm_output", bias, product(8192, 1023, 4096)) is None
    assert trait("gemm_output", op_facts("aten::mul", dims=(HIDDEN,)), product(8192, 1024, 4096)) is None


def test_copies_of_operands_and_conversions_of_weights():
    shape = (4096, 1024)
    turned = op_facts("aten::copy_", dims=(shape, shape), types=(BF16, BF16), strides=((1024, 1), (1, 4096)))
    assert trait("operand_copy", turned, product(8, 4096, 1024)) == {"product": "aten::mm"}  # the weight is 1024x4096
    assert trait("operand_copy", turned, product(8, 4096, 1025)) is None
    assert trait("operand_copy", replace(turned, strides=((1024, 1), (1024, 1))), product(8, 4096, 1024)) is None
    cast = op_facts("aten::copy_", dims=(shape, shape), types=(BF16, "float"))
    assert trait("weight_cast", cast, product(8, 4096, 1024), training=True) == {"product": "aten::mm"}
    assert trait("weight_cast", cast, product(8, 4096, 1024)) is None
    assert trait("weight_cast", turned, product(8, 4096, 1024), training=True) is None


def test_conversions_of_scores_and_copies_of_heads():
    scores = (2, 8, 512, 512)
    cast = op_facts("aten::_to_copy", dims=(scores, scores), types=("float", BF16))
    assert trait("scores_cast", cast, other("aten::_softmax", scores, category="reduce")) == {
        "softmax": "aten::_softmax"
    }
    assert trait("scores_cast", cast, other("aten::_softmax", (2, 8, 64, 64), category="reduce")) is None
    heads = op_facts("aten::clone", dims=((2, 4, 8, 512, 64),))  # four heads, each eight times
    attention = other("aten::_flash_attention_forward", (2, 512, 32, 64), category="sdpa_fwd")
    assert trait("repeated_heads", heads, attention) == {"repeats": 8, "attention": "aten::_flash_attention_forward"}
    assert trait("repeated_heads", heads, other("flash", (2, 64, 24, 64), category="sdpa_fwd")) is None
    assert trait("repeated_heads", op_facts("aten::clone", dims=((2, 32, 1, 512, 64),)), attention) is None


def test_parts_of_rms_norms_and_rotary_embeddings():
    root = other("aten::rsqrt", (16, 512, 1))
    square, mean = op_facts("aten::pow", dims=(HIDDEN,)), op_facts("aten::mean", dims=(HIDDEN,))
    assert trait("rms_square", square, other("aten::mean", HIDDEN), root) == {}
    assert trait("rms_square", square, other("aten::mean", HIDDEN)) is None
    assert trait("rms_mean", mean, other("aten::pow", HIDDEN), root) == {}
    assert trait("rms_mean", mean, other("aten::pow", (16, 512, 64)), root) is None
    half = (2, 32, 512, 64)
    negation = op_facts("aten::neg", dims=(half,))
    assert trait("rotary_part", negation, OtherOp("aten::cat", "other", ((half, half),), 1, 1.0)) == {}
    assert trait("rotary_part", negation, OtherOp("aten::cat", "other", ((half, half, half),), 1, 1.0)) is None


def gemm(m, n, k, **more):
    return op_facts(params={"M": m, "N": n, "K": k}, **more)


def test_products_that_look_like_experts():
    experts = [product(m, 14336, 4096) for m in range(10, 18)]
    assert trait("like_experts", gemm(10, 14336, 4096), *experts) == {"products": 8, "n": 14336, "k": 4096}
    assert trait("like_experts", gemm(10, 14336, 4096), *experts[1:]) is None
    assert trait("like_experts", gemm(10, 14336, 4097), *experts) is None
    assert trait("like_experts", gemm(8192, 14336, 4096), *experts) is None  # more rows than one expert gets


def test_products_with_the_same_input_and_few_tiles():
    # tiles of 256x256 on 304 units: 2 * 4 = 8
    facts = {"m": 1024, "k": 2048, "waves": 8 / 304}
    assert trait("same_input", gemm(1024, 512, 2048, kernels=(TENSILE,)), product(1024, 256, 2048)) == facts
    assert trait("same_input", gemm(1024, 512, 2048, kernels=(TENSILE,)), product(1024, 512, 2048)) is None  # itself
    assert trait("same_input", gemm(1024, 512, 2048, kernels=(TENSILE,)), product(1023, 256, 2048)) is None
    assert trait("same_input", gemm(8192, 8192, 2048, kernels=(TENSILE,)), product(8192, 256, 2048)) is None


def test_a_router_needs_expert_layers():
    layer = other("vllm::rocm_aiter_fused_moe", (16, 4096), category="moe_fused")
    assert trait("router", gemm(16, 64, 4096), layer) == {"n": 64}
    assert trait("router", gemm(16, 64, 4096)) is None
    assert trait("router", gemm(16, 1024, 4096), layer) is None


def test_grouped_products_with_few_rows_each():
    assert trait("few_rows_per_group", op_facts(params={"G": 64, "M": 4095})) == {"groups": 64, "rows": 4095}
    assert trait("few_rows_per_group", op_facts(params={"G": 64, "M": 4096})) is None  # 64 rows each
    assert trait("few_rows_per_group", op_facts(params={"G": 1, "M": 8})) is None


def test_choices_and_sums_over_rows():
    assert trait("sampling", op_facts("aten::argmax", dims=((8, 128256),))) == {"classes": 128256}
    assert trait("sampling", op_facts("aten::argmax", dims=((8, 4096),))) is None
    assert trait("sampling", op_facts("aten::sum", dims=((8, 128256),))) is None
    gradient = op_facts("aten::sum", dims=((8192, 4096),), params={"num_output_elems": 4096})
    assert trait("column_sum", gradient) == {"rows": 8192}
    assert trait("column_sum", replace(gradient, params={"num_output_elems": 8192})) is None
    assert trait("column_sum", replace(gradient, dims=((4096, 4096),))) is None  # which side is summed is open


def test_convolutions_by_their_other_parameters():
    conv = op_facts(params={"input_shape": "[8, 64, 56, 56]", "filter_shape": "[256, 64, 1, 1]", "bias": True})
    norm = other("aten::batch_norm", (8, 256, 56, 56), category="norm_fwd")
    assert trait("bias_before_norm", conv, norm) == {}
    assert trait("bias_before_norm", conv, other("aten::batch_norm", (8, 64, 56, 56))) is None
    assert trait("bias_before_norm", replace(conv, params={**conv.params, "bias": False}), norm) is None
    assert trait("transposed", op_facts(params={"transposed_conv": True})) == {}
    assert trait("transposed", op_facts(params={"transposed_conv": False})) is None
    assert trait("dilated", op_facts(params={"dilation": "[1, 4]"})) == {}
    assert trait("dilated", op_facts(params={"dilation": "[1, 1]"})) is None


def test_bytes_that_become_floating_point():
    image = (8, 3, 224, 224)
    assert trait("bytes_widened", op_facts("aten::copy_", dims=(image, image), types=("float", "unsigned char"))) == {}
    assert trait("bytes_widened", op_facts("aten::copy_", dims=(image, image), types=(BF16, "float"))) is None


def test_every_partner_trait_states_what_it_promises():
    ops = [op_facts("aten::layer_norm", dims=(HIDDEN,)), gemm(16, 64, 4096), op_facts("aten::pow", dims=(HIDDEN,))]
    run = context(other("aten::add", HIDDEN), other("q::quant", HIDDEN), other("moe", (1, 1), category="moe_fused"))
    for op in ops:
        for entry in TRAITS.values():
            facts = entry.test(op, run)
            assert facts is None or set(facts) == set(entry.provides)
