"""Real traces beside the repository: units with known efficiencies, models with findings in the tables."""

import csv
import json

import pytest

from tracelens_tui.report.validate import validate_run
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


def triage(shared, folder, name, platform=None):
    outcome = run_triage(
        TriageRequest(shared / f"traces/{name}.json.gz", run_dir=folder / "run", platform=platform, use_cache=False)
    )
    assert outcome.exit_code == 0, outcome.message
    assert validate_run(folder / "run") == []
    return folder / "run", json.loads((folder / "run/analysis.json").read_text())["findings"]


# Efficiency (sum over sum) and mid impact.  TraceLens, whose efficiency is the mean of the calls' ratios, has
# 4.46 / 83.60, 52.91 / 41.20, 23.51 / 62.75, 40.44 / 52.11, 12.18 / 60.43 and 36.11 / 55.90 for the same traces.
@pytest.mark.parametrize(
    ("unit", "category", "bound", "efficiency", "mid", "tolerance"),
    [
        ("gemm_01_compute_few_tiles", "gemm", "compute", 4.46, 83.60, 0.05),
        ("gemm_03_compute_misaligned", "gemm", "compute", 52.91, 41.20, 0.05),
        ("gemm_04_memory_tall_skinny", "gemm", "memory", 23.51, 62.75, 0.1),
        ("sdpa_01_long_seq_low_eff", "sdpa_fwd", "compute", 40.44, 52.11, 3.0),  # the first call is slow
        ("sdpa_03_short_seq_overhead", "sdpa_fwd", "memory", 12.18, 60.43, 0.6),
        ("elem_01_add_poor_bw", "elementwise", "memory", 36.11, 55.90, 0.05),
    ],
)
def test_units(shared, tmp_path, unit, category, bound, efficiency, mid, tolerance):
    _, findings = triage(shared, tmp_path, f"units/{unit}", "MI300X")
    [finding] = [one for one in findings if one["category"] == category]
    assert finding["bound"] == bound
    assert finding["operations"][0]["efficiency_percent"] == pytest.approx(efficiency, abs=tolerance)
    assert finding["impact"]["mid"] == pytest.approx(mid, abs=tolerance)


@pytest.mark.parametrize("name", ["mi300_qwen", "h100_qwen"])
def test_models_have_gemm_and_attention_findings_from_the_tables(shared, tmp_path, name):
    run, findings = triage(shared, tmp_path, name)
    assert {"gemm", "sdpa_fwd", "elementwise"} <= {one["category"] for one in findings}
    with (run / "perf_report_csvs/unified_perf_summary.csv").open(encoding="utf-8", newline="") as file:
        times = {(row["name"], float(row["Kernel Time (µs)_sum"])) for row in csv.DictReader(file)}
    for finding in findings:
        for operation in finding["operations"]:
            assert any(
                operation["name"] == name and operation["time_ms"] * 1e3 == pytest.approx(time) for name, time in times
            )


@pytest.mark.parametrize("name", ["mi300_sd35", "hta_nccl", "mi210_gpu_only"])
def test_odd_traces_end_with_a_report(shared, tmp_path, name):
    triage(shared, tmp_path, name)


def test_unfused_attention_is_seen_from_both_sides(shared, tmp_path):
    _, findings = triage(shared, tmp_path, "h100_timesformer")
    titles = {one["category"]: one["title"] for one in reversed(findings)}
    assert "unfused attention" in titles["gemm"]
    assert "unfused attention" in titles["reduce"]
