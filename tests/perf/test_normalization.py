"""Norms against values worked out by hand from the counts that the module states."""

import pytest

from tests.perf.calling import BF16, FP32, args, figures
from tracelens_tui.perf.registry import cost_of

X = [8, 16, 32, 32]
N = 8 * 16 * 32 * 32
S = "Scalar"


@pytest.mark.parametrize(
    ("training", "flops", "read", "written"),
    [
        # x, weight, bias and running statistics; y, saved and running statistics
        ("True", 5 * N + 96, 4 * (N + 64), 4 * (N + 32 + 32)),
        ("False", 2 * N + 96, 4 * (N + 64), 4 * N),
    ],
)
def test_batch_norm(training, flops, read, written):
    dims = [X, [16], [16], [16], [16], [], [], [], []]
    concrete = ["", "", "", "", "", training, "0.1", "1e-05", "True"]
    for name in ("aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm"):
        assert figures(name, dims, FP32, concrete) == (flops, read, written)


def test_batch_norm_keeps_statistics_of_narrow_types_in_fp32():
    dims = [[3, 5, 7], [5], [5], [5], [5], [], [], []]
    found = figures("aten::native_batch_norm", dims, BF16, ["", "", "", "", "", "True", "0.1", "1e-05"])
    assert found == (5 * 105 + 30, 2 * (105 + 20), 2 * (105 + 10) + 4 * 10)


def test_instance_norm_answers_no_statistics():
    dims = [X, [], [], [], [], [], [], [], []]
    types = [FP32, "", "", "", "", S, S, S, S]
    found = figures("aten::instance_norm", dims, types, ["", "", "", "", "", "True", "0.1", "1e-05", "True"])
    assert found == (5 * N + 96, 4 * N, 4 * N)


@pytest.mark.parametrize(
    ("dims", "types", "shape", "expected"),
    [
        ([[1, 141, 512], [], [512], [512], []], BF16, "[512]", (364_032, 2 * (72_192 + 1024), 2 * 72_192 + 8 * 141)),
        ([X, [], [], [], []], [FP32, "ScalarList", "", "", S], "[16, 32, 32]", (753_664, 4 * N, 4 * (N + 16))),
    ],
)
def test_layer_norm(dims, types, shape, expected):
    for name in ("aten::layer_norm", "aten::native_layer_norm"):
        assert figures(name, dims, types, ["", shape, "", "", "1e-05"]) == expected


def test_an_older_trace_tells_the_normalised_shape_by_the_weight():
    found = figures("aten::native_layer_norm", [[1024, 512], [], [512], [512], []], FP32)
    assert found == (5 * 524_288 + 3072, 4 * (524_288 + 1024), 4 * (524_288 + 2048))


def test_group_norm_of_both_spellings():
    outer = figures("aten::group_norm", [X, [], [16], [16], [], []], FP32, ["", "4", "", "", "1e-05", "True"])
    concrete = ["", "", "", "8", "16", "1024", "4", "1e-05"]
    inner = figures("aten::native_group_norm", [X, [16], [16], [], [], [], [], []], FP32, concrete)
    assert outer == inner == (5 * N + 96, 4 * (N + 32), 4 * (N + 2 * 8 * 4))
    alone = figures("aiter::_groupnorm_run", [X, [], [16], [16], []], FP32, ["", "4", "", "", "1e-06"])
    assert alone == (5 * N + 96, 4 * (N + 32), 4 * N)


def test_group_norm_keeps_its_statistics_in_the_type_of_the_input():
    types = [BF16, "", "", S, S, S, S, S]
    concrete = ["", "", "", "2", "6", "5", "3", "1e-05"]
    found = figures("aten::native_group_norm", [[2, 6, 5], [], [], [], [], [], [], []], types, concrete)
    assert found == (5 * 60 + 36, 120, 120 + 2 * 2 * 6)


@pytest.mark.parametrize(
    ("weight", "flops", "read"), [([32, 32], 4 * N + 2 * 128, 4 * (N + 1024)), ([], 3 * N + 2 * 128, 4 * N)]
)
def test_rms_norm(weight, flops, read):
    types = [FP32, "ScalarList", FP32 if weight else "", ""]
    found = figures("aten::_fused_rms_norm", [X, [], weight, []], types, ["", "[32, 32]", "", ""])
    assert found == (flops, read, 4 * (N + 128))


def test_batch_norm_backward():
    dims = [X, X, [16], [16], [16], [16], [16], [], [], []]
    name, rest = "aten::native_batch_norm_backward", ["1e-05", "[True, True, True]"]
    trained = figures(name, dims, FP32, [*[""] * 7, "True", *rest])
    assert trained == (9 * N, 4 * (2 * N + 16 + 32), 4 * (N + 32))
    fixed = figures(name, dims, FP32, [*[""] * 7, "False", *rest])
    assert fixed == (5 * N + 48, 4 * (2 * N + 16 + 32), 4 * (N + 32))
    only_input = figures(name, dims, FP32, [*[""] * 7, "False", "1e-05", "[True, False, False]"])
    assert only_input == (N + 48, 4 * (2 * N + 16 + 32), 4 * N)


