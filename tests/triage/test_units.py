"""The unit traces, each with one planted bottleneck on MI300X: the first compute finding is that op.

Bounds and efficiencies are those that TraceLens's own deterministic part gives for the same traces, except for the
expert layers, which it has no model for: there the ends of the range are computed by hand.
"""

import json
from dataclasses import dataclass

import pytest

from tracelens_tui.report.validate import validate_run
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


@dataclass(frozen=True)
class Unit:
    """What is planted in a trace, and TraceLens's range of the impact."""

    name: str
    op: str
    category: str
    bound: str
    low: float
    high: float
    advice: str
    extras: tuple[str, ...] = ()  # other ops that TraceLens has compute findings of too


UNITS = [
    Unit("gemm_01_compute_few_tiles", "aten::mm", "gemm", "compute", 71.66, 95.54, "Split the deep dimension"),
    Unit("gemm_03_compute_misaligned", "aten::mm", "gemm", "compute", 35.32, 47.09, "padding of the misaligned"),
    Unit("gemm_04_memory_tall_skinny", "aten::mm", "gemm", "memory", 53.78, 71.71, "tall and skinny"),
    Unit("sdpa_01_long_seq_low_eff", "aten::_scaled_dot_product_flash_attention", "sdpa_fwd", "compute", 44.67, 59.56,
         "another attention backend"),
    Unit("sdpa_03_short_seq_overhead", "aten::_scaled_dot_product_flash_attention", "sdpa_fwd", "memory", 51.80, 69.06,
         "short-sequence"),
    Unit("elem_01_add_poor_bw", "aten::add", "elementwise", "memory", 47.92, 63.89, "miss the usual bandwidth"),
    Unit("conv_01_large_spatial_small_ch", "aten::convolution", "conv_fwd", "compute", 72.98, 97.31, "fp32"),
    Unit("conv_04_depthwise", "aten::convolution", "conv_fwd", "memory", 72.28, 96.38, "depthwise"),
    Unit("conv_07_transposed", "aten::convolution", "conv_fwd", "compute", 35.45, 47.27, "transposed", ("aten::mul_",)),
]  # fmt: skip


def triage(shared, folder, name):
    outcome = run_triage(
        TriageRequest(
            shared / f"traces/units/{name}.json.gz", run_dir=folder / "run", platform="MI300X", use_cache=False
        )
    )
    assert outcome.exit_code == 0, outcome.message
    assert validate_run(folder / "run") == []
    return json.loads((folder / "run/analysis.json").read_text())["findings"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_first_compute_finding_is_the_planted_op(shared, tmp_path, unit):
    findings = triage(shared, tmp_path, unit.name)
    first, *others = [one for one in findings if one["tier"] == "compute"]
    assert [one["name"] for one in first["operations"]] == [unit.op]
    assert (first["category"], first["bound"]) == (unit.category, unit.bound)
    assert unit.low <= first["impact"]["mid"] <= unit.high
    assert unit.advice in first["title"]
    assert {one["name"] for other in others for one in other["operations"]} <= set(unit.extras)
    assert [one for one in findings if one["tier"] == "fusion"] == []
    assert sum(one["impact"]["high"] for one in findings) <= 100


MATRIX_TFLOPS, MEMORY_TBPS = 708.0, 5.3  # achievable bf16 and nameplate bandwidth of MI300X


@pytest.mark.parametrize(
    ("name", "tokens", "hidden", "expert", "window_us", "kernel_us"),
    [  # ``expert``: elements of one expert's two weights
        ("moe_01_many_experts_few_tokens", 16, 4096, 22016 * 4096 + 4096 * 11008, 280.0, 280.0),
        ("moe_04_top2_dense", 512, 7168, 28672 * 7168 + 7168 * 14336, 2790.0, 1800.0),
    ],
)
def test_expert_layers_have_a_range(shared, tmp_path, name, tokens, hidden, expert, window_us, kernel_us):
    findings = triage(shared, tmp_path, name)
    first = next(one for one in findings if one["tier"] == "compute")
    assert [one["name"] for one in first["operations"]] == ["vllm::rocm_aiter_fused_moe"]
    assert first["category"] == "moe_fused"
    assert first["confidence"] == "low"
    flops = 2 * tokens * 2 * expert  # each token goes to two experts
    fewest = 2 * expert * 2 + tokens * hidden * 2 * 2  # bytes of two experts in bf16, rows read and written
    least_us = max(flops / MATRIX_TFLOPS, fewest / MEMORY_TBPS) / 1e6
    high = 100 * (kernel_us - least_us) / window_us
    assert first["impact"] == pytest.approx({"low": 0.0, "mid": 0.875 * high, "high": high}, abs=0.01)
    assert "[ANOMALY] - verify measurement" in (tmp_path / "run/analysis.md").read_text(encoding="utf-8")
    assert sum(one["impact"]["mid"] for one in findings) <= 100


def test_every_unit_trace_is_tested(shared):
    names = {path.name.removesuffix(".json.gz") for path in (shared / "traces/units").glob("*.json.gz")}
    assert names == {unit.name for unit in UNITS} | {"moe_01_many_experts_few_tokens", "moe_04_top2_dense"}
