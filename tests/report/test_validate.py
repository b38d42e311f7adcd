"""A valid run is valid; change one value anywhere and it is not."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.editing import edit
from tests.report.fixture_run import every_file, make_run
from tracelens_tui import __version__
from tracelens_tui.errors import UserError
from tracelens_tui.report.render import write_findings, write_report
from tracelens_tui.report.validate import validate_run
from tracelens_tui.run.store import MANIFEST, PRIORITY, RunDir

NUMBER = re.compile(r'(?<![\w"])\d+(?:\.\d+)?(?!\w)')
LAST_ROW = "| 3 | other | 4.00 | 5.0% | 1 | <!-- top-ops-row low=null high=null -->\n"
UNCHECKED = re.compile(
    r'"(?:cpu_duration_ms|sync_time_ms|sync_ops_count|linked_percent|modelled_percent|priority|digits)"'
    r"|Coverage:|An `impact_score` is|High end: the exposed"  # the template's own words, in reports of other versions
)
"""Values that stand in one file only, so that nothing can contradict them (the recorded SHA-256 does)."""


def touched(run: RunDir, relative: str) -> list[str]:
    """The problems after a file was changed and recorded again, as somebody would who wants to hide it."""
    RunDir(run.path).finish(relative)
    return validate_run(run.path)


def test_a_whole_run_is_valid(reported: RunDir) -> None:
    for name in reported.findings_files():
        write_findings(reported, name)
    assert validate_run(reported.path) == []


def test_a_moved_run_is_valid(reported: RunDir, tmp_path: Path) -> None:
    shutil.move(reported.path, tmp_path / "elsewhere")
    assert validate_run(tmp_path / "elsewhere") == []


def test_a_report_without_a_chart_is_valid(reported: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracelens_tui.report.charts.draw", lambda _: None)
    write_report(reported)
    assert validate_run(reported.path) == []


def test_any_changed_byte_of_a_finished_file_is_told(reported: RunDir) -> None:
    for name in every_file(reported):
        path = reported.path / name
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        assert f"{name}: changed since it was finished" in validate_run(reported.path)
        path.unlink()
        assert f"{name}: the file is missing" in validate_run(reported.path)
        path.write_bytes(data)


def changes(text: str) -> Iterator[tuple[str, str]]:
    """The text with one number raised by one, once for each number, and the line that it is in."""
    for match in NUMBER.finditer(text):
        whole, _, decimals = match[0].partition(".")
        number = str(int(whole) + 1) + (f".{decimals}" if decimals else "")
        line = text[: match.start()].rsplit("\n", 1)[-1] + text[match.start() :].split("\n", 1)[0]
        yield text[: match.start()] + number + text[match.end() :], line


@pytest.mark.parametrize("version", [__version__, "0.0.0"])
def test_every_changed_number_is_found_although_it_was_recorded_again(tmp_path: Path, version: str) -> None:
    """With another program's version the report is not rendered anew, only parsed and compared."""
    run = make_run(tmp_path / "run")
    edit(run, "run.json", lambda d: d["versions"].update({"tracelens-tui": version}))
    run = RunDir(run.path)
    write_report(run)
    assert validate_run(run.path) == []
    missed: list[str] = []
    count = 0
    for name in every_file(run):
        path = run.path / name
        text = path.read_text()
        for number, (changed, line) in enumerate(changes(text)):
            if version != __version__ and not name.startswith("analysis"):
                continue
            if version == __version__ and number % 3 and not name.startswith("analysis"):
                continue  # a third of the sources' numbers is enough for one test
            count += 1
            path.write_text(changed)
            if not touched(run, name) and not UNCHECKED.search(line):
                missed.append(f"{name}: {line}")
        path.write_text(text)
        RunDir(run.path).finish(name)
    assert missed == ['category_data/category_manifest.json:       "ops_count": 0,'][: len(missed)]
    assert count > 150


