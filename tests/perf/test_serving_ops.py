"""Gated activations, rotary embedding and quantisation: TraceLens's counts, bytes worked out by hand."""

import pytest

from tests.perf.calling import BF16, FP16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of

S, LONG, FP8, BYTE = "Scalar", "long int", "c10::Float8_e4m3fn", "unsigned char"


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("_C::silu_and_mul", [[7, 96], [7, 192]], BF16, [], (5 * 672, 4 * 672, 2 * 672)),
        ("aiter::gelu_and_mul", [[2, 8], [2, 16]], FP16, [], (128, 64, 32)),
        ("sgl_kernel::gelu_tanh_and_mul", [[2, 8], [2, 16]], FP32, [], (160, 128, 64)),
        ("_C::silu_and_mul_quant", [[2, 8], [2, 16], [1]], [FP8, BF16, FP32], [], (96, 64 + 4, 16)),
        ("_C::gelu_fast", [[3, 5], [3, 5]], BF16, [], (15, 30, 30)),
        ("aten::glu", [[4, 6], []], [FP32, S], ["", "-1"], (24, 96, 48)),
        ("aten::glu_backward", [[4, 3], [4, 6], []], [FP32, FP32, S], ["", "", "-1"], (48, 144, 96)),
        ("aten::elu_backward", [[9], [], [], [], [], [9]], [BF16, S, S, S, S, BF16], [], (9, 36, 18)),
        ("aten::mish_backward", [[9], [9]], BF16, [], (9, 36, 18)),
        ("aten::softplus_backward", [[9], [9], [], []], [FP32, FP32, S, S], [], (9, 72, 36)),
        ("aten::logit", [[9], []], [FP32, ""], [], (9, 36, 36)),
        ("LigerGELUMulFunction", [[3, 5], [3, 5]], BF16, [], (15, 60, 30)),
        ("LigerSiLUMulFunctionBackward", [[3, 5]], BF16, [], (75, 90, 60)),
    ],
)
def test_activations(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("FusedRoPEFunc", [[16, 2, 4, 8], [16, 1, 1, 8]], [BF16, FP32], [], (3 * 1024, 2048 + 512, 2048)),
        ("aiter::rope_cached_positions_2c_fwd_impl", [[], [], [5, 1, 8, 64], [5, 1, 2, 64]], ["", "", BF16, BF16], [],
         (3 * 3200, 6400, 6400)),
        ("LigerRopeFunction", [[1, 8, 5, 64], [1, 2, 5, 64], [1, 5, 64], [1, 5, 64]], FP16, [],
         (3 * 3200, 6400 + 1280, 6400)),
        # 32 of the 64 of each head are rotated, the others copied
        ("ApplyRotaryEmb", [[1, 5, 8, 64], [5, 16], [5, 16]], BF16, [], (3 * 1280, 5120 + 320, 5120)),
        # 8 and 2 heads of 128, of which 64 are rotated; five rows of the table, and the positions
        ("_C::rotary_embedding", [[5], [5, 1024], [5, 256], [], [4096, 64], []], [LONG, BF16, BF16, S, BF16, S],
         ["", "", "", "128", "", "True"], (3 * 3200, 6400 + 640 + 40, 6400)),
        ("sgl_kernel::rotary_embedding", [[3], [3, 64], [], [], [2, 64], []], [LONG, BF16, "", S, BF16, S],
         ["", "", "", "64", "", "True"], (576, 384 + 256 + 24, 384)),
        # T = 3 tokens, 16 heads of 512 + 64; the cache has one head
        ("aiter::fused_qk_rope_concat_and_cache_mla",
         [[3, 16, 512], [3, 16, 64], [3, 512], [3, 64], [9, 576], [3, 16, 576]],
         [BF16, BF16, BF16, BF16, FP8, FP8], [], (3 * 3 * 64 * 17, 2 * 3 * 17 * 576, 3 * 16 * 576 + 3 * 576)),
    ],
)  # fmt: skip
def test_rotary_embedding(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


X = [7, 384]
N = 7 * 384


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aiter::dynamic_per_token_scaled_quant", [X, X, [7]], [FP8, BF16, FP32], [], (N * 83 // 32, 2 * N, N + 28)),
        ("vllm::triton_per_token_group_quant_fp8", [X, []], [BF16, S], ["", "100"], (6 * N, 2 * N, N + 4 * 7 * 4)),
        ("vllm::triton_per_token_group_quant_fp8", [X], [BF16], [], (6 * N, 2 * N, N + 4 * 7 * 3)),
        ("sglang_profiler::quant_dynamic_mxfp4_quant", [X], BF16, [], (2 * N, 2 * N, N // 2 + N // 32)),
        ("aiter::dynamic_per_group_scaled_quant_fp4", [[], [3, 5]], ["", BF16], [], (30, 30, 8)),
        ("primus_turbo::quantize_fp8_tensorwise", [X], BF16, [], (N, 2 * N, N)),
        ("primus::quantize_mxfp4_dual", [[7, 65]], BF16, [], (455, 910, 2 * 228 + 7 * 3 + 65)),
        ("aiter::mixed_sample_outer_exponential", [[3], [3, 50], [3, 50]], ["int", BF16, FP32], [], (300, 900, 12)),
        ("_C::static_scaled_fp8_quant", [X, X, [1]], [FP8, BF16, FP32], [], (N, 2 * N + 4, N)),
        ("_C::dynamic_scaled_int8_quant", [X, X, [7, 1]], ["signed char", BF16, FP32], [], (2 * N, 2 * N, N + 28)),
        ("sgl_kernel::sgl_per_token_quant_fp8", [X, X, [7, 1]], [BF16, FP8, FP32], [], (2 * N, 2 * N, N + 28)),
        ("_C::scaled_fp4_quant", [[7, 192], X, [128, 24], [1]], [BYTE, BF16, BYTE, FP32], [],
         (2 * N, 2 * N + 4, N // 2 + 3072)),
        ("aten::quantize_per_tensor", [[9], [], [], []], [FP32, S, S, S], ["", "0.1", "0", "13"], (18, 36, 9)),
        ("aten::dequantize", [[9]], ["c10::quint8"], [], (18, 9, 36)),
        ("aten::fake_quantize_per_tensor_affine_cachemask", [[9], [], [], [], []], [FP32, S, S, S, S], [],
         (45, 36, 45)),
        # rows of 256 bytes and two fp32 scales; 6 columns are padded to 8
        ("fbgemm::FP8RowwiseQuantizedToFloat", [[10, 264], []], [BYTE, S], [], (2560, 2640, 10_240)),
        ("fbgemm::FloatToFP8RowwiseQuantized", [[10, 6], []], [FP32, S], [], (120, 240, 160)),
        ("fbgemm::HFP8QuantizedToFloat", [[100], [], []], [BYTE, S, S], [], (100, 100, 400)),
    ],
)  # fmt: skip
def test_quantisation(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete"),
    [
        ("_C::silu_and_mul", [[7, 96], [7, 96]], BF16, []),  # the input has one half only
        ("aten::glu", [[4, 5], []], [FP32, S], ["", "-1"]),
        ("_C::rotary_embedding", [[5], [5, 1024], [5, 256], [], [4096, 64], []], BF16, []),  # no head size
        ("_C::static_scaled_fp8_quant", [[], X], ["", BF16], []),
        ("fbgemm::FP8RowwiseQuantizedToFloat", [[10, 4]], [BYTE], []),
    ],
)
def test_no_answer(name, dims, types, concrete):
    assert cost_of(args(name, dims, types, concrete)) is None
