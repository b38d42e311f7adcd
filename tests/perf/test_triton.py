"""Kernels of torch.compile: what their names and buffers say, counted by hand."""

import pytest

from tests.perf.calling import BF16, FP32, args
from tracelens_tui.perf.fused_names import fused_ops
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.roofline import roof_of
from tracelens_tui.perf.types import OpCost


@pytest.mark.parametrize(
    ("joined", "ops"),
    [
        ("add", ("add",)),
        ("_unsafe_view_add_mean_mul_pow_rsqrt", ("_unsafe_view", "add", "mean", "mul", "pow", "rsqrt")),
        ("_to_copy__unsafe_view_add", ("_to_copy", "_unsafe_view", "add")),
        ("native_layer_norm_native_layer_norm_backward", ("native_layer_norm", "native_layer_norm_backward")),
        ("_scaled_dot_product_flash_attention_cat", ("_scaled_dot_product_flash_attention", "cat")),
        ("some_new_op_add", ("some", "new", "op", "add")),
        ("", ()),
    ],
)
def test_names_of_fused_ops(joined, ops):
    assert fused_ops(joined) == ops


def kernel(name, buffers, sizes, types: str | list[str] = BF16) -> OpCost:
    kinds = [types] * len(buffers) if isinstance(types, str) else list(types)
    dims, concrete = [*buffers, *[[]] * len(sizes)], [*[""] * len(buffers), *map(str, sizes)]
    found = cost_of(args(name, dims, [*kinds, *["Scalar"] * len(sizes)], concrete))
    assert found is not None
    return found


def test_a_reduction():
    found = kernel("triton_red_fused_add_mean_mul_pow_rsqrt_0", [[8, 64, 32], [32], [8, 64, 32]], [512, 32])
    assert found.flops == 512 * 32 * (1 + 1 + 1 + 2 + 2)
    assert found.bytes_moved == 2 * (2 * 8 * 64 * 32 + 32)
    assert (found.unit, found.precision, found.bytes_range) == ("vector", "bf16", None)
    assert found.params["fused_ops"] == "aten.add, aten.mean, aten.mul, aten.pow, aten.rsqrt"
    assert (found.params["xnumel"], found.params["rnumel"]) == (512, 32)


def test_an_update_in_place_where_nothing_else_can_be_the_result():
    found = kernel("triton_poi_fused_addmm_gelu_view_15", [[2, 4, 8], [8]], [64])
    assert found.flops == 64 * 8
    assert (found.bytes_moved, found.bytes_range) == (2 * (64 + 8 + 64), None)


def test_a_result_of_its_own():
    found = kernel("triton_poi_fused_cat_10", [[4, 8], [2, 8], [6, 8]], [48])
    assert (found.flops, found.bytes_moved, found.bytes_range) == (0, 2 * (32 + 16 + 48), None)


def test_where_either_can_be_it_the_bytes_are_a_range():
    found = kernel("triton_poi_fused_add_3", [[4, 8], [4, 8], [32]], [32])
    assert (found.bytes_moved, found.bytes_range) == (2 * 4 * 32, (2 * 3 * 32, 2 * 4 * 32))


def test_plain_types_have_sizes_and_the_widest_decides():
    found = kernel("triton_poi_fused__to_copy_cat_1", [[2, 4], [2, 4], [3]], [8], ["float", BF16, "long int"])
    assert found.bytes_moved == 4 * 8 + 2 * 8 + 8 * 3 + 4 * 8
    assert found.precision == "fp32"


@pytest.mark.parametrize(
    ("kind", "buffers", "sizes", "elements"),
    [
        ("poi", [[4, 8], [8, 4]], [8, 4], 32),  # a tile in two dimensions
        ("poi", [[4, 8]], [7, 32], 32),  # a dynamic size before the problem's
        ("red", [[6, 10], [6, 2]], [6, 2, 5], 60),  # a reduction that is split
        ("per", [[9, 9], [5, 4]], [3, 5, 4], 20),
    ],
)
def test_the_size_of_the_problem(kind, buffers, sizes, elements):
    assert kernel(f"triton_{kind}_fused_add_0", buffers, sizes).flops == elements


@pytest.mark.parametrize("sizes", [[7, 9], []])
def test_a_problem_that_fits_no_buffer_leaves_the_flops_unknown(sizes):
    found = kernel("triton_poi_fused_add_0", [[4, 8]], sizes)
    assert (found.flops, found.bytes_moved) == (None, 64)


def test_a_kernel_has_a_roof():
    found = kernel("triton_red_fused_add_mean_mul_pow_rsqrt_0", [[8, 64, 32], [32], [8, 64, 32]], [512, 32])
    roof = roof_of(found, load_platform("MI300X"))
    assert roof is not None
    assert (roof.spec, roof.bound) == ("vector_bf16", "memory")
    assert roof.time_ns == pytest.approx(2 * (2 * 16_384 + 32) / 5300)


@pytest.mark.parametrize(
    "name", ["triton_tem_fused_mm_0", "triton_poi_fused_add", "triton_poi_fused_add_0 (Synthetic Op)"]
)
def test_no_answer(name):
    assert cost_of(args(name, [[4, 8]], BF16)) is None


def test_an_unknown_type_leaves_the_bytes_unknown():
    found = kernel("triton_poi_fused_add_0", [[32], [32]], [32], [FP32, "c10::Future"])
    assert (found.flops, found.bytes_moved) == (32, None)