@pytest.mark.parametrize(
    ("relative", "old", "new", "problem"),
    [
        ("perf_report_csvs/gpu_timeline.csv", "idle_time,18.0", "idle_time,17.0", "time_ns.idle is 18000000, "),
        ("perf_report_csvs/gpu_timeline.csv", "busy_time", "busy", "the row busy_time is missing"),
        ("perf_report_csvs/unified_perf_summary.csv", "aten::mm", "aten::bmm", "name is 'aten::mm', "),
        ("perf_report_csvs/unified_perf_summary.csv", "50000.0", "50001.0", "time_ms is 50.0, its sources give 50.001"),
        ("perf_report_csvs/unified_perf_summary.csv", "elementwise,20,", "elementwise,21,", "count is 20"),
        ("category_data/gemm_metrics.json", '"exposed_ms": 50.0', '"exposed_ms": 51.0', "exposed_ms is more than"),
        ("category_data/gemm_metrics.json", '"category": "gemm"', '"category": "other"', "is of the category other"),
        ("metadata/gemm_metadata.json", "5.3", "6.0", "the platform's figures are not those of the other categories"),
        ("metadata/gemm_metadata.json", '"category": "GEMM"', '"category": "X"', "is of the category gemm"),
        (PRIORITY, '"global_rank": 1', '"global_rank": 2', "the global ranks are"),
        (PRIORITY, '"category_rank": 1', '"category_rank": 2', "the ranks within gemm are [2]"),
        (PRIORITY, '"id": "elementwise-1"', '"id": "gemm-1"', "gemm-1 is ranked twice"),
        (PRIORITY, '"id": "gemm-1"', '"id": "gemm-2"', "no findings file has the finding gemm-2"),
        (PRIORITY, '"title": "Merge', '"title": "Split', "title of elementwise-1 is"),
        (PRIORITY, '"library": "Tensile"', '"library": "hipBLASLt"', "library of gemm-1 is"),
        (PRIORITY, '"baseline_ms": 100.0', '"baseline_ms": 101.0', "baseline_ms is 101.0"),
        (PRIORITY, '"operation_count": 2', '"operation_count": 3', "operation_count is 3, the manifest has 2"),
        ("category_findings/gemm_findings.json", '"schema_version": 1', '"schema_version": 2', "this program reads 1"),
        ("category_findings/gemm_findings.json", '"confidence": "medium"', '"confidence": "sure"', "confidence"),
        ("analysis.json", '"model": "Toy"', '"model": "Boy"', "model is 'Boy', its sources give 'Toy'"),
        ("analysis.json", '"warnings": []', '"warnings": ["x"]', "warnings is ['x']"),
        ("analysis.json", '"rank": 4', '"rank": 5', "findings[3].rank is 5"),
        ("analysis.md", "Compile the region.", "Buy a bigger GPU.", "Action is 'Buy a bigger GPU.'"),
        ("analysis.md", "### 🔴 P1: Tune", "### 🟢 P1: Tune", "heading is"),
        ("analysis.md", "| 1572.2 |", "| 1572.3 |", "data, row 1"),
        ("analysis.md", "(Tensile)", "(rocBLAS)", "heading is"),
        ("analysis.md", "no hardware counters", "some hardware counters", "line "),
        ("analysis.md", "| Precision | bf16 |", "| Precision | fp8 |", "Model Architecture, row 4"),
        ("analysis.md", "## Appendix", "## Annex", "the sections are"),
        ("analysis.md", LAST_ROW, "", "Top Operations: 2 rows"),
    ],
)  # fmt: skip
def test_each_contradiction_is_named(reported: RunDir, relative: str, old: str, new: str, problem: str) -> None:
    path = reported.path / relative
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    problems = touched(reported, relative)
    assert any(problem in line for line in problems), problems
    assert all("\n" not in line for line in problems)


