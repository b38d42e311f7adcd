"""Reductions, scans and softmax: one operation per element; the recorded dims decide what is written."""

import pytest

from tests.perf.calling import BF16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of

S, LIST = "Scalar", "ScalarList"
LONG = "long int"


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::sum", [[5, 128], [], [], []], [FP32, LIST, S, ""], ["", "[0]", "True", ""], (640, 2560, 512)),
        ("aten::sum", [[5, 128], []], [FP32, ""], ["", ""], (640, 2560, 4)),
        ("aten::sum", [[5, 3, 7], [], [], []], ["int", LIST, S, ""], ["", "[0, -1]", "", ""], (105, 420, 24)),
        ("aten::sum", [[8], [], [], []], [BF16, LIST, S, S], ["", "[0]", "False", "6"], (8, 16, 4)),
        ("aten::sum", [[4, 4], []], ["bool", ""], ["", ""], (16, 16, 8)),
        ("aten::mean", [[16, 559, 1024], [], [], []], [FP32, LIST, S, ""], ["", "[-1]", "True", ""],
         (9_158_656, 4 * 9_158_656, 4 * 8944)),
        ("aten::mean", [[10, 6], [], [], [], []], [BF16, LIST, S, "", BF16], ["", "[]", "False", "", ""], (60, 120, 2)),
        ("aten::mean", [[10, 6], [], [], []], [BF16, "", S, ""], ["", "", "False", ""], (60, 120, 2)),
        ("aten::amax", [[3, 5], [], []], [FP32, LIST, S], ["", "[1]", "False"], (15, 60, 12)),
        ("aten::amin", [[3, 5], [], []], ["int", LIST, S], ["", "[1]", "False"], (15, 60, 12)),
        ("aten::max", [[3, 5]], [FP32], [""], (15, 60, 4)),
        ("aten::max", [[3, 5], [], []], [FP32, S, S], ["", "0", "False"], (15, 60, 5 * (4 + 8))),
        ("aten::min", [[256, 256], [256, 256]], LONG, ["", ""], (65_536, 2 * 8 * 65_536, 8 * 65_536)),
        ("aten::argmax", [[1, 77], [], []], ["int", S, S], ["", "-1", "False"], (77, 308, 8)),
        ("aten::argmin", [[4, 9], [], []], [BF16, "", S], ["", "", "False"], (36, 72, 8)),
        ("aten::all", [[16, 559]], ["bool"], [""], (8944, 8944, 1)),
        ("aten::any", [[6, 5], [], []], [FP32, S, S], ["", "1", "False"], (30, 120, 6)),
        ("aten::var", [[6, 5], [], [], []], [FP32, LIST, S, S], ["", "[1]", "1", "True"], (30, 120, 24)),
        ("aten::std", [[6, 5], []], [FP32, S], ["", "True"], (30, 120, 4)),
        ("aten::var_mean", [[6, 5], [], [], []], [FP32, LIST, S, S], ["", "[0]", "", ""], (30, 120, 2 * 20)),
        ("aten::logsumexp", [[6, 5], [], []], [BF16, LIST, S], ["", "[-1]", "False"], (30, 60, 12)),
        ("aten::norm", [[6, 5], []], [FP32, S], ["", "2"], (30, 120, 4)),
        ("aten::norm", [[6, 5], [], [], []], ["c10::complex<float>", S, LIST, S], ["", "2", "[1]", "False"],
         (30, 240, 24)),
        ("aten::linalg_vector_norm", [[1, 768], [], [], [], []], [BF16, S, LIST, S, ""], ["", "2.", "[-1]", "True", ""],
         (768, 1536, 2)),
        ("aten::linalg_norm", [[4, 6], [], [], [], []], [FP32, "", "", S, ""], ["", "", "", "False", ""], (24, 96, 4)),
        ("aten::linalg_norm", [[4, 6], [], [], [], []], [FP32, S, LIST, S, ""], ["", "2", "[0]", "False", ""],
         (24, 96, 24)),
        ("aten::prod", [[4, 6], [], [], []], ["int", S, S, ""], ["", "1", "False", ""], (24, 96, 32)),
        ("aten::count_nonzero", [[4, 6], []], [FP32, LIST], ["", "[0]"], (24, 96, 48)),
        ("aten::aminmax", [[4, 6], [], []], [BF16, S, S], ["", "1", "False"], (24, 48, 16)),
        ("aten::cumsum", [[4, 6], [], []], ["int", S, ""], ["", "1", ""], (24, 96, 192)),
        ("aten::cumsum_", [[4, 6], [], []], ["int", S, ""], ["", "1", ""], (24, 96, 96)),
        ("aten::cumprod", [[4, 6], [], []], [BF16, S, S], ["", "0", "6"], (24, 48, 96)),
        ("aten::cummax", [[4, 6], []], [FP32, S], ["", "0"], (24, 96, 24 * 12)),
        ("aten::sum", [[], []], [FP32, ""], ["", ""], (1, 4, 4)),
        ("aten::sum", [[0, 3], [], [], []], [FP32, LIST, S, ""], ["", "[0]", "", ""], (0, 0, 12)),
    ],
)  # fmt: skip
def test_reductions(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


def test_unrecorded_dims_leave_the_bytes_unknown():
    assert figures("aten::sum", [[5, 128], [], [], []], [FP32, "", S, ""]) == (640, 2560, None)


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete"),
    [
        ("aten::sum", [], [], []),
        ("aten::sum", [[5, 128], [], [], []], [FP32, LIST, S, ""], ["", "[2]", "", ""]),  # no third dimension
        (
            "aten::linalg_norm",
            [[4, 6], [], [], [], []],
            [FP32, S, "", S, ""],
            ["", "2", "", "", ""],
        ),  # largest singular
        ("aten::linalg_norm", [[4, 6], [], [], [], []], [FP32, S, "", S, ""], ["", "nuc", "", "", ""]),
    ],
)
def test_no_answer(name, dims, types, concrete):
    assert cost_of(args(name, dims, types, concrete)) is None


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "expected"),
    [
        ("aten::_softmax", [[8, 12, 3137, 3137], [], []], [BF16, S, S], ["", "-1", "False"],
         (5 * 944_713_824, 2 * 944_713_824, 2 * 944_713_824)),
        ("aten::_softmax", [[3, 7], [], []], ["c10::Half", S, S], ["", "-1", "True"], (105, 42, 84)),
        ("aten::_log_softmax", [[3, 7], [], []], [FP32, S, S], ["", "1", "False"], (105, 84, 84)),
        ("aten::_softmax_backward_data", [[3, 7], [3, 7], [], []], [FP32, FP32, S, S], ["", "", "-1", "6"],
         (84, 168, 84)),
        ("aten::_log_softmax_backward_data", [[3, 7], [3, 7], [], []], [FP32, FP32, S, S], ["", "", "-1", "5"],
         (84, 168, 42)),
        ("aten::_masked_softmax", [[3, 7], [3, 7], [], []], [FP32, "bool", S, S], [], (105, 84 + 21, 84)),
    ],
)  # fmt: skip
def test_softmax(name, dims, types, concrete, expected):
    assert figures(name, dims, types, concrete) == expected


def test_softmax_of_gradients_of_another_shape():
    assert cost_of(args("aten::_softmax_backward_data", [[3, 7], [7, 3], [], []], FP32)) is None
