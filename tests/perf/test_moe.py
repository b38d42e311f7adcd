"""Fused experts: 2·M·k·K·N for each of gate, up and down; the experts that are read are a range."""

import json

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.roofline import roof_of, roof_range
from tracelens_tui.perf.types import OpCost

FP8, INT = "c10::Float8_e4m3fn", "int"
M, K, N, E, TOP = 16, 4096, 11008, 64, 2
ONE = 2 * 3 * K * N  # bytes of an expert: gate, up, down in bf16
AROUND = 2 * 2 * M * K  # bytes of tokens and result


def cost(name, dims, types, concrete=()) -> OpCost:
    found = cost_of(args(name, dims, types, concrete))
    assert found is not None
    return found


def fused(name="vllm::rocm_aiter_fused_moe", m=M, weights=BF16, up=2 * N) -> OpCost:
    dims = [[m, K], [E, up, K], [E, K, N], [m, TOP], [m, TOP]]
    return cost(name, dims, [BF16, weights, weights, FP32, INT])


@pytest.mark.parametrize(
    "name", ["vllm::rocm_aiter_fused_moe", "vllm::inplace_fused_experts", "sglang::outplace_fused_experts"]
)
def test_gated_experts(name):
    found = fused(name)
    assert found.flops == 6 * M * K * N * TOP == 8_657_043_456
    assert found.precision == "bf16"
    assert found.bytes_range == (AROUND + 2 * ONE, AROUND + 32 * ONE)
    distinct = 64 * (1 - (62 / 64) ** 16)  # 25.49 under uniform routing
    assert found.bytes_moved == AROUND + round(distinct * ONE)
    assert (found.params["experts_read"], found.params["experts_most"]) == (25.49, 32)


def test_experts_without_a_gate():
    found = fused(up=N)
    assert found.flops == 4 * M * K * N * TOP
    assert found.params["gated"] is False


def test_many_tokens_reach_every_expert():
    found = fused(m=100_000)
    assert found.bytes_range is not None
    assert found.bytes_moved == found.bytes_range[1] == 4 * 100_000 * K + 64 * ONE


def test_the_efficiency_is_a_range_too():
    found, platform = fused(), load_platform("MI300X")
    ends, roof = roof_range(found, platform), roof_of(found, platform)
    assert ends is not None
    assert roof is not None
    assert [end.time_ns for end in ends] == pytest.approx([541_327_360 / 5300, 8_657_305_600 / 5300])
    assert ends[0].time_ns < roof.time_ns < ends[1].time_ns
    single = cost("aten::mm", [[8, 8], [8, 8]], BF16)
    assert roof_range(single, platform) is None