@pytest.mark.parametrize("library", ["cudnn", "miopen"])
def test_library_backward_has_its_own_order_and_is_always_in_training(library):
    dims = [[2, 3, 5], [2, 3, 5], [3], [3], [3], [3], [3], []]
    types = [BF16, BF16, FP32, FP32, FP32, FP32, FP32, S]
    found = figures(f"aten::{library}_batch_norm_backward", dims, types, [*[""] * 7, "1e-05"])
    assert found == (9 * 30, 2 * 60 + 4 * 9, 2 * 30 + 4 * 6)


@pytest.mark.parametrize(
    ("weight", "mask", "flops", "read", "written"),
    [
        ([16, 32, 32], "[True, True, True]", 9 * N, 4 * (2 * N + 16 + 16_384), 4 * (N + 2 * 16_384)),
        ([], "[True, False, False]", 9 * N, 4 * (2 * N + 16), 4 * N),
        ([16, 32, 32], "[False, True, False]", 4 * N, 4 * (2 * N + 16), 4 * 16_384),
    ],
)
def test_layer_norm_backward(weight, mask, flops, read, written):
    types = [FP32, FP32, "ScalarList", FP32, FP32, *[FP32 if weight else ""] * 2, "ScalarList"]
    dims = [X, X, [], [8, 1, 1, 1], [8, 1, 1, 1], weight, weight, []]
    found = figures("aten::native_layer_norm_backward", dims, types, ["", "", "[16, 32, 32]", *[""] * 4, mask])
    assert found == (flops, read, written)


def test_group_norm_backward():
    dims = [X, X, [8, 4], [8, 4], [16], [], [], [], [], []]
    concrete = [*[""] * 5, "8", "16", "1024", "4", "[True, True, True]"]
    found = figures("aten::native_group_norm_backward", dims, FP32, concrete)
    assert found == (9 * N, 4 * (2 * N + 64 + 16), 4 * (N + 32))


@pytest.mark.parametrize(
    ("weight", "mask", "flops", "read", "written"),
    [
        ([32, 32], "[True, True]", 10 * N, 4 * (2 * N + 128 + 1024), 4 * (N + 1024)),
        ([], "[True, False]", 7 * N, 4 * (2 * N + 128), 4 * N),
    ],
)
def test_rms_norm_backward(weight, mask, flops, read, written):
    types = [FP32, FP32, "ScalarList", FP32, FP32 if weight else "", "ScalarList"]
    dims = [X, X, [], [8, 16, 1, 1], weight, []]
    found = figures("aten::_fused_rms_norm_backward", dims, types, ["", "", "[32, 32]", "", "", mask])
    assert found == (flops, read, written)


def test_batch_norm_over_several_devices():
    x = [2, 3, 5]
    assert figures("aten::batch_norm_stats", [x, []], BF16, ["", "1e-05"]) == (90, 60, 24)
    dims = [x, [3], [3], [3], [3], []]
    assert figures("aten::batch_norm_elemt", dims, FP32) == (78, 4 * 42, 120)
    dims = [x, x, [3], [3], [3], [], [], []]
    reduced = figures("aten::batch_norm_backward_reduce", dims, FP32, [*[""] * 5, "True", "True", "True"])
    assert reduced == (120, 4 * 69, 4 * 12)
    dims = [x, x, [3], [3], [3], [3], [3], [2]]
    assert figures("aten::batch_norm_backward_elemt", dims, FP32) == (150, 4 * 77, 120)


@pytest.mark.parametrize(
    ("name", "dims", "concrete"),
    [
        ("aten::batch_norm", [X, [16], [16], [16], [16], [], [], [], []], []),  # in training or not
        ("aten::batch_norm", [[16], [16], [16], [16], [16], [], [], [], []], ["", "", "", "", "", "True"]),
        ("aten::layer_norm", [X, [], [16], [16], []], ["", "[7]", "", "", ""]),  # 7 does not divide it
        ("aten::layer_norm", [X, [], [16], [16], []], ["", "[0]", "", "", ""]),
        ("aten::native_layer_norm_backward", [X, X, [], [8], [8], [16], [16], []], ["", "", "[32]"]),  # no mask
        ("aten::group_norm", [X, [], [16], [16], []], ["", "5"]),
        ("aten::_fused_rms_norm_backward", [X, [8, 16], [], [8], [16], []], ["", "", "[32]", "", "", "[True, True]"]),
    ],
)
def test_no_answer(name, dims, concrete):
    assert cost_of(args(name, dims, FP32, concrete)) is None
