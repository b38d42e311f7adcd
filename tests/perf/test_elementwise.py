"""One operation per output element; every operand read once, the result written once."""

import pytest

from tests.perf.calling import BF16, FP32, FP64, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost


def cost(name, dims, types, concrete=()) -> OpCost:
    found = cost_of(args(name, dims, types, concrete))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "dims", "types", "flops", "read", "written"),
    [
        ("aten::neg", [[4, 8]], [BF16], 32, 64, 64),
        ("aten::gelu", [[4, 8], []], [BF16, ""], 32, 64, 64),
        ("aten::silu", [[4, 8]], [FP32], 32, 128, 128),
        ("aten::sigmoid", [[4, 8], [4, 8]], [BF16, FP32], 32, 64, 128),  # out= variant
        ("aten::pow", [[4, 8], []], [FP32, "Scalar"], 32, 128, 128),
        ("aten::pow", [[4, 8], [4, 8]], [FP32, FP32], 32, 256, 128),
        ("aten::exp", [[8]], ["long int"], 8, 64, 32),
        ("aten::clamp", [[8], [], []], [BF16, "Scalar", "Scalar"], 8, 16, 16),
        ("aten::isnan", [[8]], [BF16], 8, 16, 8),
        ("aten::logical_not", [[8]], ["bool"], 8, 8, 8),
        ("aten::add", [[4, 8], [8], []], [BF16, BF16, "Scalar"], 32, 64 + 16, 64),
        ("aten::mul", [[4, 1], [1, 8]], [FP32, FP32], 32, 16 + 32, 128),
        ("aten::mul", [[4, 8], [4, 8]], [BF16, FP32], 32, 64 + 128, 128),
        ("aten::mul", [[4, 8], []], [BF16, FP64], 32, 64 + 8, 64),
        ("aten::mul", [[], [4, 8]], [FP32, BF16], 32, 4 + 64, 64),
        ("aten::add_", [[4, 8], [4, 8], []], [BF16, FP32, "Scalar"], 32, 64 + 128, 64),
        ("aten::div", [[8], [8]], ["long int", "long int"], 8, 128, 32),
        ("aten::add", [[8], []], ["long int", FP64], 8, 64 + 8, 32),
        ("aten::eq", [[8], []], ["long int", "Scalar"], 8, 64, 8),
        ("aten::lt", [[5], [5, 1]], ["long int", "long int"], 25, 40 + 40, 25),
        ("aten::where", [[1, 1, 8], [], [4, 8, 1]], ["bool", BF16, BF16], 256, 8 + 2 + 64, 512),
        ("aten::masked_fill_", [[5, 5], [5, 5], []], [FP32, "bool", "Scalar"], 25, 100 + 25, 100),
        ("aten::tanh_backward", [[8], [8]], [BF16, BF16], 8, 32, 16),
        ("aten::addcmul_", [[8], [8], [8], []], [FP32, FP32, FP32, "Scalar"], 8, 96, 32),
        ("aten::copy_", [[8], [8], []], [FP32, BF16, "Scalar"], 8, 16, 32),
        ("aten::copy_", [[4, 8], [8], []], [BF16, BF16, "Scalar"], 32, 16, 64),
        ("aten::copy_", [[256], [256], []], ["long int", "bool", "Scalar"], 256, 256, 2048),
        ("aten::fill_", [[4, 8], []], [FP32, "Scalar"], 0, 0, 128),
        ("aten::neg", [[0, 8]], [BF16], 0, 0, 0),
        ("aten::nan_to_num", [[8], [], [], []], [BF16, "Scalar", "", ""], 8, 16, 16),
        ("aten::fmax", [[2, 4], [4]], [FP32, FP32], 8, 32 + 16, 32),
        ("aten::logaddexp_", [[8], [8]], [BF16, BF16], 8, 32, 16),
        ("aten::acosh", [[3]], ["int"], 3, 12, 12),
    ],
)
def test_costs(name, dims, types, flops, read, written):
    found = cost(name, dims, types)
    assert (found.flops, found.bytes_read, found.bytes_written) == (flops, read, written)
    assert found.unit == "vector"


@pytest.mark.parametrize(
    ("name", "dims", "types", "precision"),
    [
        ("aten::add", [[8], [8]], [BF16, BF16], "bf16"),
        ("aten::add", [[8], [8]], [BF16, FP32], "fp32"),
        ("aten::copy_", [[8], [8]], [BF16, FP32], "bf16"),
        ("aten::add", [[8], [8]], ["long int", "long int"], None),
        ("aten::div", [[8], [8]], ["long int", "long int"], "fp32"),
    ],
)
def test_precision_is_that_of_the_arithmetic(name, dims, types, precision):
    assert cost(name, dims, types).precision == precision


def test_an_unknown_type_leaves_the_bytes_unknown():
    found = cost("aten::add", [[8], [8]], [BF16, "c10::SomeFutureType"])
    assert (found.flops, found.bytes_moved, found.precision) == (8, None, None)


@pytest.mark.parametrize(
    ("name", "dims", "types"),
    [
        ("aten::neg", [], []),
        ("aten::add", [[3], [4]], [FP32, FP32]),
        ("aten::add", [[], []], ["Scalar", "Scalar"]),
        ("aten::add_", [[3], [2, 3], []], [FP32, FP32, "Scalar"]),
        ("aten::add_", [[], [3], []], ["Scalar", FP32, "Scalar"]),
        ("aten::copy_", [[3], [4]], [FP32, FP32]),
        ("aten::copy_", [[3]], [FP32]),
        ("aten::fill_", [], []),
        ("aten::relu", [[3]], [FP32]),
        ("aten::clone", [[3]], [FP32]),
        ("aten::where", [[3]], ["bool"]),  # answers indices
        ("aten::to", [[3]], [FP32]),
    ],
)
def test_no_answer(name, dims, types):
    assert cost_of(args(name, dims, types)) is None
