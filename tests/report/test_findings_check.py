"""A finding is accepted only when everything in it can be checked and was."""

from typing import Any

import pytest

from tests.report.fixture_findings import findings_files
from tracelens_tui.report.findings_check import check_findings
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.store import RunDir

FILES = {file.category: file for file in findings_files()}


def changed(category: str, *path: str | int, to: object) -> FindingsFile:
    """The category's file with one value changed; the path begins inside its first finding."""
    data: dict[str, Any] = FILES[category].model_dump()
    place: Any = data["findings"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return FindingsFile.model_validate(data)


@pytest.mark.parametrize("file", findings_files(), ids=lambda file: file.category)
def test_good_findings_pass(run: RunDir, file: FindingsFile) -> None:
    assert check_findings(file, run) == []


@pytest.mark.parametrize(
    ("category", "path", "to", "problem"),
    [
        ("gemm", ("impact", "low"), 16.0, "low is 16, but 0.75 × high is 15"),
        ("gemm", ("impact", "mid"), 19.0, "mid is 19, but 0.875 × high is 17.5"),
        ("gemm", ("impact", "low"), 18.0, "0 ≤ low ≤ mid ≤ high ≤ 100 does not hold"),
        ("gemm", ("impact", "low"), None, "all numbers or all null"),
        ("gemm", ("impact",), {"low": None, "mid": None, "high": None}, "it can be computed here"),
        ("kernel_fusion", ("impact",), {"low": None, "mid": None, "high": None}, "it can be computed here"),
        ("gemm", ("impact",), {"low": 18.0, "mid": 21.0, "high": 24.0}, "have only 20 % of the window to win"),
        ("gemm", ("impact",), {"low": -1.5, "mid": -1.75, "high": -2.0}, "does not hold"),
        ("gemm", ("id",), "reduce-1", "the id does not begin with gemm-"),
        ("gemm", ("tier",), "system", "tier is 'system', the file's is 'compute'"),
        ("gemm", ("category",), "reduce", "category is 'reduce'"),
        ("gemm", ("agent",), "norm", "agent is 'norm'"),
        ("gemm", ("operations",), [], "a compute finding lists its operations"),
        ("kernel_fusion", ("kernels",), [], "a fusion finding lists its kernels"),
        ("cpu_idle", ("metrics",), [], "a system finding lists its metrics"),
        ("gemm", ("operations", 0, "row"), 99, "operation 99 is not in category_data/gemm_metrics.json"),
        ("gemm", ("operations", 0, "time_ms"), 50.1, "time_ms is 50.1, the metrics have 50.0"),
        ("gemm", ("operations", 0, "count"), 11, "count is 11, the metrics have 10"),
        ("gemm", ("operations", 0, "name"), "aten::bmm", "name is 'aten::bmm'"),
        ("gemm", ("operations", 0, "args"), "—", "args is '—'"),
        ("gemm", ("operations", 0, "kernel_path"), "—", "kernel_path is '—'"),
        ("gemm", ("operations", 0, "kernel_name"), "—", "kernel_name is '—'"),
        ("gemm", ("operations", 0, "percent_of_window"), 51.0, "percent_of_window is 51.0"),
        ("gemm", ("operations", 0, "flops_per_byte"), 1.0, "flops_per_byte is 1.0"),
        ("gemm", ("operations", 0, "efficiency_percent"), 99.0, "efficiency_percent is 99.0"),
        ("gemm", ("operations", 0, "bound"), "memory", "bound is 'memory'"),
        ("gemm", ("operations", 0, "peak"), 1307.0, "peak is 1307.0, the metrics have 708.0"),
        ("gemm", ("operations", 0, "dims"), [[1, 2]], "dims and dtype are not those of the metrics"),
        (
            "gemm",
            ("evidence", 1, "value"),
            51.0,
            "evidence time: is 51.0, but perf_report_csvs/unified_perf_summary.csv",
        ),
        ("gemm", ("evidence", 0, "value"), "aten::bmm", "evidence op: is 'aten::bmm'"),
        ("gemm", ("evidence", 1, "key"), "row=7,column=x", "there is no row 7"),
        ("gemm", ("evidence", 1, "source"), "gone.csv", "the file is missing"),
        ("gemm", ("evidence", 1, "source"), "../../secret.csv", "not a path inside"),
        ("gemm", ("evidence", 1, "id"), "op", "evidence op stands twice"),
        ("gemm", ("insight",), "It takes [[hours]].", "insight: refers to [[hours]], which is not evidence"),
        ("gemm", ("insight",), "It takes 50 ms.", "insight: holds the bare number '50'"),
        ("gemm", ("title",), "Gain 3 %", "title: holds the bare number '3 %'"),
        ("gemm", ("action",), " ", "action: is empty"),
        ("gemm", ("resolution",), "See [[Table]].", "resolution: holds double brackets"),
        ("gemm", ("reasoning",), "Low occupancy.", "reasoning: occupancy: 'occupancy' cannot be known"),
        ("gemm", ("caveats", 0), "More than 3.", "caveats[0]: holds the bare number '3.'"),
        ("cpu_idle", ("metrics", 0, "value"), "18 %", "metrics[0].value: holds the bare number '18 %'"),
        ("cpu_idle", ("metrics", 0, "metric"), "Warp stalls", "metrics[0].metric: warp_stalls"),
        ("gemm", ("title",), "x" * 121, "title: has 121 characters, more than 120"),
    ],
)
def test_each_fault_is_found(run: RunDir, category: str, path: tuple[str | int, ...], to: object, problem: str) -> None:
    problems = check_findings(changed(category, *path, to=to), run)
    assert any(problem in line for line in problems), problems
    assert all("\n" not in line for line in problems)


def test_the_same_operation_counts_once(run: RunDir) -> None:
    operations = FILES["gemm"].model_dump()["findings"][0]["operations"]
    problems = check_findings(changed("gemm", "operations", to=operations * 2), run)
    assert "gemm-1: operation 0 is listed twice" in problems


def test_the_exposed_time_bounds_the_impact(run: RunDir) -> None:
    """Half of the kernel time hides beside other work: half as much can be won."""
    path = run.path / "category_data/gemm_metrics.json"
    path.write_text(path.read_text().replace('"exposed_ms": 50.0', '"exposed_ms": 25.0'))
    assert check_findings(FILES["gemm"], run) == [
        "gemm-1: impact: high is 20, but the operations have only 10 % of the window to win"
    ]


def test_no_impact_where_no_roofline_is_known(run: RunDir) -> None:
    data: dict[str, Any] = FILES["elementwise"].model_dump()
    finding = data["findings"][0]
    metrics = run.read_json("category_data/elementwise_metrics.json", _metrics_schema()).operations[1]
    finding["operations"] = [
        {
            "row": 2, "name": metrics.name, "args": "—", "count": 5, "time_ms": 6.0, "percent_of_window": 6.0,
        }
    ]  # fmt: skip
    finding["impact"] = {"low": None, "mid": None, "high": None}
    assert check_findings(FindingsFile.model_validate(data), run) == []


def _metrics_schema() -> Any:
    from tracelens_tui.run.category_files import CategoryMetrics

    return CategoryMetrics


def test_metrics_must_be_there(run: RunDir) -> None:
    (run.path / "category_data/gemm_metrics.json").unlink()
    assert "the file is missing" in check_findings(FILES["gemm"], run)[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"status": "no_data"}, "status is no_data, but there are findings"),
        ({"status": "error", "findings": []}, "status is error, but no message says why"),
        ({"findings": FILES["gemm"].findings * 2}, "gemm-1 stands twice"),
    ],
)
def test_the_file_as_a_whole(run: RunDir, change: dict[str, object], problem: str) -> None:
    assert problem in check_findings(FILES["gemm"].model_copy(update=change), run)
