"""The unit traces: each has one planted op, with efficiency and impact as the reference measured them on MI300X."""

from pathlib import Path

import pytest

from tracelens_tui.run.findings import Finding, FindingsFile
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage

UNITS = {
    "gemm_01_compute_few_tiles": ("gemm", "compute", 71.66, 83.60, 95.54),
    "gemm_03_compute_misaligned": ("gemm", "compute", 35.32, 41.20, 47.09),
    "gemm_04_memory_tall_skinny": ("gemm", "memory", 53.78, 62.75, 71.71),
    "sdpa_01_long_seq_low_eff": ("sdpa_fwd", "compute", 44.67, 52.11, 59.56),
    "sdpa_03_short_seq_overhead": ("sdpa_fwd", "memory", 51.80, 60.43, 69.06),
    "elem_01_add_poor_bw": ("elementwise", "memory", 47.92, 55.90, 63.89),
    "conv_01_large_spatial_small_ch": ("conv_fwd", "compute", 72.98, 85.15, 97.31),
    "conv_04_depthwise": ("conv_fwd", "memory", 72.28, 84.33, 96.38),
    "conv_07_transposed": ("conv_fwd", "compute", 35.45, 41.36, 47.27),
}
"""Category, bound and low, mid, high of the planted op."""

EXPERTS = ("moe_01_many_experts_few_tokens", "moe_04_top2_dense")


def triaged(shared: Path, name: str, folder: Path) -> list[Finding]:
    trace = shared / f"traces/units/{name}.json.gz"
    request = TriageRequest(trace=trace, run_dir=folder / "run", platform="MI300X", use_cache=False)
    outcome = run_triage(request)
    assert outcome.exit_code == 0, outcome.message
    run = RunDir(folder / "run")
    files: list[FindingsFile] = list(run.read_findings().values())
    found = [finding for file in files for finding in file.findings if finding.tier == "compute"]
    return sorted(found, key=lambda one: -(one.impact.mid or 0.0))


@pytest.mark.parametrize("name", UNITS)
def test_the_planted_op_is_the_first_compute_finding(shared: Path, tmp_path: Path, name: str) -> None:
    category, bound, low, mid, high = UNITS[name]
    first = triaged(shared, name, tmp_path)[0]
    assert (first.category, first.bound) == (category, bound)
    assert low <= (first.impact.mid or 0.0) <= high
    assert first.impact.mid == pytest.approx(mid, abs=2.5)  # the mean of ratios there, the ratio of sums here


@pytest.mark.parametrize("name", EXPERTS)
def test_experts_are_judged_as_a_range(shared: Path, tmp_path: Path, name: str) -> None:
    first = triaged(shared, name, tmp_path)[0]
    operation = first.operations[0]
    least, most = operation.efficiency_low_percent, operation.efficiency_high_percent
    assert least is not None
    assert most is not None
    assert most > 100
    assert (first.category, first.confidence, first.impact.low) == ("moe_fused", "low", 0.0)
    assert (first.impact.high or 0.0) <= 100 - least
    assert "between" in first.insight
