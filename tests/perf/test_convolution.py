"""Convolutions against values worked out by hand; the sizes of the outputs against PyTorch's documented formula."""

import pytest

from tests.perf.calling import BF16, FP16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of


def forward(x, w, concrete, *, bias=(), dtype=FP32, name="aten::convolution"):
    """``concrete``: stride, padding, dilation, transposed, output_padding, groups."""
    return figures(name, [x, w, list(bias), [], [], [], [], [], []], dtype, ["", "", "", *concrete])


@pytest.mark.parametrize(
    ("x", "w", "concrete", "out"),
    [
        # 8 of 32×32, padded to keep its size: 2 · 8·64·32·32 · 3·3·3
        ([8, 3, 32, 32], [64, 3, 3, 3], ["[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"], 8 * 64 * 32 * 32),
        # (33 + 2·2 − 2·(5−1) − 1) // 3 + 1 = 10 rows, (17 + 0 − 1·(2−1) − 1) // 2 + 1 = 8 columns
        ([1, 4, 33, 17], [6, 4, 5, 2], ["[3, 2]", "[2, 0]", "[2, 1]", "False", "[0, 0]", "1"], 6 * 10 * 8),
        # depthwise: as many groups as channels, one channel each
        ([2, 32, 14, 14], [32, 1, 3, 3], ["[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "32"], 2 * 32 * 7 * 7),
        # 4 groups of 8 → 4 channels; one number stands for both dimensions
        ([2, 32, 7, 9], [16, 8, 1, 1], ["[1]", "[0]", "[1]", "False", "[0]", "4"], 2 * 16 * 7 * 9),
        # one dimension, and three
        ([4, 80, 100], [128, 80, 3], ["[2]", "[1]", "[1]", "False", "[0]", "1"], 4 * 128 * 50),
        ([1, 2, 4, 6, 8], [3, 2, 2, 2, 2], ["(2,2,2)", "(0,0,0)", "(1,1,1)", "False", "(0,0,0)", "1"], 3 * 2 * 3 * 4),
    ],
)
def test_forward(x, w, concrete, out):
    n_x, n_w = _count(x), _count(w)
    assert forward(x, w, concrete) == (2 * out * _count(w[1:]), 4 * (n_x + n_w), 4 * out)


def _count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def test_transposed():
    # (8 − 1)·2 − 2·1 + 1·(4−1) + 0 + 1 = 16 positions; a group has 16 outputs, two groups 32
    found = forward([4, 6, 8, 8], [6, 16, 4, 4], ["[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "2"], dtype=FP16)
    n_x = 4 * 6 * 8 * 8
    assert found == (2 * n_x * 16 * 4 * 4, 2 * (n_x + 6 * 16 * 16), 2 * 4 * 32 * 16 * 16)


def test_transposed_with_output_padding():
    # (5 − 1)·3 − 2·1 + 1·(2−1) + 1 + 1 = 13 positions
    found = forward([1, 2, 5], [2, 3, 2], ["[3]", "[1]", "[1]", "True", "[1]", "1"])
    assert found == (2 * 10 * 3 * 2, 4 * (10 + 12), 4 * 3 * 13)


def test_a_bias_is_added_and_read():
    concrete = ["[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    found = forward([1, 2, 4, 4], [5, 2, 3, 3], concrete, bias=[5], dtype=BF16)
    assert found == (2 * 5 * 4 * 18 + 5 * 4, 2 * (32 + 90 + 5), 2 * 20)


@pytest.mark.parametrize(
    ("name", "concrete", "extra"),
    [
        ("aten::cudnn_convolution", ["", "", "[1, 0]", "[2, 3]", "[1, 1]", "1", "False", "False", "True"], 0),
        ("aten::miopen_convolution", ["", "", "", "[1, 0]", "[2, 3]", "[1, 1]", "1", "False", "False"], 0),
        ("aten::cudnn_convolution_relu", ["", "", "", "[2, 3]", "[1, 0]", "[1, 1]", "1"], 0),
        ("aten::_conv_depthwise2d", ["", "", "[3, 2]", "", "[2, 3]", "[1, 0]", "[1, 1]"], 0),
    ],
)
def test_each_library_has_its_own_order(name, concrete, extra):
    # (9 + 2·1 − 3) // 2 + 1 = 5 rows, (8 + 0 − 2) // 3 + 1 = 3 columns
    dims = [[1, 1, 9, 8], [4, 1, 3, 2]] + [[]] * (len(concrete) - 2)
    assert figures(name, dims, FP32, concrete) == (2 * 4 * 15 * 6 + extra, 4 * (72 + 24), 4 * 60)


def test_apex_records_padding_before_stride():
    # (8 + 2·1 − 3) // 2 + 1 = 4
    dims = [[1, 8, 8, 8], [16, 8, 3, 3], [1, 16, 1, 1], [], []]
    out = 16 * 4 * 4
    found = figures("ConvBias_", dims, FP16, ["", "", "", "1", "2"])
    assert found == (2 * out * 72 + out, 2 * (512 + 1152 + 16), 2 * out)


def backward(grad, x, w, mask, transposed="False"):
    dims = [grad, x, w, [], [], [], [], [], [], [], []]
    concrete = ["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", transposed, "[0, 0]", "1", mask]
    return figures("aten::convolution_backward", dims, BF16, concrete)


GRAD, X, W = [2, 8, 5, 5], [2, 4, 5, 5], [8, 4, 3, 3]
PRODUCT = 2 * 400 * 36  # 2 · N·C_out·5·5 · C_in·3·3


@pytest.mark.parametrize(
    ("mask", "flops", "read", "written"),
    [
        ("[True, True, False]", 2 * PRODUCT, 2 * (400 + 288 + 400 + 200), 2 * (200 + 288)),
        ("[False, True, False]", PRODUCT, 2 * (400 + 200), 2 * 288),
        ("[True, False, False]", PRODUCT, 2 * (400 + 288), 2 * 200),
        ("[True, True, True]", 2 * PRODUCT + 400, 2 * (400 + 288 + 400 + 200), 2 * (200 + 288 + 8)),
        ("[False, False, True]", 400, 0, 2 * 8),
    ],
)
def test_backward_has_what_the_mask_asks_for(mask, flops, read, written):
    assert backward(GRAD, X, W, mask) == (flops, read, written)


def test_backward_of_a_transposed_convolution():
    # every element of the input meets 4 · 3 · 3 weights
    assert backward([1, 4, 7, 7], [1, 8, 5, 5], [8, 4, 3, 3], "[True, False, False]", "True")[0] == 2 * 200 * 36


def test_tf32_is_proved_by_the_kernel():
    concrete = ["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False", "True"]
    dims = [[1, 1, 8, 8], [1, 1, 3, 3], [], [], [], [], [], [], []]
    kernel = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16"
    proved = cost_of(args("aten::cudnn_convolution", dims, FP32, concrete, kernels=[kernel]))
    plain = cost_of(args("aten::cudnn_convolution", dims, FP32, concrete, kernels=["implicit_convolve_sgemm"]))
    assert proved is not None
    assert plain is not None
    assert (proved.precision, plain.precision) == ("tf32", "fp32")


@pytest.mark.parametrize(
    ("x", "w", "concrete"),
    [
        ([8, 3, 32, 32], [64, 3, 3, 3], []),  # nothing recorded
        ([8, 3, 32, 32], [64, 4, 3, 3], ["[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),  # other channels
        ([8, 3, 32], [64, 3, 3, 3], ["[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),
        ([8, 3, 2, 2], [64, 3, 9, 9], ["[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),  # larger than the input
        ([8, 3, 32, 32], [64, 3, 3, 3], ["[0, 0]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),  # no stride
        ([8, 3, 32, 32], [64, 3, 3, 3], ["[1, 1]", "[1, 1]", "[1, 1]", "", "[0, 0]", "1"]),  # transposed or not
        ([8, 6, 32, 32], [64, 3, 3, 3], ["[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "0"]),
    ],
)
def test_no_answer(x, w, concrete):
    dims = [x, w, [], [], [], [], [], [], []]
    assert cost_of(args("aten::convolution", dims, FP32, ["", "", "", *concrete])) is None


def test_no_answer_without_a_mask():
    assert cost_of(args("aten::convolution_backward", [GRAD, X, W] + [[]] * 8, BF16)) is None
