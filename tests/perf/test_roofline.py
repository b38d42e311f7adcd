import math

import pytest

from tracelens_tui.perf.platform_types import Peak, Platform
from tracelens_tui.perf.roofline import (
    above_every_peak,
    compute_spec,
    efficiency,
    gb_per_s,
    roof_of,
    tflops_per_s,
    why_no_roof,
)
from tracelens_tui.perf.types import OpCost, Unit


def platform(**peaks) -> Platform:
    return Platform("Test", "", "", None, None, 1000.0, None, {k: Peak(None, v) for k, v in peaks.items()})


def cost(flops, moved, unit: Unit = "matrix", precision: str | None = "bf16") -> OpCost:
    return OpCost(flops, moved, 0 if moved is not None else None, unit, precision)


def test_compute_bound():
    roof = roof_of(cost(4_000_000_000, 1_000_000), platform(matrix_bf16=200.0))
    assert roof is not None
    assert roof.time_ns == pytest.approx(20_000)  # 4 GFLOP at 200 TFLOPS; the bytes need 1 us
    assert (roof.bound, roof.spec, roof.peak_tflops, roof.bandwidth_gbps) == ("compute", "matrix_bf16", 200.0, 1000.0)


def test_memory_bound():
    roof = roof_of(cost(1_000_000, 5_000_000), platform(matrix_bf16=200.0))
    assert roof is not None
    assert roof.time_ns == pytest.approx(5_000)
    assert roof.bound == "memory"


def test_equal_times_are_compute_bound():
    roof = roof_of(cost(200_000, 1_000), platform(matrix_bf16=200.0))
    assert roof is not None
    assert (roof.time_ns, roof.bound) == (1.0, "compute")


def test_an_op_without_arithmetic_has_the_memory_roof():
    for gpu in (platform(), platform(matrix_bf16=200.0)):
        roof = roof_of(cost(0, 3_000), gpu)
        assert roof is not None
        assert (roof.time_ns, roof.bound, roof.spec, roof.peak_tflops) == (3.0, "memory", "memory", 0.0)


def test_integer_elementwise_work_has_the_memory_roof():
    roof = roof_of(cost(100, 3_000, "vector", None), platform(vector_fp32=10.0))
    assert roof is not None
    assert (roof.time_ns, roof.spec) == (3.0, "memory")


@pytest.mark.parametrize(
    ("unit", "precision", "peaks", "spec"),
    [
        ("vector", "bf16", {"vector_bf16": 4.0, "vector_fp32": 2.0}, "vector_bf16"),
        ("vector", "bf16", {"vector_fp32": 2.0}, "vector_fp32"),
        ("vector", "fp16", {"vector_fp32": 2.0}, "vector_fp32"),
        ("matrix", "fp32", {"vector_fp32": 2.0}, "vector_fp32"),
        ("matrix", "fp64", {"vector_fp64": 2.0}, "vector_fp64"),
    ],
)
def test_what_the_hardware_uses_where_it_has_no_such_unit(unit, precision, peaks, spec):
    roof = roof_of(cost(10, 10, unit, precision), platform(**peaks))
    assert roof is not None
    assert roof.spec == spec


@pytest.mark.parametrize(
    ("found", "peaks", "why"),
    [
        (cost(10, None), {"matrix_bf16": 1.0}, "the size of an element is unknown"),
        (cost(None, 10), {"matrix_bf16": 1.0}, "its FLOPs cannot be told from the recorded arguments"),
        (cost(10, 10), {"matrix_fp16": 1.0, "vector_fp32": 1.0}, "Test has no matrix_bf16 peak"),
        (cost(10, 10, "matrix", "tf32"), {"matrix_fp32": 1.0}, "Test has no matrix_tf32 peak"),
        (cost(10, 10, "matrix", None), {"matrix_bf16": 1.0}, "no precision of a peak goes with its types"),
    ],
)
def test_no_roof_and_why(found, peaks, why):
    assert roof_of(found, platform(**peaks)) is None
    assert why_no_roof(found, platform(**peaks)) == why


def test_efficiency_is_not_clamped():
    roof = roof_of(cost(0, 3_000), platform())
    assert roof is not None
    assert efficiency(roof, 2.0) == 1.5
    assert efficiency(roof, 6.0) == 0.5
    assert efficiency(roof, 0) is None


def test_rates():
    found = cost(2_147_483_648, 7_340_032)
    rate, bandwidth = tflops_per_s(found, 20_000), gb_per_s(found, 20_000)
    assert rate is not None
    assert bandwidth is not None
    assert math.isclose(rate, 107.374, abs_tol=5e-4)
    assert math.isclose(bandwidth, 367.002, abs_tol=5e-4)
    assert tflops_per_s(found, 0) is None
    assert gb_per_s(cost(1, None), 10) is None
    assert compute_spec(found) == "matrix_bf16"
    assert compute_spec(cost(1, 1, "vector", None)) is None


def test_a_rate_that_no_gpu_has_is_reported():
    found = above_every_peak(cost(1_099_511_627_776, 402_653_184), 50_000)
    assert found is not None
    assert found[0] == pytest.approx(21_990.233, abs=1e-3)
    assert found[1] == 2516.6  # MI355X bf16
    assert above_every_peak(cost(2_147_483_648, 7_340_032), 20_000) is None
    assert above_every_peak(cost(1000 * 10**9, 1, precision="fp32"), 1e6) is None  # 1000 TFLOPS: TF32 of a B200
