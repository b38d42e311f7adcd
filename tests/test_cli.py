"""The command line as a user meets it: exit codes, one-line errors, the files each command leaves."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracelens_tui import __version__
from tracelens_tui.cli import main
from tracelens_tui.ingest.objects import trace_from_objects  # noqa: F401  (fails early when the reader is broken)

SECTIONS = [
    "## Executive Summary",
    "## Compute Kernel Optimizations",
    "## Kernel Fusion Opportunities (Experimental)",
    "## System-Level Optimizations",
    "## Detailed Analysis",
    "## Appendix",
]

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"

HOST_ONLY = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2.25, "args": {}}
    ],
}


def one_line_error(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the single line that went to standard error."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    assert "Traceback" not in lines[0]
    return lines[0]


def bad_inputs(folder: Path) -> dict[str, Path]:
    """Return the bad inputs of the acceptance by name."""
    (folder / "empty.json").touch()
    (folder / "picture.json").write_bytes(PNG)
    (folder / "folder").mkdir()
    (folder / "host.json").write_text(json.dumps(HOST_ONLY))
    return {
        "missing": folder / "nowhere.json",
        "empty": folder / "empty.json",
        "png": folder / "picture.json",
        "directory": folder / "folder",
        "no_gpu": folder / "host.json",
    }


@pytest.mark.parametrize("kind", ["missing", "empty", "png", "directory", "no_gpu"])
@pytest.mark.parametrize("command", ["triage", "tables"])
def test_bad_input_is_one_line_and_exit_2_and_leaves_nothing(
    kind: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = bad_inputs(tmp_path)[kind]
    before = sorted(tmp_path.rglob("*"))
    target = ["--run-dir", "R"] if command == "triage" else ["--out", "R"]
    assert main([command, str(path), *target]) == 2
    assert path.name in one_line_error(capsys)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", ["missing", "empty", "png", "directory"])
def test_info_refuses_what_is_no_trace(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(bad_inputs(tmp_path)[kind])]) == 2
    one_line_error(capsys)


def test_info_of_a_trace_without_gpu_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(bad_inputs(tmp_path)["no_gpu"]), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["counts"]["cpu_op"] == 1
    assert info["counts"]["kernel"] == 0
    assert "no_gpu" in [item["code"] for item in info["quality"]]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_to_write_is_one_line_and_exit_2(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert main(["triage", str(shared / "traces/hta_mi250_toy.json.gz"), "--run-dir", str(locked / "R")]) == 2
    assert "locked" in one_line_error(capsys)


def test_a_run_directory_that_cannot_be_made_is_one_line_and_exit_2(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["triage", str(shared / "traces/hta_mi250_toy.json.gz"), "--run-dir", str(tmp_path / "file/R")]) == 2
    assert "file" in one_line_error(capsys)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("name", ["mi300_qwen", "h100_qwen"])
def test_triage_writes_a_report_with_gemm_and_attention_findings_from_the_tables(
    name: str, tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "R"
    assert main(["triage", str(shared / f"traces/{name}.json.gz"), "--run-dir", str(run)]) == 0
    report = (run / "analysis.md").read_text()
    headings = [line for line in report.splitlines() if line.startswith("## ")]
    assert [line for line in headings if line != "## Warnings"] == SECTIONS
    analysis = json.loads((run / "analysis.json").read_text())
    categories = {finding["category"] for finding in analysis["findings"]}
    assert {"gemm", "sdpa_fwd"} <= categories
    capsys.readouterr()
    assert main(["validate", str(run)]) == 0


@pytest.mark.parametrize(("name", "says"), [("mi300_sd35", ""), ("hta_nccl", "shapes"), ("mi210_gpu_only", "CPU")])
def test_triage_of_incomplete_traces_ends_with_a_report_that_says_so(
    name: str, says: str, tmp_path: Path, shared: Path
) -> None:
    run = tmp_path / "R"
    assert main(["triage", str(shared / f"traces/{name}.json.gz"), "--run-dir", str(run)]) == 0
    report = (run / "analysis.md").read_text()
    assert all(section in report for section in SECTIONS)
    assert says in report


def test_a_run_directory_in_use_needs_resume(tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(shared / "traces/hta_mi250_toy.json.gz")
    run = tmp_path / "R"
    assert main(["triage", trace, "--run-dir", str(run)]) == 0
    first = (run / "analysis.md").read_bytes()
    capsys.readouterr()
    assert main(["triage", trace, "--run-dir", str(run)]) == 2
    assert "--resume" in one_line_error(capsys)
    assert main(["triage", trace, "--run-dir", str(run), "--resume"]) == 0
    assert (run / "analysis.md").read_bytes() == first


def test_validate_tells_a_changed_number(tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "R"
    assert main(["triage", str(shared / "traces/mi300_qwen.json.gz"), "--run-dir", str(run)]) == 0
    path = run / "analysis.json"
    data = json.loads(path.read_text())
    data["findings"][0]["impact"]["mid"] += 1
    path.write_text(json.dumps(data))
    capsys.readouterr()
    assert main(["validate", str(run)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "invalid"
    assert main(["validate", str(tmp_path / "nothing")]) == 2


def test_report_prints_and_exports_without_overwriting(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, target = tmp_path / "R", tmp_path / "out.md"
    assert main(["triage", str(shared / "traces/hta_mi250_toy.json.gz"), "--run-dir", str(run)]) == 0
    capsys.readouterr()
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out.startswith("# ")
    assert main(["report", str(run), "--out", str(target)]) == 0
    assert target.read_text().startswith("# ")
    target.write_text("mine")
    capsys.readouterr()
    assert main(["report", str(run), "--out", str(target)]) == 2
    assert target.read_text() == "mine"
    assert main(["report", str(run), "--out", str(target), "--force"]) == 0
    assert target.read_text().startswith("# ")


def test_watch_on_a_pipe_prints_a_finished_run(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "R"
    assert main(["triage", str(shared / "traces/hta_mi250_toy.json.gz"), "--run-dir", str(run)]) == 0
    capsys.readouterr()
    assert main(["watch", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("run started")
    assert lines[-1] == f"report: {run / 'analysis.md'}"


def test_platforms_lists_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["platforms"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("MI300X", "MI325X", "MI355X", "H100", "H200", "A100", "B200"))
    assert main(["platforms", "show", "mi300x"]) == 0
    shown = capsys.readouterr().out
    assert "matrix_bf16    roof      708" in shown
    assert main(["platforms", "show", "MI3000"]) == 2


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tracelens-tui {__version__}"
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(
        name in shown for name in ("triage", "watch", "tables", "info", "report", "validate", "platforms", "demo")
    )


def test_a_path_without_a_terminal_points_to_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["some.json"]) == 2
    assert "tracelens-tui triage" in one_line_error(capsys)


def test_nothing_heavy_is_imported_for_help() -> None:
    code = (
        "import sys; from tracelens_tui.cli import main; main(['--version']);"
        "print([m for m in ('polars', 'textual', 'anthropic', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("kind", ["missing", "empty", "png", "directory"])
def test_every_command_says_the_same_line(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bad_inputs(tmp_path)[kind]
    lines = set()
    for command in (["triage"], ["tables", "--out", str(tmp_path / "R")], ["info"]):
        assert main([*command, str(path)]) == 2
        lines.add(one_line_error(capsys))
    assert len(lines) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", ["--version", "--help", "platforms"])
def test_an_output_that_is_full_is_one_line_and_exit_2(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        line = [sys.executable, "-m", "tracelens_tui", command]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "standard output cannot be written" in done.stderr


def test_a_terminal_without_the_letters_gets_question_marks() -> None:
    command = [sys.executable, "-m", "tracelens_tui", "platforms", "show", "MI300X"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
