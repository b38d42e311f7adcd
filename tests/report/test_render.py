"""The report: form of the contract, content of the run, the same bytes each time."""

import json
from pathlib import Path

import pytest

from tests.report.editing import edit, section, text_of
from tests.report.fixture_run import make_run
from tracelens_tui.errors import UserError
from tracelens_tui.report import charts
from tracelens_tui.report.check_structure import SECTIONS, structure_problems
from tracelens_tui.report.document import Document
from tracelens_tui.report.render import findings_markdown, write_findings, write_report
from tracelens_tui.run.analysis_file import AnalysisJson
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.store import MANIFEST, RunDir


def test_form(run: RunDir) -> None:
    assert structure_problems(Document(text_of(run))) == []


def test_sections_in_order_without_warnings(run: RunDir) -> None:
    headings = [line[3:] for line in text_of(run).splitlines() if line.startswith("## ")]
    assert headings == list(SECTIONS)


def test_title_and_summary(run: RunDir) -> None:
    lines = text_of(run).splitlines()
    assert lines[0] == "# Toy - MI300X Standalone Analysis"
    assert lines[4] == (
        "Device 0 (MI300X) was traced for 100.00 ms: 80.0 % compute, 0.0 % exposed communication, 2.0 % exposed "
        "copies, 18.0 % idle. GEMM is the largest kernel category with 50.00 ms, 62.5 % of compute time, in 1 distinct "
        "op. The triage has 4 findings (2 in compute kernels, 1 in kernel fusion, 1 in the system), which together can "
        "win 25.5 to 52.0 % of the window (middle estimate 45.5 %, no time counted twice). Start with **Tune the long "
        "bf16 products** (gemm, 17.5 % of the window): Pass `torch.backends.cuda.preferred_blas_library(1)` or pad "
        "the inner dimension."
    )
    assert lines[6:13] == [
        "| Metric | Value |",
        "|--------|-------|",
        "| Total Time | 100.00 ms |",
        "| Compute % | 80.00% |",
        "| Idle % | 18.00% |",
        "| Exposed Communication % | 0.00% |",
        "| Top Bottleneck Category | GEMM (62.5% of compute time) |",
    ]


def test_top_operations_with_their_markers(run: RunDir) -> None:
    assert """<!-- impact-begin kind=top_ops -->
| Rank | Category | Time (ms) | % of Compute Time | Ops |
|------|----------|-----------|-------------------|-----|
| 1 | GEMM | 50.00 | 62.5% | 1 | <!-- top-ops-row low=15.00 high=20.00 -->
| 2 | elementwise | 26.00 | 32.5% | 2 | <!-- top-ops-row low=7.50 high=10.00 -->
| 3 | other | 4.00 | 5.0% | 1 | <!-- top-ops-row low=null high=null -->
<!-- impact-end -->
""" in text_of(run)


def test_a_compute_card(run: RunDir) -> None:
    assert """### 🔴 P1: Tune the long bf16 products (Tensile)

**Insight**: `aten::mm` takes 50.0 ms at 60.0 % of its roof.

**Action**: Pass `torch.backends.cuda.preferred_blas_library(1)` or pad the inner dimension.

<!-- impact-begin kind=p_item category=gemm low=15.00 mid=17.50 high=20.00 -->
**Impact**: impact_score: 17.5
<!-- impact-end -->

**Confidence**: medium

[Detailed Analysis: Compute kernel insights > P1](#detailed-analysis-compute-p1)

---
""" in text_of(run)


def test_numbers_restart_in_each_tier(run: RunDir) -> None:
    text = text_of(run)
    assert "### 🟡 P1: Fuse the activation with the addition" in section(text, SECTIONS[2])
    assert "**Impact**: impact_score: 3.5 (perf-model coverage 1/2 kernels)" in section(text, SECTIONS[2])
    assert "<!-- impact-begin kind=p_item low=0.00 mid=15.75 high=18.00 -->" in section(text, SECTIONS[3])
    assert "](#detailed-analysis-fusion-P1)" in section(text, SECTIONS[2])


def test_a_detail_block(run: RunDir) -> None:
    block = section(text_of(run), SECTIONS[4])
    assert block.index(
        '<!-- reasoning-candidate tier=compute rank=1 -->\n<a id="detailed-analysis-compute-p1"></a>\n####'
    )
    row = (
        "| aten::mm | (8192,2432) bf16<br>(2432,9728) bf16 | model.py(12): forward "
        "| Cijk_Alik_Bljk_BBS_BH_MT256x224x64 | 50.00 | 50.00% | 10 | 1572.2 | 60.0% of 708 TFLOPS | compute |"
    )
    assert row in block.splitlines()
    assert "- Low end impact_score: 15.0\n- High end impact_score: 20.0\n<!-- impact-end -->" in block
    assert "| Idle share | 18.0 % | Yes |" in block
    assert "| vectorized_elementwise_kernel<4, at::native::AddFunctor> | elementwise | 12.50 | Yes |" in block


def test_appendix(run: RunDir) -> None:
    appendix = section(text_of(run), SECTIONS[5])
    for row in ("| Model | Toy |", "| Scale | Cannot be inferred from trace |", "| Peak HBM BW | 5.3 TB/s |",
                "| Peak MAF BF16 | 708 TFLOPS |", "| Peak MAF FP8 | 1273 TFLOPS |"):  # fmt: skip
        assert row in appendix
    assert "FP4" not in appendix


def test_the_model_is_a_workload_where_it_is_unknown(run: RunDir) -> None:
    (run.path / "metadata/model_info.json").unlink()
    assert text_of(run).startswith("# Workload - MI300X Standalone Analysis\n")


