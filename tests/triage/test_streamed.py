"""A triage of a pipe: the run directory keeps the trace, so that it is a run like any other."""

import os
import threading
from pathlib import Path

import pytest

from tracelens_tui.errors import UserError
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


@pytest.fixture
def pipe_of(tmp_path):
    """A named pipe that gives some bytes once."""
    started = []

    def make(data: bytes) -> Path:
        fifo = tmp_path / "fifo.json"
        os.mkfifo(fifo)
        writer = threading.Thread(target=fifo.write_bytes, args=[data], daemon=True)
        writer.start()
        started.append(writer)
        return fifo

    yield make
    for writer in started:
        writer.join(10)


def test_the_run_keeps_the_trace_and_can_be_moved_and_resumed(trace, pipe_of, tmp_path):
    run, data = tmp_path / "run", trace.read_bytes()
    outcome = run_triage(TriageRequest(pipe_of(data), run_dir=run, use_cache=False))
    assert (outcome.status, outcome.exit_code) == ("finished", 0)
    copy = RunDir(run).trace_path()
    assert copy.parent == run
    assert copy.read_bytes() == data
    report = (run / "analysis.md").read_bytes()
    again = run_triage(TriageRequest(copy, run_dir=run, resume=True, use_cache=False))
    assert again.exit_code == 0
    assert (run / "analysis.md").read_bytes() == report
    moved = run.rename(tmp_path / "elsewhere")
    assert RunDir(moved).trace_path().read_bytes() == data


def test_without_a_run_directory_it_gets_one_by_its_content(trace, pipe_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run_triage(TriageRequest(pipe_of(trace.read_bytes()), use_cache=False))
    assert outcome.run_dir.parent == tmp_path / "tracelens_runs"
    assert outcome.run_dir.name.startswith("fifo-")


def test_bad_input_leaves_nothing_and_names_the_stream(pipe_of, tmp_path):
    fifo = pipe_of(
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}'
    )
    with pytest.raises(UserError, match="no GPU events") as told:
        run_triage(TriageRequest(fifo, run_dir=tmp_path / "run", use_cache=False))
    assert str(told.value).startswith(f"{fifo} holds")
    assert sorted(tmp_path.iterdir()) == [fifo]


def test_what_is_gone_cannot_be_resumed(tmp_path):
    with pytest.raises(UserError, match=r"standard input cannot be read a second time: .* the copy"):
        run_triage(TriageRequest(Path("-"), run_dir=tmp_path / "run", resume=True))


def test_a_place_that_holds_a_run_is_refused_before_the_stream_is_read(trace, tmp_path):
    run = tmp_path / "run"
    run_triage(TriageRequest(trace, run_dir=run, use_cache=False))
    with pytest.raises(UserError, match="holds a run already: choose another --run-dir"):
        run_triage(TriageRequest(Path("-"), run_dir=run))
