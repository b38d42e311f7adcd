"""The truth: unions, splits and efficiencies, by hand."""

import pytest

from tracelens_tui.evals import roof
from tracelens_tui.evals.device import GpuSpan
from tracelens_tui.evals.planted import Ledger, longest_gap, problem, split, union
from tracelens_tui.evals.values import Tensor

LOG = [
    GpuSpan(0, 100, "compute"),
    GpuSpan(50, 180, "comm"),
    GpuSpan(170, 200, "copy"),
    GpuSpan(300, 350, "compute"),
]


def test_split_by_hand():
    time = split(LOG)
    assert (time.window, time.busy, time.idle) == (350, 250, 100)
    assert (time.compute, time.comm, time.exposed_comm) == (150, 130, 80)
    assert (time.memcpy, time.exposed_memcpy) == (30, 20)
    assert time.busy == time.compute + time.exposed_comm + time.exposed_memcpy


def test_split_of_nothing():
    assert split([]).window == 0


def test_union_and_longest_gap():
    assert union([(5, 6), (0, 2), (2, 3)]) == [(0, 3), (5, 6)]
    assert longest_gap(LOG) == (200, 300)
    assert longest_gap(LOG[:1]) == (0, 0)


def test_gemm_roof_by_hand():
    # 2 x 8192^3 FLOP / 708 TFLOPS = 1,552,982.53 ns; 3 x 134,217,728 bytes / 5300 GB/s = 75,972.3 ns
    least = roof.gemm(8192, 8192, 8192)
    assert least.bound == "compute"
    assert least.ns == pytest.approx(1_552_982.53, abs=0.01)
    assert least.at(0.5) == 3_105_965


def test_elementwise_roof_by_hand():
    square = Tensor((8192, 8192), "fp32")
    least = roof.elementwise((square, square), square)  # 805,306,368 bytes / 5300 GB/s
    assert (least.bound, least.bytes_moved) == ("memory", 805_306_368)
    assert least.ns == pytest.approx(151_944.6, abs=0.1)


def test_attention_roofs_by_hand():
    query, key = (2, 8, 1024, 64), (2, 2, 1024, 64)
    whole, half = (roof.attention(query, key, causal=causal) for causal in (False, True))
    assert whole.flops == 4 * 2 * 8 * 1024 * 1024 * 64 == 2 * half.flops
    assert whole.bytes_moved == 2 * (2 * 2 * 8 * 1024 * 64 + 2 * 2 * 2 * 1024 * 64)
    assert roof.attention_backward(query, key, causal=False).flops == 5 * whole.flops // 2


def test_ledger_keeps_sum_ratio_and_mean_ratio():
    ledger, a = Ledger(), Tensor((8192, 8192))
    least = roof.gemm(8192, 8192, 8192)
    for dur_ns in (2_000_000, 4_000_000):
        ledger.add("aten::mm", (a, a), least, dur_ns)
    (truth,) = ledger.truths()
    assert truth.efficiency == pytest.approx(2 * 1_552_982.53 / 6_000_000)
    assert truth.mean_ratio == pytest.approx((1_552_982.53 / 2e6 + 1_552_982.53 / 4e6) / 2)
    found = problem("gemm", [truth], 12_000_000)
    assert (found.time_ns, found.share) == (6_000_000, 0.5)
