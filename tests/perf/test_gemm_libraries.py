"""Matrix products of libraries: where each keeps its operands, FLOPs 2·M·N·K and bytes computed by hand."""

import pytest

from tests.perf.calling import BF16, FP16, FP32, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.types import OpCost

FP8, BYTE, INT = "c10::Float8_e4m3fn", "unsigned char", "int"
M, N, K = 16, 64, 128
FLOPS = 2 * M * N * K


def cost(name, dims, types, concrete=(), kernels=()) -> OpCost:
    found = cost_of(args(name, dims, types, concrete, kernels=kernels))
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["_C::cutlass_scaled_mm", "_C::cutlass_scaled_mm_azp"])
def test_cutlass(name):
    dims = [[M, N], [M, K], [K, N], [M, 1], [1, N], []]
    found = cost(name, dims, [BF16, FP8, FP8, FP32, FP32, ""])
    assert found.flops == FLOPS
    assert found.bytes_read == M * K + K * N + 4 * (M + N)
    assert found.bytes_written == 2 * M * N
    assert found.precision == "fp8"


def test_cutlass_with_a_bias():
    dims = [[M, N], [M, K], [K, N], [], [], [N]]
    found = cost("_C::cutlass_scaled_mm", dims, [BF16, "signed char", "signed char", FP32, FP32, BF16])
    assert (found.flops, found.precision) == (FLOPS + M * N, "int8")
    assert found.bytes_read == M * K + K * N + 2 * N