def test_quantised_weights():
    assert fused(weights=FP8).precision == "fp8"
    packed = [[M, K], [E, 2 * N, K // 8], [E, K, N // 8], [M, TOP], [M, TOP]]
    int4 = cost("vllm::outplace_fused_experts", packed, [BF16, INT, INT, FP32, INT])
    assert (int4.flops, int4.precision) == (8_657_043_456, "bf16")
    assert int4.bytes_range == (AROUND + 2 * ONE // 4, AROUND + 32 * ONE // 4)
    assert fused(weights="signed char").precision is None  # 8-bit or 16-bit tokens: not recorded


@pytest.mark.parametrize("name", ["aiter::fmoe_g1u1", "aiter::fmoe_fp8_blockscale_g1u1"])
def test_aiter_assembly(name):
    dims = [[M, K], [M, K], [E, 2 * N, K], [E, K, N], [99], [99], [9], [2], []]
    types = [BF16, FP8, FP8, FP8, INT, FP32, INT, INT, "Scalar"]
    found = cost(name, dims, types, [*[""] * 8, "2"])
    assert (found.flops, found.precision, found.bytes_written) == (8_657_043_456, "fp8", 2 * M * K)


def test_flashinfer():
    dims = [[M, E], [E], [M, K], [E, 2 * N, K], [E, 8, 8], [E, K, N], [E, 8, 8], [], []]
    types = [FP32, FP32, BF16, FP8, FP32, FP8, FP32, "Scalar", "Scalar"]
    name = "vllm::flashinfer_fused_moe_blockscale_fp8"
    assert cost(name, dims, types, [*[""] * 7, "64", "2"]).flops == 8_657_043_456
    assert cost_of(args(name, dims, types, [*[""] * 7, "128", "2"])) is None  # half of the experts are elsewhere


def test_experts_on_several_ranks_have_no_answer():
    dims = [[M, K], [E, 2 * N, K], [E, K, N], [M, TOP], [M, TOP], [128]]
    types = [BF16, BF16, BF16, FP32, INT, INT]
    assert cost_of(args("vllm::rocm_aiter_fused_moe", dims, types)) is None
    assert cost_of(args("vllm::inplace_fused_experts", dims, types)) is None


@pytest.mark.parametrize(
    "dims",
    [
        [[M, K], [E, 2 * N, K], [E, K, N]],
        [[M, K], [E, 2 * N, K], [E + 1, K, N], [M, TOP]],
        [[M, K], [E, 3 * N, K], [E, K, N], [M, TOP]],
        [[M, K], [E, 2 * N, K], [E, K, N], [M, E + 1]],
        [[M, K], [E, 2 * N, K], [E, K, N], [M + 1, TOP]],
    ],
)
def test_no_answer(dims):
    assert cost_of(args("vllm::rocm_aiter_fused_moe", dims, BF16)) is None


def test_the_two_stages():
    up = [[M, K], [E, 2 * N, K], [E, K, N], [9], [9], [2], [M, TOP, 2 * N], []]
    types = [BF16, BF16, BF16, INT, INT, INT, BF16, "Scalar"]
    first = cost("aiter::ck_moe_stage1", up, types)
    assert first.flops == 2 * M * TOP * K * 2 * N
    assert first.bytes_range == (
        2 * M * K + 2 * 4 * K * N + 2 * M * TOP * 2 * N,
        2 * M * K + 32 * 4 * K * N + 2 * M * TOP * 2 * N,
    )
    down = [[M, TOP, N], [E, 2 * N, K], [E, K, N], [9], [9], [2], [M, K], []]
    second = cost("aiter::ck_moe_stage2", down, types)
    assert second.flops == 2 * M * TOP * K * N
    assert first.flops + second.flops == 8_657_043_456


def test_kernels_of_one_projection():
    dims = [[M, K], [E, N, K], [], [M * TOP, N], [], [], [], [], [M, TOP]]
    types = [BF16, BF16, "", BF16, "", "", "", "", INT]
    found = cost("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", dims, types)
    assert (found.flops, found.bytes_written) == (2 * M * TOP * K * N, 2 * M * TOP * N)
    marlin = [
        [M, K],
        [M * TOP, N],
        [E, K // 16, N * 2],
        [E, 1, N],
        *[[]] * 3,
        [128],
        [9],
        [9],
        [1],
        [M, TOP],
        *[[]] * 9,
    ]
    kinds = [BF16, BF16, INT, BF16, "", "", "", INT, INT, INT, INT, FP32, *["Scalar"] * 9]
    numbers = [*[""] * 12, "64", "2", "True", "False", "4", "16", "11008", "4096", "True"]
    low = cost("_moe_C::moe_wna16_marlin_gemm", marlin, kinds, numbers)
    assert (low.flops, low.precision) == (2 * M * TOP * K * N, "bf16")
    assert low.bytes_range is not None
    assert low.bytes_range[0] == 2 * M * K + 2 * 4 * (K // 16) * N * 2 + 2 * M * TOP * N


def test_routing_moves_its_operands():
    dims, types = [[M, TOP], [M, TOP], [M, TOP], [M, E]], [FP32, INT, INT, BF16]
    found = cost("_moe_C::topk_softmax", dims, types)
    assert (found.flops, found.bytes_moved) == (M * E, 3 * 4 * M * TOP + 2 * M * E)
    soft = cost("aiter::topk_softplus", [[M, TOP], [M, TOP], [M, E]], [FP32, INT, BF16])
    assert (soft.flops, soft.bytes_moved) == (6 * M * E, 2 * M * E + 4 * E + 8 * M * TOP)


@pytest.mark.parametrize(
    ("name", "dims", "moved"),
    [
        ("MoEDispatch", [[M, K]], 2 * M * K),
        ("_C_custom_ar::all_reduce", [[], [M, K], [M, K]], 2 * 2 * M * K),
        ("aiter::reduce_scatter", [[], [M, K], [M, K // 2]], 2 * M * K + M * K),
        ("sglang::reg_all_gather_into_tensor", [[M, 2 * K], [M, K]], 6 * M * K),
    ],
)
def test_work_between_gpus_has_no_roof(name, dims, moved):
    found = cost(name, dims, [BF16 if shape else "" for shape in dims])
    assert (found.flops, found.bytes_moved, found.unit) == (0, moved, None)
    assert roof_of(found, load_platform("MI300X")) is None


def test_all_reduce_with_a_norm():
    dims = [[], [], [M, K], [], [], [], [K]]
    found = cost("aiter::fused_allreduce_rmsnorm", dims, ["", "", BF16, "", "", "", BF16])
    assert found.flops == 3 * M * K + M * (2 * K + 2)
    assert found.bytes_moved == 4 * 2 * M * K + 2 * K


@pytest.mark.parametrize(
    ("trace", "gflops"), [("moe_01_many_experts_few_tokens", 8.657), ("moe_04_top2_dense", 631.360)]
)
def test_unit_traces(shared, trace, gflops):
    import gzip

    with gzip.open(shared / f"traces/units/{trace}.json.gz") as file:
        events = json.load(file)["traceEvents"]
    recorded = next(e["args"] for e in events if e["name"] == "vllm::rocm_aiter_fused_moe" and e["cat"] == "cpu_op")
    found = cost(
        "vllm::rocm_aiter_fused_moe", recorded["Input Dims"], recorded["Input type"], recorded["Concrete Inputs"]
    )
    assert found.flops is not None
    assert round(found.flops / 1e9, 3) == gflops
    assert found.bytes_range is not None
    assert found.bytes_range[0] < found.bytes_range[1]
