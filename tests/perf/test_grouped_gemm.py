"""Grouped matrix products: FLOPs do not depend on the groups' sizes, the weights that are read do."""

import pytest

from tests.perf.calling import BF16, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost

G, M, K, N = 8, 4096, 512, 256
ROWS, WEIGHTS, OUT = 2 * M * K, 2 * K * N, 2 * M * N  # bytes: rows, one group's weights, result


def cost(name, dims, types: str | list[str] = BF16, concrete=()) -> OpCost:
    found = cost_of(args(name, dims, types, concrete))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aten::_grouped_mm", [[M, K], [G, K, N], [G], [], []]),
        ("primus_turbo::grouped_gemm", [[M, K], [G, K, N], [G]]),
        ("primus_turbo_cpp_extension::ck_grouped_gemm", [[M, K], [G, N, K], [G]]),
    ],
)
def test_rows_by_group(name, dims):
    types = [BF16, BF16, "int", "", ""][: len(dims)]
    found = cost(name, dims, types)
    assert found.flops == 2 * M * K * N == 1_073_741_824
    assert found.bytes_moved == ROWS + G * WEIGHTS + OUT  # 4096 rows leave no group without one
    assert found.bytes_range == (ROWS + WEIGHTS + OUT, ROWS + G * WEIGHTS + OUT)
    assert found.params["routing"] == "uniform"


def test_fewer_rows_than_groups():
    found = cost("aten::_grouped_mm", [[4, K], [G, K, N], [G], [], []], [BF16, BF16, "int", "", ""])
    expected = 8 * (1 - (7 / 8) ** 4)  # distinct groups of 4 rows
    assert found.bytes_moved == 2 * 4 * K + round(expected * WEIGHTS) + 2 * 4 * N
    assert found.bytes_range == (2 * 4 * K + WEIGHTS + 2 * 4 * N, 2 * 4 * K + 4 * WEIGHTS + 2 * 4 * N)


def test_the_other_forms_of_torch():
    inner = cost("aten::_grouped_mm", [[K, M], [M, N], [G], [], []], [BF16, BF16, "int", "", ""])
    assert inner.flops == 2 * M * K * N
    assert inner.bytes_moved == ROWS + 2 * M * N + G * WEIGHTS  # G results of K×N
    stacks = cost("aten::_grouped_mm", [[G, 16, K], [G, K, N], [], [], []], [BF16, BF16, "", "", ""])
    assert (stacks.flops, stacks.bytes_range) == (2 * G * 16 * K * N, None)
    columns = cost("aten::_grouped_mm", [[G, N, K], [K, M], [G], [], []], [BF16, BF16, "int", "", ""])
    assert (columns.flops, columns.bytes_written) == (2 * M * K * N, OUT)


def test_scaled():
    fp8, dims = "c10::Float8_e4m3fn", [[M, K], [G, K, N], [M], [G, N], [G], [], [], [], []]
    types = [fp8, fp8, "float", "float", "int", "", "", "Scalar", "Scalar"]
    found = cost("aten::_scaled_grouped_mm", dims, types, [*[""] * 7, "15", "True"])
    assert (found.flops, found.precision) == (2 * M * K * N, "fp8")
    assert found.bytes_moved == M * K + G * K * N + 4 * (M + G * N) + OUT


def test_variable_k_has_a_result_for_each_group():
    found = cost("primus_turbo::grouped_gemm_variable_k", [[M, K], [M, N], [G]], [BF16, BF16, "long int"])
    assert found.flops == 2 * M * K * N
    assert found.bytes_moved == ROWS + 2 * M * N + G * WEIGHTS


def test_lists_have_flops_alone():
    found = cost("primus_turbo::grouped_gemm", [[[M, K], [2, 4]], [[K, N], [8, 4]]], ["TensorList", "TensorList"])
    assert found.flops == 2 * M * K * N + 2 * 2 * 4 * 8
    assert found.bytes_moved is None


def test_rows_sorted_by_expert():
    dims = [[M, N], [M, K], [G, N, K], [M, 1], [G, 1]]
    found = cost("_C::cutlass_moe_mm", dims, [BF16, "c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float"])
    assert (found.flops, found.bytes_written) == (2 * M * K * N, OUT)


@pytest.mark.parametrize("dims", [[[M, K], [G, K + 1, N]], [[M, K], [K, N]], [[M, K]], [[M, K], [0, K, N]]])
def test_no_answer(dims):
    assert cost_of(args("aten::_grouped_mm", dims, BF16)) is None
