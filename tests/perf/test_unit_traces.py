"""Efficiency and bound of single ops in real traces, as another tool found them for the same architecture figures."""

import polars as pl
import pytest

from tracelens_tui.analysis.source import open_analysis_of

UNITS = {
    "gemm_01_compute_few_tiles": (4.46, "compute"),
    "gemm_03_compute_misaligned": (52.91, "compute"),
    "gemm_04_memory_tall_skinny": (23.51, "memory"),
    "sdpa_01_long_seq_low_eff": (40.44, "compute"),
    "sdpa_03_short_seq_overhead": (12.18, "memory"),
    "elem_01_add_poor_bw": (36.11, "memory"),
    "conv_01_large_spatial_small_ch": (2.69, "compute"),
    "conv_04_depthwise": (3.62, "memory"),
    "conv_07_transposed": (0.73, "compute"),
}


@pytest.mark.parametrize("name", UNITS)
def test_the_op_with_most_time(shared, name):
    percent, bound = UNITS[name]
    analysis = open_analysis_of(shared / f"traces/units/{name}.json.gz", platform="MI300X", use_cache=False)
    row = analysis.ops.row(0, named=True)
    assert row["pct_roofline_mean"] == pytest.approx(percent, abs=0.1)
    assert row["bound"] == bound
    assert row["efficiency_low"] is None


@pytest.mark.parametrize("name", ["moe_01_many_experts_few_tokens", "moe_04_top2_dense"])
def test_experts_have_a_range(shared, name):
    analysis = open_analysis_of(shared / f"traces/units/{name}.json.gz", platform="MI300X", use_cache=False)
    row = analysis.ops.row(by_predicate=pl.col("category") == "MoE_fused", named=True)
    assert 0 < row["efficiency_low"] < row["efficiency"] <= row["efficiency_high"]
