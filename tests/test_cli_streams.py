"""``-`` as the trace of every command."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.making import document
from tracelens_tui.cli import main

ROOT = Path(__file__).resolve().parent.parent


def run(*args: str, data: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own with ``data`` on its standard input."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tracelens_tui.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *args], input=data, cwd=cwd, capture_output=True, timeout=120)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_info_reads_standard_input(tmp_path: Path, pack, name: str) -> None:
    done = run("info", name, data=pack(document()), cwd=tmp_path)
    assert done.stderr == b""
    assert done.returncode == 0
    assert done.stdout.startswith(b"File      standard input (kineto, ")
    done = run("info", name, "--json", data=pack(document()), cwd=tmp_path)
    assert json.loads(done.stdout)["events"] == 25


def test_tables_and_triage_read_standard_input(tmp_path: Path) -> None:
    assert run("tables", "-", "--out", "T", data=document(), cwd=tmp_path).returncode == 0
    assert (tmp_path / "T/gpu_timeline.csv").is_file()
    assert run("triage", "-", "--run-dir", "R", data=document(), cwd=tmp_path).returncode == 0
    assert (tmp_path / "R/analysis.md").is_file()
    assert (tmp_path / "R/standard-input.json").read_bytes() == document()


@pytest.mark.parametrize("command", ["info", "triage"])
@pytest.mark.parametrize("data", [b"", b"hello", b'{"traceEvents": []}'])
def test_bad_input_is_one_line_that_names_standard_input(tmp_path: Path, command: str, data: bytes) -> None:
    done = run(command, "-", data=data, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: standard input is ")
    assert done.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [["-"], ["open", "-"], ["/dev/stdin"]])
def test_the_app_wants_a_file(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 2
    assert "error: standard input can be read only once" in capsys.readouterr().err
