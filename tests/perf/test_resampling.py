"""Pools and interpolation: sizes of the results by PyTorch's documented formulas, worked out by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of

S, LIST = "Scalar", "ScalarList"
X = [10, 64, 112, 112]
N = 10 * 64 * 112 * 112


@pytest.mark.parametrize(
    ("name", "dims", "concrete", "expected"),
    [
        # (112 + 2·1 − 3) // 2 + 1 = 56
        ("aten::max_pool2d_with_indices", [X, [], [], [], [], []],
         ["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"],
         (9 * N // 4, 2 * N, N // 4 * 10)),
        # rounded up: (8 − 3 + 1) // 2 + 1 = 4, and the last window begins inside
        ("aten::max_pool2d_with_indices", [[1, 1, 8, 8], [], [], [], [], []],
         ["", "[3, 3]", "[2, 2]", "[0, 0]", "[1, 1]", "True"], (9 * 16, 128, 160)),
        # rounded up (4 − 1 + 1) // 2 + 1 = 3, but the last window would begin outside: 2
        ("aten::avg_pool2d", [[2, 4, 4], [], [], [], []], ["", "[1, 1]", "[2, 2]", "[0, 0]", "True"], (8, 64, 16)),
        ("aten::avg_pool2d", [[1, 3, 6, 9], [], [], [], []], ["", "[2, 3]", "[]", "[0, 0]", "False"],
         (6 * 27, 324, 54)),
        ("aten::_adaptive_avg_pool2d", [[10, 512, 7, 7], []], ["", "[1, 1]"], (250_880, 501_760, 10_240)),
        ("aten::adaptive_max_pool2d", [[1, 2, 6, 6], []], ["", "[3, 2]"], (72, 144, 12 * 10)),
    ],
)  # fmt: skip
def test_pools(name, dims, concrete, expected):
    assert figures(name, dims, BF16, concrete) == expected


def test_pools_backward():
    grad, rest = [10, 64, 56, 56], [[], [], [], [], []]
    types = [BF16, BF16, LIST, LIST, LIST, LIST, S, "long int"]
    found = figures("aten::max_pool2d_with_indices_backward", [grad, X, *rest, grad], types)
    assert found == (N // 4, N // 4 * 10, 2 * N)
    dims = [[1, 3, 3, 3], [1, 3, 6, 9], [], [], [], [], [], []]
    found = figures("aten::avg_pool2d_backward", dims, BF16, ["", "", "[2, 3]", "[]", "[0, 0]"])
    assert found == (6 * 27, 54, 324)
    found = figures("aten::_adaptive_avg_pool2d_backward", [[2, 3, 1, 1], [2, 3, 7, 7]], FP32)
    assert found == (294, 24, 4 * 294)


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::upsample_nearest1d", [[1, 768, 8], [], []], [BF16, LIST, ""], ["", "[128]", ""],
         (98_304, 12_288, 196_608)),
        ("aten::upsample_nearest2d", [[1, 512, 128, 128], [], []], [BF16, "", LIST], ["", "", "[2., 2.]"],
         (33_554_432, 2 * 8_388_608, 2 * 33_554_432)),
        ("aten::_upsample_nearest_exact2d", [[1, 2, 5, 5], [], []], [FP32, "", LIST], ["", "", "[1.5, 2.5]"],
         (2 * 7 * 12, 200, 8 * 84)),  # 5 · 1.5 and 5 · 2.5 rounded down
        ("aten::upsample_bilinear2d", [[1, 2, 5, 5], [], [], []], [FP32, LIST, S, ""], ["", "[10, 20]", "False", ""],
         (8 * 400, 200, 1600)),
        ("aten::upsample_bicubic2d", [[1, 1, 3, 3], [], [], []], [FP32, "", S, LIST], ["", "", "False", "[2.0, 2.0]"],
         (32 * 36, 36, 144)),
        ("aten::_upsample_bilinear2d_aa", [[1, 1, 9, 9], [], [], []], [FP32, LIST, S, ""], ["", "[3, 3]", "", ""],
         (None, 324, 36)),
        ("aten::upsample_nearest2d_backward", [[1, 2, 8, 8], [], [], [], []], [BF16, LIST, LIST, "", ""],
         ["", "[8, 8]", "[1, 2, 4, 4]", "", ""], (128, 256, 64)),
        ("aten::reflection_pad2d", [[1, 2, 4, 6], []], [FP32, LIST], ["", "[1, 2, 3, 0]"], (2 * 7 * 9, 192, 8 * 63)),
        ("aten::replication_pad1d", [[3, 5], []], [BF16, LIST], ["", "[2, 2]"], (27, 30, 54)),
        ("aten::replication_pad1d_backward", [[3, 9], [3, 5], []], [BF16, BF16, LIST], ["", "", "[2, 2]"],
         (27, 54, 30)),
        ("aten::grid_sampler_2d", [[1, 3, 8, 8], [1, 4, 5, 2], [], [], []], FP32, ["", "", "0", "0", "False"],
         (8 * 60, 4 * (192 + 40), 240)),
    ],
)  # fmt: skip
def test_interpolation_and_padding(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


@pytest.mark.parametrize(
    ("name", "dims", "concrete"),
    [
        ("aten::max_pool2d_with_indices", [X, [], [], [], [], []], []),
        ("aten::avg_pool2d", [[1, 1, 2, 2], [], [], [], []], ["", "[5, 5]", "[1, 1]", "[0, 0]", "False"]),
        ("aten::avg_pool2d", [[1, 1, 2, 2], [], [], [], []], ["", "[1, 1]", "[0, 0]", "[0, 0]", "False"]),
        ("aten::upsample_nearest2d", [[1, 512, 128, 128], [], []], ["", "", ""]),
        ("aten::upsample_nearest2d", [[1, 512, 128], [], []], ["", "[2, 2]", ""]),
        ("aten::reflection_pad2d", [[4, 6], []], ["", "[-7, 0, 0, 0]"]),
    ],
)
def test_no_answer(name, dims, concrete):
    assert cost_of(args(name, dims, BF16, concrete)) is None
