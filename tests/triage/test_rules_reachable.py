"""Each rule leads for some operation: none is dead, and none always stands behind an earlier one.

For each rule operations are made that meet its condition: an op and a kernel whose names match, values inside its
ranges, and what its traits ask for.  For one of them the rule must be the first that applies.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pytest

from tests.triage.making import BF16, TENSILE, context, op_facts
from tracelens_tui.triage import advice
from tracelens_tui.triage.advice import Range, Rule, When
from tracelens_tui.triage.agents import AGENTS
from tracelens_tui.triage.facts import KernelFact, OpFacts, OtherOp, RunContext
from tracelens_tui.triage.match import Subject, applies
from tracelens_tui.triage.traits import TRAITS, traits_of

COMPUTE = [agent.id for agent in AGENTS if agent.tier == "compute"]
RULES = [(agent, rule) for agent in COMPUTE for rule in advice.rules_of(agent)]

OPS = [
    "custom::op", "aten::add", "aten::bmm", "aten::any", "aten::isnan", "aten::where", "aten::zero_", "aten::cat",
    "aten::sort", "aten::nonzero", "aten::index_put_", "aten::cumsum", "aten::linalg_vector_norm", "aten::linalg_svd",
    "aten::native_dropout", "aten::embedding_dense_backward", "aten::_foreach_add_", "aten::addcmul_", "aten::sum",
    "aten::_softmax", "aten::layer_norm", "aten::native_group_norm", "aten::batch_norm", "aten::batch_norm_stats",
    "aten::_scaled_dot_product_attention_math", "fbgemm::lookup", "bitsandbytes::dequantize_4bit", "triton_",
    "triton_poi_fused_add_0", "triton_poi_fused_clone_0", "triton_tem_fused_mm_2", "my_kernel",
]  # fmt: skip
KERNELS = [
    "some_kernel", TENSILE, "Cijk_Ailk_Bljk_SB_MT64x64x16", "Cijk_Alik_Bljk_BBS_BH_MT128x128x64",
    "ampere_sgemm_128x64_tn", "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align2",
    "splitKreduce_kernel", "cublasLt::epilogue::impl::globalKernel", "pytorch_flash::flash_fwd_kernel", "attn_fwd",
    "flash_fwd_splitkv_combine", "reshape_and_cache_kernel", "void at::native::vectorized_elementwise_kernel<4>",
    "Memcpy DtoD (Device -> Device)", "void at::native::elementwise_kernel_manual_unroll<128>",
    "cunn_SoftMaxForward<8>", "GammaBetaBackwardCUDAKernel", "LayerNormForwardCUDAKernel",
    "vectorized_layer_norm_kernel", "nchwToNhwcKernel", "batched_transpose_32x32_half", "naive_conv_ab_nonpacked_fwd",
    "Im2d2Col", "SubTensorOpWithScalar1d", "scudnn_128x64_relu", "fused_moe_kernel", "moe_align_block_size_kernel",
    "fmoe_bf16_g1u1", "max_pool_forward_nchw",
]  # fmt: skip

SCORES = (2, 8, 512, 512)
HIDDEN = (16, 1024, 1024)
MM = OtherOp("aten::mm", "gemm", ((8, 1024), (1024, 4096)), 1, 1.0)
EXPERTS = tuple(OtherOp("aten::mm", "gemm", ((m, 4096), (4096, 14336)), 1, 1.0) for m in range(9, 17))


@dataclass(frozen=True)
class Given:
    """What an operation and its run must have."""

    name: str | None = None
    others: tuple[OtherOp, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


def partner(name: str, *shapes: tuple, category: str = "elementwise") -> tuple[OtherOp, ...]:
    return (OtherOp(name, category, shapes, 10, 1.0),)


def conv(found: str, weight: str, **params: Any) -> Given:
    return Given(params={"input_shape": found, "filter_shape": weight, "groups": 1, **params})


def shaped(name: str | None, *shapes: tuple, others: tuple[OtherOp, ...] = (), **more: Any) -> Given:
    return Given(name, others, fields={"dims": shapes, **more})


COPY: dict[str, Any] = {"types": (BF16, BF16), "strides": ((1, 8), (8, 1))}
CAST: dict[str, Any] = {"types": (BF16, "float")}

EXAMPLES = {
    "misaligned": Given(params={"M": 4096, "N": 4097, "K": 4096}),
    "few_tiles": Given(params={"M": 256, "N": 512, "K": 1024}),
    "wave_tail": Given(params={"M": 5120, "N": 4352, "K": 2048}),  # 20 * 17 = 340 tiles of 256x256 on 304 units
    "deep": Given(params={"M": 256, "N": 512, "K": 131072}),
    "skinny": Given(params={"M": 131072, "N": 32, "K": 32}),
    "channel_stride": Given(params={"M": 4096, "N": 4096, "K": 1024}),
    "attention_scores": Given(
        "aten::bmm", partner("aten::_softmax", SCORES, category="reduce"), {"M": 512, "N": 512, "K": 64, "B": 16}
    ),
    "like_experts": Given("aten::mm", EXPERTS, {"M": 9, "N": 14336, "K": 4096}),
    "same_input": Given("aten::mm", (replace(MM, dims=((1024, 2048), (2048, 256))),), {"M": 1024, "N": 512, "K": 2048}),
    "router": Given("aten::mm", partner("moe", (1, 1), category="moe_fused"), {"M": 16, "N": 64, "K": 4096}),
    "softmax_of_scores": shaped(
        "aten::_softmax", SCORES, others=partner("aten::bmm", (16, 512, 64), (16, 64, 512), category="gemm")
    ),
    "padded_head": Given(params={"d_h_qk": 80, "N_Q": 4096, "N_KV": 4096}),
    "dense_mask": shaped("aten::_scaled_dot_product_efficient_attention", HIDDEN, HIDDEN, HIDDEN, SCORES),
    "few_kv_blocks": Given(params={"B": 1, "H_KV": 8}),
    "slow_backward": shaped(
        "backward", HIDDEN, others=partner("forward", HIDDEN, category="sdpa_fwd"), category="sdpa_bwd"
    ),
    "rotary": shaped("aten::cat", ((2, 8, 64), (2, 8, 64)), others=partner("aten::neg", (2, 8, 64))),
    "cast": shaped("aten::copy_", HIDDEN, HIDDEN, **CAST),
    "layout_copy": shaped("aten::copy_", HIDDEN, HIDDEN, **COPY),
    "attention_copy": shaped(
        "aten::copy_", SCORES, SCORES, others=partner("flash", SCORES, category="sdpa_fwd"), types=(BF16, BF16)
    ),
    "broadcast": shaped(None, HIDDEN, (1024,)),
    "square_mask": shaped("aten::where", SCORES),
    "int64_math": shaped("aten::add", HIDDEN, types=("long int",)),
    "self_gated": shaped("aten::sigmoid", HIDDEN, others=partner("aten::mul", HIDDEN)),
    "overlapped": Given(fields={"exposed_ms": 0.001}),
    "repeated": Given(fields={"count": 300, "time_ms": 2.4}),
    "bytes_widened": shaped("aten::copy_", HIDDEN, HIDDEN, types=("float", "unsigned char")),
    "few_channels": Given("aten::batch_norm", params={"num_channels": 64}),
    "few_results": Given(params={"num_output_elems": 32}),
    "long_rows": shaped("aten::_softmax", (64, 4096)),
    "odd_rows": shaped("aten::_softmax", (64, 3137)),
    "vocabulary": shaped("aten::_log_softmax", (8192, 128256)),
    "sampling": shaped("aten::argmax", (8, 128256)),
    "column_sum": Given("aten::sum", params={"num_output_elems": 4096}, fields={"dims": ((8192, 4096),)}),
    "mean_and_variance": shaped("aten::mean", HIDDEN, others=partner("aten::var", HIDDEN)),
    "short_rows": shaped("aten::layer_norm", HIDDEN),
    "patch_embedding": conv("[1, 3, 224, 224]", "[1024, 3, 14, 14]", stride="[14, 14]"),
    "depthwise": conv("[8, 64, 56, 56]", "[64, 1, 3, 3]", groups=64),
    "pointwise": conv("[8, 64, 56, 56]", "[256, 64, 1, 1]"),
    "narrow_channels": conv("[8, 12, 56, 56]", "[64, 12, 3, 3]"),
    "volumetric": conv("[8, 16, 8, 56, 56]", "[16, 16, 3, 3, 3]"),
    "few_images": conv("[1, 64, 56, 56]", "[64, 64, 3, 3]"),
    "transposed": conv("[8, 64, 56, 56]", "[64, 64, 4, 4]", transposed_conv=True),
    "dilated": conv("[8, 64, 56, 56]", "[64, 64, 3, 3]", dilation="[4, 4]"),
    "bias_before_norm": replace(
        conv("[8, 64, 56, 56]", "[64, 64, 3, 3]", bias=True),
        others=partner("aten::batch_norm", (8, 64, 56, 56), category="norm_fwd"),
    ),
    "few_rows_per_group": Given(params={"G": 64, "M": 512, "N": 4096, "K": 4096}),
    "few_rows_per_expert": Given(params={"M": 16, "E": 64, "topk": 2}),
    "many_tokens": Given(params={"M": 4096, "E": 8, "topk": 2}),
    "moving": Given("triton_poi_fused_clone_mul_1", params={"fused_ops": "aten.clone, aten.mul"}),
    "few_programs": Given("triton_red_fused_sum_1", params={"xnumel": 64, "rnumel": 32768}),
    "fitting_loop": Given("triton_red_fused_sum_1", params={"xnumel": 8192, "rnumel": 4096}),
    "beside_conversion": shaped(None, HIDDEN, others=partner("aten::_to_copy", HIDDEN)),
    "beside_addition": shaped("aten::layer_norm", HIDDEN, others=partner("aten::add", HIDDEN)),
    "before_quantisation": shaped("aten::layer_norm", HIDDEN, others=partner("c::quantize", HIDDEN)),
    "gemm_output": shaped(
        "aten::add", HIDDEN, (1024,), others=(replace(MM, dims=((16384, 64), (64, 1024))),)
    ),
    "operand_copy": shaped("aten::copy_", (1024, 4096), (1024, 4096), others=(MM,), **COPY),
    "weight_cast": shaped("aten::copy_", (1024, 4096), (1024, 4096), others=(MM,), **CAST),
    "scores_cast": shaped(
        "aten::copy_", SCORES, SCORES, others=partner("aten::_softmax", SCORES, category="reduce"), **CAST
    ),
    "repeated_heads": shaped(
        "aten::clone", (2, 4, 8, 512, 64), others=partner("flash", (2, 32, 512, 64), category="sdpa_fwd")
    ),
    "rms_mean": shaped(
        "aten::mean", HIDDEN, others=(*partner("aten::pow", HIDDEN), *partner("aten::rsqrt", (16, 1024, 1)))
    ),
    "rms_square": shaped(
        "aten::pow", HIDDEN, others=(*partner("aten::mean", HIDDEN), *partner("aten::rsqrt", (16, 1024, 1)))
    ),
    "rotary_part": shaped(
        "aten::neg", (2, 8, 64), others=(OtherOp("aten::cat", "other", (((2, 8, 64), (2, 8, 64)),), 1, 1.0),)
    ),
    "varying": shaped(None, HIDDEN, spread=1.5),
    "several_kernels": shaped(None, HIDDEN, kernels=(KernelFact("fast", 4.0, 8), KernelFact("slow", 3.0, 2))),
}  # fmt: skip
"""For each trait what gives it."""


def test_there_is_an_example_of_every_trait():
    assert set(EXAMPLES) == set(TRAITS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_trait(name):
    given = EXAMPLES[name]
    assert any(
        name in traits_of(op, run) for op, run in operations(Rule.model_construct(when=When(traits=[name])), given)
    )


@pytest.mark.parametrize(("agent", "rule"), RULES, ids=[f"{agent}-{rule.id}" for agent, rule in RULES])
def test_every_rule_leads_for_some_operation(agent, rule):
    given = merged([EXAMPLES[name] for name in rule.when.traits])
    rules = advice.all_rules(agent)
    leading = set()
    for op, run in operations(rule, given):
        for best in siblings(op):
            subject = Subject(op, run, traits_of(op, run), best)
            if not applies(rule.when, subject):
                continue
            first = next((one for one in rules if applies(one.when, subject)), None)
            if first is not None and first.id == rule.id:
                return
            leading.add(first.id if first else None)
    pytest.fail(f"{rule.id} never leads; before it stand {sorted(map(str, leading))}")


def merged(parts: Sequence[Given]) -> Given:
    """What several traits ask for together."""
    return Given(
        name=next((one.name for one in parts if one.name), None),
        others=tuple(other for one in parts for other in one.others),
        params={name: value for one in parts for name, value in one.params.items()},
        fields={name: value for one in parts for name, value in one.fields.items()},
    )


def inside(wanted: Range | None, usual: Sequence[float]) -> list[float]:
    """The usual values in a range, else an end of it."""
    if wanted is None:
        return list(usual)
    found = [value for value in usual if wanted.holds(value)]
    return found or [wanted.max if wanted.max != float("inf") else wanted.min]


def operations(rule: Rule, given: Given) -> Iterator[tuple[OpFacts, RunContext]]:
    """Operations that may meet the condition, with their runs."""
    when = rule.when
    names = [given.name] if given.name else named(when.op, OPS)
    kernels = named(when.kernel or (when.kernel_share.pattern if when.kernel_share else None), KERNELS)
    params = {**{name: inside(wanted, (1, 64, 4096, 20000))[0] for name, wanted in when.params.items()}, **given.params}
    rates: list[float | None] = [rate / 100 for rate in inside(when.efficiency, (5, 35, 55, 70, 90))]
    if when.modelled is not None or when.efficiency is None:
        rates = [None] if when.modelled is False else rates if when.modelled else [*rates, None]
    for name, kernel, rate, bound, vendor, training, mean_us in product(
        names,
        kernels,
        rates,
        [when.bound] if when.bound else ["memory", "compute"],
        [when.vendor] if when.vendor else ["AMD", "NVIDIA", ""],
        [False, True] if when.training is None else [when.training],
        inside(when.mean_us, (2, 40, 1000)),
    ):
        count = int(inside(when.calls, (10, 500))[0])
        values: dict[str, Any] = {
            "category": when.category[0] if when.category else "some",
            "precision": when.precision[0] if when.precision else "bf16",
            "library": when.library[0] if when.library else None,
            "share": inside(when.share, (10,))[0],
            "mib": inside(when.mib, (64, 3))[0],
            "count": count,
            "time_ms": mean_us * count / 1e3,
            **{name: value for name, value in given.fields.items() if name not in ("kernels", "spread")},
        }
        op = op_facts(name, params=params, kernels=(kernel,), efficiency=rate, bound=bound if rate else None, **values)
        op = replace(op, **{name: given.fields[name] for name in ("kernels", "spread") if name in given.fields})
        arch = when.arch[0] if when.arch else "gfx942"
        yield op, context(*given.others, vendor=vendor, training=training, arch=arch)


def named(pattern: str | None, names: Sequence[str]) -> list[str]:
    """The names that a pattern finds; without one the first, which says nothing, and the second."""
    return [name for name in names if re.search(pattern, name)] if pattern else list(names[:2])


def siblings(op: OpFacts) -> list[OpFacts | None]:
    return [None, op_facts(efficiency=0.8), op_facts(efficiency=0.95)] if op.efficiency else [None]