@pytest.mark.parametrize(
    ("name", "dims", "types"),
    [
        (
            "_C::cutlass_scaled_fp4_mm",
            [[M, N], [M, K // 2], [N, K // 2], [], [], []],
            [BF16, BYTE, BYTE, FP8, FP8, FP32],
        ),
        ("trtllm::nvfp4_gemm", [[M, K // 2], [N, K // 2], [], [], [], []], [BYTE, BYTE, FP8, FP8, FP32, "Scalar"]),
        ("aiter::gemm_a4w4", [[M, K // 2], [N, K // 2], [], []], [BYTE, BYTE, BYTE, BYTE]),
        ("aiter::_gemm_a4w4_asm", [[M, K // 2], [N, K // 2], [], [], [M, N]], [BYTE, BYTE, BYTE, BYTE, BF16]),
        ("aiter::gemm_afp4wfp4_", [[M, K // 2], [N, K // 2], [], []], [BYTE, BYTE, BYTE, BYTE]),
        ("vllm::flashinfer_mm_fp4", [[M, K // 2], [K // 2, N], [], [], []], [BYTE, BYTE, FP8, FP8, FP32]),
    ],
)
def test_fp4_pairs_count_as_two_values(name, dims, types):
    found = cost(name, dims, types)
    assert (found.flops, found.precision) == (FLOPS, "fp4")
    assert found.bytes_moved == (M * K + N * K) // 2 + 2 * M * N


@pytest.mark.parametrize(
    "name",
    [
        "aiter::gemm_a8w8_ck",
        "aiter::gemm_a8w8_bpreshuffle",
        "aiter::gemm_a8w8_blockscale_ck",
        "aiter::flatmm_a8w8_blockscale_asm",
        "vllm::rocm_aiter_triton_gemm_a8w8_blockscale",
        "sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale",
        "vllm::w8a8_triton_block_scaled_mm_func",
    ],
)
def test_eight_bits_with_scales(name):
    found = cost(name, [[M, K], [N, K], [M, 1], [1, 1]], [FP8, FP8, FP32, FP32])
    assert (found.flops, found.precision) == (FLOPS, "fp8")
    assert found.bytes_moved == M * K + N * K + 4 * (M + 1) + 2 * M * N


@pytest.mark.parametrize("name", ["sgl_kernel::fp8_scaled_mm", "sgl_kernel::int8_scaled_mm"])
def test_sglang(name):
    found = cost(
        name, [[M, K], [K, N], [M, 1], [N, 1], [], [N]], [FP8, FP8, FP32, FP32, "Scalar", FP16], [*[""] * 4, "5"]
    )
    assert found.flops == FLOPS + M * N
    assert found.bytes_written == 2 * M * N


@pytest.mark.parametrize("b", [[K, N], [N, K]])
def test_the_output_tells_which_way_the_weights_lie(b):
    found = cost("sgl_kernel::dsv3_router_gemm", [[M, N], [M, K], b], [FP32, BF16, BF16])
    assert (found.flops, found.bytes_written) == (FLOPS, 4 * M * N)


def test_deep_gemm():
    dims = [[M, K], [M, 1], [N, K], [1, 1], [M, N]]
    found = cost("sglang::deep_gemm_fp8_fp8_bf16_nt", dims, [FP8, FP32, FP8, FP32, BF16])
    assert found.flops == FLOPS
    assert found.bytes_moved == M * K + N * K + 4 * (M + 1) + 2 * M * N


def test_weights_by_rows_of_outputs():
    found = cost("vllm::rocm_unquantized_gemm", [[2, 8, K], [N, K], [N]], BF16)
    assert found.flops == FLOPS + M * N  # 2·8 = 16 rows
    assert cost("aiter::gemm_a16w16", [[M, K], [N, K], []], [BF16, BF16, ""]).flops == FLOPS
    assert cost("aiter::_gemm_a16w16_asm", [[M, K], [N, K], [M, N]], [BF16, BF16, FP32]).bytes_written == 4 * M * N
    assert cost("bitsandbytes::int8_linear_matmul", [[M, K], [N, K]], "signed char").bytes_written == 4 * M * N


@pytest.mark.parametrize("columns", [K, K // 2])
def test_dynamic_quantisation(columns):
    x = BF16 if columns == K else BYTE
    found = cost("vllm::gemm_with_dynamic_quant", [[M, columns], [N, K // 2]], [x, BYTE])
    assert (found.flops, found.precision, found.bytes_written) == (FLOPS, "fp4", 2 * M * N)


def test_stacks_of_weights():
    found = cost("aiter::batched_gemm_a16wfp4_", [[4, M, K], [4, N, K // 2]], [BF16, BYTE])
    assert (found.flops, found.precision) == (4 * FLOPS, "fp4")
    assert found.bytes_moved == 4 * (2 * M * K + N * K // 2 + 2 * M * N)
    name = "sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant_17"
    turned = cost(name, [[M, 4, K], [4, N, K]], [BF16, FP8])
    assert (turned.flops, turned.precision) == (4 * FLOPS, "fp8")
    assert cost("vllm::bmm_fp8", [[4, M, K], [4, K, N], [], []], [FP8, FP8, FP32, FP32]).flops == 4 * FLOPS


def test_transformer_engine():
    """Forward: the weight N×K transposed, the input M×K not; cuBLAS sees N×K·K×M."""
    dims = [[N, K], [], [], [], [], [M, K], [], [], [], [], [M, N], [], [], [], [N], *[[]] * 7]
    types = [BYTE, FP32, "", "", "", BYTE, FP32, "", "", "", BF16, "", "", "", BF16, *[""] * 7]
    concrete = [""] * 22
    concrete[4], concrete[9], concrete[20] = "1", "0", "0"
    found = cost("tex_ts::te_gemm_ts", dims, types, concrete)
    assert (found.flops, found.precision) == (FLOPS + M * N, "fp8")
    assert found.bytes_moved == M * K + N * K + 2 * N + 2 * M * N
    concrete[20] = "1"  # a weight gradient that is accumulated reads what is there
    assert cost("tex_ts::te_gemm_ts", dims, types, concrete).bytes_read == M * K + N * K + 2 * N + 2 * M * N
    concrete[4] = ""
    assert cost_of(args("tex_ts::te_gemm_ts", dims, types, concrete)) is None


@pytest.mark.parametrize(
    ("a", "b", "flags", "mn"),
    [
        ([M, K], [K, N], ("False", "False", "False"), (M, N)),
        ([K, M], [N, K], ("True", "True", "False"), (M, N)),
        ([M, K], [N, K], ("False", "True", "True"), (N, M)),
    ],
)
def test_hipblaslt(a, b, flags, mn):
    types = [FP8, FP32, FP8, FP32]
    found = cost("primus_turbo::hipblaslt_gemm_fp8", [a, [], b, [], *[[]] * 4], types, [*[""] * 4, "15", *flags])
    assert (found.flops, found.precision) == (FLOPS, "fp8")
    assert (found.params["M"], found.params["N"]) == mn
    assert found.bytes_moved == M * K + N * K + 2 * M * N


def test_hipblaslt_fp4():
    dims = [[M, K // 2], [M, K // 32], [N, K // 2], [N, K // 32], *[[]] * 4]
    types = ["c10::Float4_e2m1fn_x2", BYTE, "c10::Float4_e2m1fn_x2", BYTE]
    flags = [*[""] * 4, "15", "False", "True", "False"]
    found = cost("primus_turbo::hipblaslt_gemm_fp4", dims, types, flags)
    assert (found.flops, found.precision) == (FLOPS, "fp4")
    assert found.bytes_moved == (M + N) * K // 2 + (M + N) * (K // 32) + 2 * M * N


MARLIN = [
    # versions of the op differ in what stands before the sizes
    (
        [[M, K], [K // 16, N * 2], [1, N], [0], [0], [0], [128], *[[]] * 7],
        2,
        ["", "", "", "", "", "", "", "4", "16", "64", "128"],
    ),
    (
        [[M, K], [], [K // 16, N * 2], [], [1, N], [], [], [], [], [128], *[[]] * 8],
        4,
        [*[""] * 10, "4", "16", "64", "128"],
    ),
]


@pytest.mark.parametrize(("dims", "scales", "concrete"), MARLIN)
def test_marlin(dims, scales, concrete):
    weights = scales - 1 if dims[1] else 2
    types = ["" if not shape else INT for shape in dims]
    types[0], types[scales], types[weights] = BF16, BF16, INT
    found = cost("_C::gptq_marlin_gemm", dims, types, concrete)
    assert (found.flops, found.precision) == (FLOPS, "bf16")
    assert found.bytes_read == 2 * M * K + 4 * (K // 16) * N * 2 + 2 * N  # tokens, packed weights, scales
    assert found.bytes_written == 2 * M * N


def test_awq_gptq_machete():
    awq = cost("_C::awq_gemm", [[M, K], [K, N // 8], [1, N], [1, N // 8], []], [FP16, INT, FP16, INT, "Scalar"])
    assert awq.bytes_moved == 2 * M * K + 4 * K * N // 8 + 2 * N + 4 * N // 8 + 2 * M * N
    gptq = cost("_C::gptq_gemm", [[M, K], [K // 8, N], [1, N // 8], [1, N], [K]], [FP16, INT, INT, FP16, INT])
    assert gptq.bytes_moved == 2 * M * K + 4 * K * N // 8 + 4 * N // 8 + 2 * N + 4 * K + 2 * M * N
    machete = cost("_C::machete_mm", [[M, K], [K // 8, N], [], [], [1, N]], [BF16, INT, "", "", BF16])
    assert (awq.flops, gptq.flops, machete.flops) == (FLOPS, FLOPS, FLOPS)
    assert (awq.precision, machete.precision) == ("fp16", "bf16")
    assert cost_of(args("_C::machete_mm", [[M, K], [K // 8, N]], [BF16, INT])) is None  # nothing tells N


def test_int4_of_pytorch_and_bitsandbytes():
    torch = cost("aten::_weight_int4pack_mm", [[M, K], [N // 8, K // 32, 32, 1], [], [1, N, 2]], [BF16, INT, "", BF16])
    assert torch.flops == FLOPS
    assert torch.bytes_read == 2 * M * K + N * K // 2 + 2 * 2 * N
    gemv = cost(
        "bitsandbytes::gemv_4bit",
        [[1, K], [N * K // 2, 1], [], [N * K // 64]],
        [BF16, BYTE, "", FP32],
        ["", "", f"[{N}, {K}]"],
    )
    assert (gemv.flops, gemv.unit, gemv.precision) == (2 * N * K, "vector", "bf16")
    assert gemv.bytes_moved == 2 * K + N * K // 2 + 4 * N * K // 64 + 2 * N


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("_C::cutlass_scaled_mm", [[M, N], [M, K], [K + 1, N]]),
        ("vllm::fp8_gemm_nt_op", [[M, K], [], [N, K + 1], [], [M, N]]),
        ("sgl_kernel::dsv3_router_gemm", [[M, N], [M + 1, K], [N, K]]),
        ("aiter::batched_gemm_a16wfp4_", [[3, M, K], [4, N, K // 2]]),
        ("_C::gptq_marlin_gemm", [[M, K], [8, 8]]),
        ("_C::awq_gemm", [[M, K], [K + 1, 8], [1, N]]),
        ("vllm::gemm_with_dynamic_quant", [[M, K], [N, K]]),
    ],
)
def test_shapes_that_do_not_fit(name, dims):
    assert cost_of(args(name, dims, BF16)) is None
