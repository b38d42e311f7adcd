"""The app's child process: its lines, its exit codes, and how it dies."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.analysis.making import kernel, launch, mm
from tracelens_tui.analysis.store import open_analysis

COMMAND = [sys.executable, "-m", "tracelens_tui.analysis.prepare"]


def trace_file(folder: Path, calls: int = 1) -> Path:
    path = folder / "trace.json"
    events = []
    for i in range(calls):
        events += [mm(20 * i, 10, 64, 64, 64), launch(i + 1, 20 * i + 5), kernel("Cijk_gemm", 100 + 20 * i, 7, i + 1)]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def run(*arguments: object) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_it_tells_its_progress_and_where_the_result_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, lines = run(trace_file(tmp_path), "--out", out, "--platform", "MI300X", "--no-cache")
    assert code == 0
    assert lines[-1] == {"ready": str(out)}
    assert lines[0] == {"stage": "start", "done": 0, "total": 0}
    assert all(set(line) == {"stage", "done", "total"} for line in lines[:-1])
    analysis = open_analysis(out)
    assert analysis.platform is not None
    assert analysis.ops["name"].to_list() == ["aten::mm"]


def test_a_fault_of_the_user_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    code, lines = run(tmp_path / "absent.json", "--out", tmp_path / "out")
    assert code == 2
    assert list(lines[-1]) == ["error"]
    assert "absent.json" in lines[-1]["error"]
    assert not (tmp_path / "out").exists()


def test_a_terminated_child_leaves_nothing_behind(tmp_path: Path) -> None:
    path = trace_file(tmp_path, calls=60_000)
    place = tmp_path / "place"
    place.mkdir()
    with subprocess.Popen(
        [*COMMAND, str(path), "--out", str(place / "out"), "--no-cache"], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.6)  # somewhere in the middle of its work
        child.send_signal(signal.SIGTERM)
        code = child.wait(timeout=60)
    assert code == 128 + signal.SIGTERM
    assert list(place.iterdir()) == []


def test_importing_it_is_light() -> None:
    code = (
        "import sys, tracelens_tui.analysis.prepare; print(sorted({'polars', 'numpy', 'msgspec'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