def test_analysis_json(reported: RunDir) -> None:
    found = reported.read_json("analysis.json", AnalysisJson)
    assert [(one.rank, one.id, one.tier) for one in found.findings] == [
        (1, "gemm-1", "compute"),
        (2, "cpu_idle-1", "system"),
        (3, "elementwise-1", "compute"),
        (4, "kernel_fusion-1", "fusion"),
    ]
    assert (found.model, found.platform, found.warnings) == ("Toy", "MI300X", [])
    assert found.time_us is not None
    assert (found.time_us.window, found.time_us.exposed_memcpy) == (100_000.0, 2_000.0)
    first = found.findings[0]
    assert first.insight == "aten::mm takes 50.0 ms at 60.0 % of its roof."
    assert first.operations[0].model_dump() == {
        "name": "aten::mm", "dims": [[8192, 2432], [2432, 9728]], "dtype": "bf16", "count": 10, "time_ms": 50.0,
        "efficiency_percent": 60.0,
    }  # fmt: skip
    assert set(json.loads((reported.path / "analysis.json").read_text())) == {
        "schema_version", "model", "platform", "time_us", "findings", "warnings",
    }  # fmt: skip


def test_the_same_files_give_the_same_bytes_anywhere(tmp_path: Path) -> None:
    names = ("analysis.md", "analysis.json", "perf_improvement.png")
    results = []
    for place in ("a", "b/c"):
        run = make_run(tmp_path / place)
        write_report(run)
        first = [(run.path / name).read_bytes() for name in names]
        write_report(run)
        results += [first, [(run.path / name).read_bytes() for name in names]]
    assert all(result == results[0] for result in results)


def test_the_report_is_recorded_as_finished(reported: RunDir) -> None:
    assert all(
        RunDir(reported.path).finished(name) for name in ("analysis.md", "analysis.json", "perf_improvement.png")
    )


def test_without_a_chart_there_is_no_picture(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(run)
    assert "![Performance Improvement](perf_improvement.png)" in run.report.read_text()
    monkeypatch.setattr(charts, "draw", lambda _: None)
    write_report(run)
    assert "![" not in run.report.read_text()
    assert not run.exists("perf_improvement.png")
    assert "perf_improvement.png" not in RunDir(run.path).info.files


def test_a_missing_input_writes_nothing(run: RunDir) -> None:
    (run.path / MANIFEST).unlink()
    with pytest.raises(UserError, match=r"category_manifest\.json: the file is missing"):
        write_report(run)
    assert not run.exists("analysis.md")
    assert not run.exists("analysis.json")


def test_a_ranked_finding_without_a_file_is_an_error(run: RunDir) -> None:
    (run.path / "category_findings/gemm_findings.json").unlink()
    with pytest.raises(UserError, match="no findings file has the finding gemm-1"):
        write_report(run)


def test_prose_that_refers_to_nothing_is_an_error(run: RunDir) -> None:
    edit(run, "category_findings/gemm_findings.json", lambda d: d["findings"][0].update(insight="[[gone]]"))
    with pytest.raises(UserError, match="gone"):
        write_report(run)


def test_no_impact_is_null_everywhere(run: RunDir) -> None:
    none = {"low": None, "mid": None, "high": None}
    edit(run, "system_findings/cpu_idle_findings.json", lambda d: d["findings"][0].update(impact=none))
    edit(run, "category_findings/gemm_findings.json", lambda d: d["findings"][0].update(impact=none))
    text = text_of(run)
    assert structure_problems(Document(text)) == []
    marker = "low=null mid=null high=null -->\n**Impact**: Not quantifiable from trace data\n"
    assert f"<!-- impact-begin kind=p_item {marker}" in text
    assert f"<!-- impact-begin kind=p_item category=gemm {marker}" in text
    assert "> ⚠️ No roofline is known for these ops, so no gain is claimed; they take 50.0 % of the window." in text
    assert text.count("\nNot quantifiable from trace data\n") == 2


def test_an_efficiency_above_the_roof_is_an_anomaly(run: RunDir) -> None:
    edit(
        run,
        "category_findings/gemm_findings.json",
        lambda d: d["findings"][0]["operations"][0].update(efficiency_percent=120.0),
    )
    assert "| 120.0% of 708 TFLOPS [ANOMALY] - verify measurement | compute |" in text_of(run)


def test_the_mean_of_calls_is_shown_where_it_differs(run: RunDir) -> None:
    edit(
        run, "category_findings/gemm_findings.json",
        lambda d: d["findings"][0]["operations"][0].update(mean_efficiency_percent=71.5),
    )  # fmt: skip
    assert "| 60.0% of 708 TFLOPS (mean of calls 71.5%) | compute |" in text_of(run)


def test_findings_as_markdown(run: RunDir) -> None:
    name = "category_findings/gemm_findings.json"
    write_findings(run, name)
    text = (run.path / "category_findings/gemm_findings.md").read_text()
    assert text == findings_markdown(run.read_json(name, FindingsFile))
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Recommendations",
        "## Detailed Analysis",
    ]
    assert "### 🔴 P1: Tune the long bf16 products (Tensile)" in text
    assert "](#" not in text
    assert text.count("<!-- reasoning-candidate tier=compute rank=1 -->") == 1


def test_empty_findings_as_markdown(run: RunDir) -> None:
    write_findings(run, "category_findings/other_findings.json")
    text = (run.path / "category_findings/other_findings.md").read_text()
    assert "- Status: NO_DATA\n- Message: no operation has a roofline\n" in text
    assert text.count("No findings.") == 2
