"""FLOPs and bytes of matrix products, computed by hand: 2·M·N·K, and every element once."""

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost


def known(found: OpCost | None) -> OpCost:
    assert found is not None
    return found


def test_mm():
    cost = known(cost_of(args("aten::mm", [[1024, 512], [512, 2048]], BF16, strides=[[512, 1], [1, 512]])))
    assert cost.flops == 2 * 1024 * 2048 * 512 == 2_147_483_648
    assert cost.bytes_read == 2 * (1024 * 512 + 512 * 2048)
    assert cost.bytes_written == 2 * 1024 * 2048
    assert cost.bytes_moved == 7_340_032
    assert (cost.unit, cost.precision) == ("matrix", "bf16")
    assert {k: cost.params[k] for k in ("M", "N", "K", "B", "bias")} == {
        "M": 1024, "N": 2048, "K": 512, "B": 1, "bias": False,
    }  # fmt: skip
    assert cost.params["stride_B"] == "[1, 512]"


def test_each_operand_in_its_own_size():
    cost = known(cost_of(args("aten::mm", [[4, 8], [8, 2]], [FP32, BF16])))
    assert cost.bytes_read == 4 * 32 + 2 * 16
    assert cost.bytes_written == 4 * 8


def test_addmm_counts_the_bias():
    cost = known(cost_of(args("aten::addmm", [[2048], [1024, 512], [512, 2048], [], []], BF16, ["", "", "", "1", "1"])))
    assert cost.flops == 2_147_483_648 + 1024 * 2048 == 2_149_580_800
    assert cost.bytes_moved == 7_340_032 + 2 * 2048 == 7_344_128
    assert cost.params["bias"] is True


def test_addmm_with_a_full_matrix_reads_it_all():
    cost = known(cost_of(args("aten::addmm", [[4, 2], [4, 8], [8, 2], [], []], FP32, ["", "", "", "1", "1"])))
    assert cost.bytes_read == 4 * (8 + 32 + 16)


def test_addmm_with_beta_zero_neither_reads_nor_adds():
    cost = known(cost_of(args("aten::addmm", [[2], [4, 8], [8, 2], [], []], FP32, ["", "", "", "0", "1"])))
    assert cost.flops == 2 * 4 * 8 * 2
    assert cost.bytes_read == 4 * (32 + 16)


def test_bmm_and_baddbmm():
    batch = [[8, 128, 64], [8, 64, 256]]
    cost = known(cost_of(args("aten::bmm", batch, BF16)))
    assert cost.flops == 33_554_432
    assert cost.bytes_moved == 917_504
    added = known(cost_of(args("aten::baddbmm", [[1, 1, 256], *batch, [], []], BF16, ["", "", "", "1", "1"])))
    assert added.flops == 33_554_432 + 8 * 128 * 256
    assert added.bytes_moved == 917_504 + 2 * 256


def test_scaled_mm_takes_the_recorded_output_type():
    dims = [[4096, 4096], [4096, 4096], [], [], [], [], [], []]
    fp8 = "c10::Float8_e4m3fn"
    types = [fp8, fp8, "float", "float", "", "", "Scalar", "Scalar"]
    concrete = ["", "", "", "", "", "", "15", "True"]
    cost = known(cost_of(args("aten::_scaled_mm", dims, types, concrete)))
    assert cost.flops == 137_438_953_472
    assert cost.bytes_moved == 67_108_864
    assert cost.precision == "fp8"
    concrete[6] = "6"  # fp32
    assert known(cost_of(args("aten::_scaled_mm", dims, types, concrete))).bytes_written == 4 * 4096**2
    concrete[6] = ""
    assert known(cost_of(args("aten::_scaled_mm", dims, types, concrete))).bytes_written == 2 * 4096**2


def test_scaled_mm_reads_row_scales():
    fp8 = "c10::Float8_e4m3fn"
    dims = [[16, 32], [32, 8], [16, 1], [1, 8], [], [], [], []]
    cost = known(cost_of(args("aten::_scaled_mm", dims, [fp8, fp8, "float", "float", "", "", "", ""])))
    assert cost.bytes_read == 16 * 32 + 32 * 8 + 4 * (16 + 8)


def test_scaled_mm_of_packed_fp4_counts_both_values():
    fp4, scale = "c10::Float4_e2m1fn_x2", "c10::Float8_e8m0fnu"
    dims = [[128, 256], [256, 64], [128, 16], [64, 16], [], [], [], []]  # K = 512 values in 256 bytes
    types = [fp4, fp4, scale, scale, "", "", "Scalar", "Scalar"]
    cost = known(cost_of(args("aten::_scaled_mm", dims, types, ["", "", "", "", "", "", "15", "False"])))
    assert cost.flops == 2 * 128 * 64 * 512
    assert cost.bytes_read == 128 * 256 + 256 * 64 + 128 * 16 + 64 * 16
    assert cost.precision == "fp4"


def test_int_mm_writes_int32():
    cost = known(cost_of(args("aten::_int_mm", [[16, 32], [32, 8]], "signed char")))
    assert cost.precision == "int8"
    assert cost.bytes_moved == 16 * 32 + 32 * 8 + 4 * 16 * 8


def test_a_matrix_times_a_vector_runs_on_the_vector_unit():
    cost = known(cost_of(args("aten::mv", [[16, 32], [32]], FP32)))
    assert (cost.flops, cost.bytes_moved, cost.unit) == (2 * 16 * 32, 4 * (16 * 32 + 32 + 16), "vector")
    added = known(cost_of(args("aten::addmv", [[16], [16, 32], [32], [], []], FP32, ["", "", "", "1", "1"])))
    assert (added.flops, added.bytes_read) == (2 * 16 * 32 + 16, 4 * (16 + 16 * 32 + 32))


def test_an_empty_inner_dimension_is_no_work_but_an_output():
    cost = known(cost_of(args("aten::mm", [[16, 0], [0, 32]], BF16)))
    assert (cost.flops, cost.bytes_moved) == (0, 1024)


def test_an_unknown_type_leaves_the_bytes_unknown():
    cost = known(cost_of(args("aten::mm", [[128, 256], [256, 512]], "c10::SomeFutureType")))
    assert cost.flops == 33_554_432
    assert (cost.bytes_moved, cost.precision) == (None, None)


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "tf32"),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_cublas", "tf32"),
        ("cutlass_80_simt_sgemm_128x32_8x5_nn_align1", "fp32"),
        ("turing_fp16_s1688gemm_fp16_128x128", "fp32"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", "fp32"),
    ],
)
def test_tf32_only_where_the_kernel_proves_it(kernel, precision):
    assert known(cost_of(args("aten::mm", [[8, 8], [8, 8]], FP32, kernels=[kernel]))).precision == precision


@pytest.mark.parametrize(
    ("name", "dims", "types"),
    [
        ("aten::mm", [], []),
        ("aten::mm", [[8, 8]], [FP32]),
        ("aten::mm", [[8, 8], [9, 8]], [FP32, FP32]),
        ("aten::mm", [[8, 8, 8], [8, 8, 8]], [FP32, FP32]),
        ("aten::bmm", [[2, 8, 8], [3, 8, 8]], [FP32, FP32]),
        ("aten::mm", [[8, 8], [8, 8]], ["c10::complex<float>"] * 2),
        ("aten::linear", [[8, 8], [8, 9]], [FP32, FP32]),
        ("aten::matmul", [[2, 8, 8], [3, 8, 8]], [FP32, FP32]),
    ],
)
def test_no_answer(name, dims, types):
    assert cost_of(args(name, dims, types)) is None
