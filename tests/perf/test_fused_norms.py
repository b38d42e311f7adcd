"""Fused norms against values worked out by hand; counts of TraceLens's formulas where it has the op."""

import pytest

from tests.perf.calling import BF16, FP16, args, figures
from tracelens_tui.perf.registry import cost_of

FP8 = "c10::Float8_e4m3fnuz"
M, C = 7, 384
N = M * C
X, W = [M, C], [C]
RMS = 4 * N + 2 * M


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aiter::rms_norm", [X, W], BF16, (), (RMS, 2 * (N + C), 2 * N)),
        ("_C::rms_norm", [X, X, W, []], BF16, (), (RMS, 2 * (N + C), 2 * N)),
        ("_C::fused_add_rms_norm", [X, X, W, []], BF16, (), (RMS + N, 2 * (2 * N + C), 4 * N)),
        ("aiter::add_rmsnorm", [X, X, X, X, W], BF16, (), (RMS + N, 2 * (2 * N + C), 4 * N)),
        (
            "aiter::rmsnorm2d_fwd_with_dynamicquant_ck",
            [X, X, [M, 1], W],
            [FP8, BF16, "float", BF16],
            (),
            (RMS + 2 * N, 2 * (N + C), N + 4 * M),
        ),
        (  # three groups of 128
            "aiter::rmsnorm_quant",
            [X, X, [], W, [], []],
            [FP8, BF16, "", BF16, "Scalar", "Scalar"],
            ["", "", "", "", "1e-06", "128"],
            (RMS + 2 * N, 2 * (N + C), N + 4 * M * 3),
        ),
        (  # 100 goes into 384 four times, begun ones counted
            "vllm::rocm_aiter_rmsnorm_fp8_group_quant",
            [X, W, [], []],
            [BF16, BF16, "Scalar", "Scalar"],
            ["", "", "1e-06", "100"],
            (RMS + 2 * N, 2 * (N + C), N + 4 * M * 4),
        ),
        (
            "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant",
            [X, X, W, [], []],
            [BF16, BF16, BF16, "Scalar", "Scalar"],
            ["", "", "", "1e-06", "128"],
            (RMS + 3 * N, 2 * (2 * N + C), N + 2 * N + 4 * M * 3),
        ),
        (
            "_C::rms_norm_static_fp8_quant",
            [X, X, W, [1], []],
            [FP8, BF16, BF16, "float", "Scalar"],
            (),
            (RMS + N, 2 * (N + C) + 4, N),
        ),
        (  # without the residual that the op may have
            "_C::rms_norm_dynamic_per_token_quant",
            [X, X, W, [M, 1], [], [], []],
            [FP8, BF16, BF16, "float", "Scalar", "", ""],
            (),
            (RMS + 2 * N, 2 * (N + C), N + 4 * M),
        ),
        (  # 384 rounded up to 512
            "aiter::fused_add_rmsnorm_pad_",
            [X, W, [], X, []],
            [BF16, BF16, "Scalar", BF16, "Scalar"],
            ["", "", "1e-06", "", "256"],
            (RMS + N, 2 * (2 * N + C), 2 * (M * 512 + N)),
        ),
        (  # a second norm of [7, 64], and a residual
            "aiter::_fuse_rmsnorm_fp4_quant",
            [X, W, [], [M, 64], [64], [], X],
            [BF16, BF16, "Scalar", BF16, BF16, "Scalar", BF16],
            (),
            (
                RMS + N + 4 * M * 64 + 2 * M + 2 * N,
                2 * (N + C + N + M * 64 + 64),
                N // 2 + N // 32 + 2 * (N + M * 64),
            ),
        ),
        ("LigerRMSNormFunction", [X, W], FP16, (), (RMS, 2 * (N + C), 2 * N + 4 * M)),
        (
            "FusedLayerNormAffineFunction",
            [X, W, W],
            FP16,
            (),
            (5 * N + 6 * C, 2 * (N + 2 * C), 2 * N + 8 * M),
        ),
        ("primus::fused_ln_modulate", [[5, 3, 16]], BF16, (), (12 * 240, 2 * (240 + 96), 2 * 240 + 8 * 15)),
        (
            "primus::fused_ln_modulate_backward",
            [[5, 3, 16]],
            BF16,
            (),
            (15 * 240, 4 * 240 + 8 * 15 + 2 * 48, 2 * (240 + 96)),
        ),
    ],
)
def test_costs(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "concrete"),
    [
        ("aiter::rms_norm", [X], ()),  # no weight
        ("vllm::rocm_aiter_rmsnorm_fp8_group_quant", [X, W, [], []], ()),  # no group size
        ("aiter::fused_add_rmsnorm_pad_", [X, W, [], X, []], ()),
        ("primus::fused_ln_modulate", [[5, 48]], ()),
    ],
)
def test_no_answer(name, dims, concrete):
    assert cost_of(args(name, dims, BF16, concrete)) is None
