"""State-space models, counted by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost


def cost(name, dims, types, concrete=()) -> OpCost:
    found = cost_of(args(name, dims, types, concrete))
    assert found is not None
    return found


def test_causal_convolution():
    x, weight = [2, 64, 100], [64, 4]
    found = cost("DaoAILab::_causal_conv1d_fwd_cpp", [x, weight, [64]], BF16)
    assert found.flops == 2 * 2 * 64 * 100 * 4
    assert found.bytes_moved == 2 * (2 * 2 * 64 * 100 + 64 * 4 + 64)
    packed = cost("_C::causal_conv1d_fwd", [[64, 200], weight, []], [BF16, BF16, ""])
    assert packed.flops == found.flops
    back = cost("DaoAILab::_causal_conv1d_bwd_cpp", [x, weight, [64], x], BF16)
    assert back.flops == 2 * found.flops
    assert back.bytes_moved == 2 * (3 * 2 * 64 * 100 + 2 * 64 * 4 + 2 * 64)
    step = cost("DaoAILab::_causal_conv1d_update_cpp", [[8, 64], [99, 64, 3], weight], BF16)
    assert step.flops == 2 * 8 * 64 * 4
    assert step.bytes_moved == 2 * (2 * 8 * 64 + 2 * 8 * 64 * 3 + 64 * 4)  # 8 of the 99 states


def test_convolution_and_chunked_scan_in_one():
    """H = 4 heads of P = 16, G = 2 groups of N = 8 states, chunks of 32: 2·64 + 2·16 + 4 columns."""
    columns = 2 * 4 * 16 + 2 * 2 * 8 + 4
    channels = 4 * 16 + 2 * 2 * 8
    dims = [[2, 100, columns], [channels, 4], [channels], [4], [4], [4], *[[]] * 11]
    concrete = [""] * 17
    concrete[6], concrete[15], concrete[16] = "32", "16", "2"
    found = cost("MambaSplitConv1dScanCombinedFn", dims, [BF16] * 3 + [FP32] * 3 + [""] * 11, concrete)
    conv = 2 * 2 * channels * 100 * 4
    scan = 2 * 2 * 100 * (2 * 32 * 8 + 4 * 32 * 16 + 2 * 4 * 8 * 16)
    assert found.flops == conv + scan
    assert found.bytes_moved == 2 * (2 * 100 * columns + channels * 4 + channels + 2 * 100 * 64) + 3 * 4 * 4
    concrete[16] = "3"  # the states do not divide among three groups
    assert cost_of(args("MambaSplitConv1dScanCombinedFn", dims, BF16, concrete)) is None


def test_chunked_scan():
    dims = [[2, 100, 4, 16], [2, 100, 4], [4], [2, 100, 2, 8], [2, 100, 2, 8], []]
    found = cost("MambaChunkScanCombinedFn", dims, BF16, [*[""] * 5, "32"])
    assert found.flops == 2 * 2 * 100 * (2 * 32 * 8 + 4 * 32 * 16 + 2 * 4 * 8 * 16)
    assert found.bytes_moved == 2 * (2 * 2 * 100 * 64 + 2 * 100 * 4 + 4 + 2 * 2 * 100 * 16)


def test_selective_scan():
    u, a, b = [2, 64, 100], [64, 16], [2, 16, 100]
    found = cost("SelectiveScanFn", [u, u, a, b, b, [64], u, [64]], [BF16, BF16, FP32, BF16, BF16, FP32, BF16, FP32])
    assert found.flops == 2 * 64 * 100 * (7 * 16 + 1 + 2 + 2)
    assert found.bytes_moved == 2 * (4 * 2 * 64 * 100 + 2 * 2 * 16 * 100) + 4 * (64 * 16 + 64 + 64)
    assert (found.unit, found.precision) == ("vector", "fp32")
    bare = cost("SelectiveScanFn", [u, u, a, b, b, [], []], [BF16, BF16, FP32, BF16, BF16, "", ""])
    assert bare.flops == 2 * 64 * 100 * (7 * 16 + 1)


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("DaoAILab::_causal_conv1d_fwd_cpp", [[2, 64, 100], [63, 4]]),
        ("MambaChunkScanCombinedFn", [[2, 100, 4, 16], [], [], [2, 99, 2, 8]]),
        ("SelectiveScanFn", [[2, 64, 100], [2, 64, 100], [65, 16]]),
    ],
)
def test_shapes_that_do_not_fit(name, dims):
    assert cost_of(args(name, dims, BF16, [*[""] * 5, "32"])) is None


M, STREAMS, C = 10, 4, 128


def test_hyper_connections():
    x, many = [M, C], [M, STREAMS, C]
    post = cost(
        "aiter::mhc_post", [many, x, many, [M, STREAMS, 1], [M, STREAMS, STREAMS]], [BF16, BF16, BF16, FP32, FP32]
    )
    assert post.flops == 2 * M * STREAMS * C * (STREAMS + 1)
    assert post.bytes_moved == 2 * (M * C + 2 * M * STREAMS * C) + 4 * M * (STREAMS + STREAMS**2)
    gemm = cost("aiter::mhc_pre_gemm_sqrsum", [[2, M, 24], [2, M], many, [24, STREAMS * C]], [FP32, FP32, BF16, FP32])
    assert gemm.flops == 2 * M * 24 * STREAMS * C
    assert gemm.bytes_moved == 2 * M * STREAMS * C + 4 * (24 * STREAMS * C + 2 * M * 24 + 2 * M)
    both = cost("aiter::mhc_fused_post_pre_gemm_sqrsum", [[2, M, 24], [2, M], many, x, many, [24, STREAMS * C]], BF16)
    assert both.flops == post.flops + gemm.flops
    fuse = cost("aiter::mhc_pre_big_fuse_rmsnorm", [[M, STREAMS], [M, 16], x], [FP32, FP32, BF16])
    assert fuse.flops == M * C * (2 * STREAMS + 5)


@pytest.mark.parametrize(
    ("name", "dims", "concrete", "flops", "moved"),
    [
        ("LigerCrossEntropyFunction", [[8, 100], [8]], [], 5 * 800, 2 * 2 * 800 + 2 * 8),
        ("LigerSoftmaxFunction", [[8, 100]], [], 5 * 800, 2 * 2 * 800),
        ("LigerDyTFunction", [[8, 100], [1], [100], [100]], [], 4 * 800, 2 * (2 * 800 + 201)),
        ("LigerGroupNormFunction", [[2, 8, 50], [8], [8]], ["", "", "", "8", "4"], 5 * 800 + 6 * 8, 2 * (2 * 800 + 16)),
    ],
)
def test_liger(name, dims, concrete, flops, moved):
    found = cost(name, dims, BF16, concrete)
    assert (found.flops, found.bytes_moved, found.precision) == (flops, moved, "fp32")