class TestRanking:
    @staticmethod
    def problems(run: RunDir) -> list[str]:
        write_report(RunDir(run.path))
        return touched(run, PRIORITY)

    def test_order_is_by_mid(self, run: RunDir) -> None:
        def swap(data: dict[str, list[dict[str, object]]]) -> None:
            data["findings"][0], data["findings"][1] = data["findings"][1], data["findings"][0]
            data["findings"][0]["global_rank"], data["findings"][1]["global_rank"] = 1, 2

        edit(run, PRIORITY, swap)
        assert self.problems(run) == [f"{PRIORITY}: gemm-1 has more impact than cpu_idle-1, which stands before it"]

    def test_a_finding_is_ranked_or_dropped(self, run: RunDir) -> None:
        edit(run, PRIORITY, lambda d: d["findings"].pop())
        assert self.problems(run) == [f"{PRIORITY}: ['kernel_fusion-1'] are neither ranked nor dropped"]
        edit(run, PRIORITY, lambda d: d["dropped"].append("Fuse: too little"))
        assert self.problems(run) == []

    def test_the_sum_is_bounded_by_what_the_roofs_leave(self, run: RunDir) -> None:
        """R = 50 ms x 60 % + 20 ms x 50 % = 40 ms: at most 60 % can be won; the idle finding now claims 40."""
        name = "system_findings/cpu_idle_findings.json"
        edit(run, name, lambda d: d["findings"][0].update(impact={"low": 0.0, "mid": 40.0, "high": 40.0}))
        RunDir(run.path).finish(name)
        scores = {"impact_score": 40.0, "impact_score_high": 40.0}

        def rank(data: dict[str, list[dict[str, object]]]) -> None:
            found = data["findings"]
            found[1].update(scores)
            found[0], found[1] = found[1], found[0]
            found[0]["global_rank"], found[1]["global_rank"] = 1, 2

        edit(run, PRIORITY, rank)
        assert self.problems(run) == [
            f"{PRIORITY}: the findings' mid impacts sum to 69.75 %, more than the 60 % that can be won"
        ]

    def test_a_card_is_worth_half_a_percent(self, run: RunDir) -> None:
        name = "system_findings/kernel_fusion_findings.json"
        edit(run, name, lambda d: d["findings"][0].update(impact={"low": 0.3, "mid": 0.35, "high": 0.4}))
        RunDir(run.path).finish(name)
        scores = {"impact_score_low": 0.3, "impact_score": 0.35, "impact_score_high": 0.4}
        edit(run, PRIORITY, lambda d: d["findings"][3].update(scores))
        assert self.problems(run) == [f"{PRIORITY}: kernel_fusion-1 has a mid of 0.35, below 0.5"]


class TestCoverage:
    def test_a_planned_category_has_findings(self, reported: RunDir) -> None:
        (reported.path / "category_findings/other_findings.json").unlink()
        RunDir(reported.path).forget("category_findings/other_findings.json")
        assert validate_run(reported.path) == [f"{MANIFEST}: other was planned, but has no findings file"]

    def test_a_skipped_one_has_not(self, reported: RunDir) -> None:
        self.test_a_planned_category_has_findings(reported)
        edit(reported, MANIFEST, lambda d: d["categories"][3].update(planned=False))
        assert touched(reported, MANIFEST) == []

    def test_findings_lie_where_they_belong(self, reported: RunDir) -> None:
        name = "system_findings/other_findings.json"
        (reported.path / "category_findings/other_findings.json").rename(reported.path / name)
        RunDir(reported.path).forget("category_findings/other_findings.json")
        assert validate_run(reported.path) == [f"{name}: belongs into category_findings/other_findings.json"]

    def test_several_devices(self, reported: RunDir) -> None:
        """The manifest's device is the one that counts."""
        path = reported.path / "perf_report_csvs/gpu_timeline.csv"
        header, *rows = path.read_text().splitlines()
        other = [f"1,{row.split(',')[0]},1.0,1.0" for row in rows]
        path.write_text("\n".join([f"device,{header}", *(f"0,{row}" for row in rows), *other]) + "\n")
        name = "system_findings/cpu_idle_findings.json"
        edit(reported, name, lambda d: d["findings"][0]["evidence"][0].update(key="row=4,column=percent"))
        RunDir(reported.path).finish(name)
        write_report(RunDir(reported.path))
        assert touched(reported, "perf_report_csvs/gpu_timeline.csv") == []


def test_a_run_without_a_report_is_invalid(run: RunDir) -> None:
    assert validate_run(run.path) == ["analysis.md: the file is missing"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"# x\n"])
def test_a_report_that_is_none_is_invalid(reported: RunDir, content: bytes) -> None:
    reported.report.write_bytes(content)
    assert touched(reported, "analysis.md")


def test_broken_inputs_are_named_once(reported: RunDir) -> None:
    (reported.path / MANIFEST).write_text("{")
    problems = validate_run(reported.path)
    assert problems[0] == f"{MANIFEST}: changed since it was finished"
    assert len(problems) == 2
    assert "Invalid JSON" in problems[1]


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_what_is_no_run_is_a_user_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError):
        validate_run(tmp_path / name)


def test_run_json_itself_must_be_readable(reported: RunDir) -> None:
    (reported.path / "run.json").write_text(json.dumps({"run_id": "x"}))
    with pytest.raises(UserError, match=r"run\.json: created"):
        validate_run(reported.path)
