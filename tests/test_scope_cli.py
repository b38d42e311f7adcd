"""The options that choose a part of a trace, from the command line to the report; figures by hand."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.triage.making import MI300X, Tracing
from tracelens_tui.cli import main
from tracelens_tui.run.analysis_file import AnalysisJson

STRIDED = "void at::native::elementwise_kernel_manual_unroll<128, 8, at::native::gpu_kernel_impl>"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Steps 4 to 7 with one kernel each, of 3000, 1000, 1001 and 1002 µs; the host takes as long."""
    made = Tracing(MI300X)
    for number, dur in enumerate((3000, 1000, 1001, 1002), start=4):
        made.host_us = start = max(made.host_us, made.gpu_us)
        made.op("aten::add", [[64, 1024, 1024], [64, 1024, 1024], []], STRIDED, dur)
        made.host("user_annotation", f"ProfilerStep#{number}", start, dur)
    return made.write(tmp_path / "steps.json")


def info(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["info", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "kernels", "busy_us"),
    [
        ((), 4, 6003),
        (("--step", "4"), 1, 3000),
        (("--steps", "5-7"), 3, 3003),
        (("--annotation", "ProfilerStep#[67]"), 2, 2003),
        (("--time=0-1",), 1, 3000),
        (("--node", "0"), 1, 3000),
    ],
)
def test_each_option_chooses(options, kernels, busy_us, trace, capsys):
    found = info(capsys, str(trace), *options)
    assert (found["counts"]["kernel"], found["time_us"]["busy"]) == (kernels, busy_us)
    assert (found["scope"] is None) == (not options)


def test_info_names_the_steady_steps(trace, capsys):
    assert main(["info", str(trace)]) == 0
    assert "look at those alone with --steps 5-7." in capsys.readouterr().out
    assert main(["info", str(trace), "--steps", "5-7"]) == 0
    told = capsys.readouterr().out
    assert "look at" not in told
    assert "Part      ProfilerStep#5 to #7 (3 annotations)" in told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--step", "9"), "ProfilerStep#9 is not in the trace; it has the steps 4-7"),
        (("--step", "x"), "--step 'x': give the number"),
        (("--annotation", "ProfilerStep"), "near it are"),
        (("--time", "9s-10s"), "holds no GPU work"),
        (("--time", "9"), "such as --time 300-450 (ms) or --time 1.2s-1.5s"),
        (("--node", "777"), "777 is no event with a time"),
        (("--step", "4", "--node", "0"), "with --step or with --node, not with both"),
    ],
)
@pytest.mark.parametrize("command", ["info", "tables", "triage"])
def test_a_part_that_cannot_be_is_one_line_and_exit_2_and_leaves_nothing(
    command, options, says, trace, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    more = ["--out", "tables"] if command == "tables" else []
    assert main([command, str(trace), *options, *more]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ")
    assert says in line
    assert sorted(tmp_path.rglob("*")) == before


def test_tables_of_a_part(trace, tmp_path):
    assert main(["tables", str(trace), "--step", "6", "--out", str(tmp_path / "out")]) == 0
    (row,) = csv.DictReader((tmp_path / "out/unified_perf_summary.csv").open(encoding="utf-8"))
    assert (row["name"], row["operation_count"], float(row["Kernel Time (µs)_sum"])) == ("aten::add", "1", 1001.0)


def test_a_triage_of_a_part_has_its_own_place_says_so_and_goes_on_as_it_was(trace, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["triage", str(trace), "--steps", "5-7"]) == 0
    run = Path(capsys.readouterr().out.strip()).parent
    assert run.name.endswith("-steps-5-7")
    assert json.loads((run / "run.json").read_text())["options"]["scope"] == "steps=5-7"
    report = (run / "analysis.md").read_text()
    assert "This report covers a part of the trace, ProfilerStep#5 to #7 (3 annotations)" in report
    assert "runs from 3.00 ms to 6.0" in report
    assert "look at those alone" not in report
    made = AnalysisJson.model_validate_json((run / "analysis.json").read_text())
    assert made.part is not None
    assert made.part.scope == "steps=5-7"
    assert main(["validate", str(run)]) == 0
    capsys.readouterr()
    again = ["triage", str(trace), "--run-dir", str(run), "--resume"]
    for other in ((), ("--step", "5"), ("--annotation", "ProfilerStep#[567]")):
        assert main([*again, *other]) == 2
        assert "cannot be resumed: scope was steps=5-7, now it is" in capsys.readouterr().err
    assert main([*again, "--steps", "5-7"]) == 0
    assert (run / "analysis.md").read_text() == report


def test_the_whole_is_told_to_hold_unequal_steps(trace, tmp_path):
    assert main(["triage", str(trace), "--run-dir", str(tmp_path / "run")]) == 0
    report = (tmp_path / "run/analysis.md").read_text()
    assert "look at those alone with --steps 5-7." in report
    assert "This report covers a part" not in report
    made = json.loads((tmp_path / "run/analysis.json").read_text())
    assert "part" not in made
    assert "--steps 5-7" in made["warnings"][-1]
    assert "scope" not in json.loads((tmp_path / "run/run.json").read_text())["options"]
    assert main(["validate", str(tmp_path / "run")]) == 0
