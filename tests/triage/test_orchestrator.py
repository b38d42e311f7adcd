"""How a triage begins, ends early, fails in parts and tells about it."""

import json
import os
import threading
import time
from pathlib import Path

import pytest

from tests.triage.making import TENSILE, Tracing, mixed
from tracelens_tui.errors import UserError
from tracelens_tui.run.control import request_cancel
from tracelens_tui.run.follow import snapshot
from tracelens_tui.run.journal import read_events
from tracelens_tui.run.lock import RunLock
from tracelens_tui.run.recent import recent_runs
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage import agent_stage, rules, stages
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage
from tracelens_tui.triage.places import run_dir_of
from tracelens_tui.triage.rules import RulesAnalyst

HOST_ONLY = (
    b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}'
)


def types_of(run: Path) -> list[str]:
    return [event.type for event in read_events(run / "events.jsonl")]


def ask(trace: Path, run: Path, **options) -> TriageRequest:
    return TriageRequest(trace, run_dir=run, use_cache=False, **options)


def test_the_journal_tells_the_whole_run(trace, tmp_path):
    heard = []
    outcome = run_triage(ask(trace, tmp_path / "run"), listener=heard.append)
    assert (outcome.status, outcome.exit_code) == ("finished", 0)
    events = read_events(tmp_path / "run/events.jsonl")
    assert [event.seq for event in heard] == [event.seq for event in events] == list(range(1, len(events) + 1))
    finished = [event.stage for event in events if event.type == "stage_finished"]
    assert finished == ["load", "prepare", "plan", "agents", "rank", "model", "report", "validate"]
    skipped = [event for event in events if event.type == "agent_skipped"]
    assert [(event.agent, event.number) for event in skipped] == [
        ("cpu-idle", 0.0),
        ("multi-kernel", 0.0),
        ("kernel-fusion", 0.0),
    ]
    state = snapshot(tmp_path / "run")
    assert (state.status, state.report, len(state.findings)) == ("finished", "analysis.md", 4)
    assert [entry.path for entry in recent_runs()] == [str(tmp_path / "run")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "does not exist"),
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
        (b'{"traceEvents": []}', "0 events"),
        (HOST_ONLY, "no GPU events"),
    ],
)
def test_bad_input_leaves_nothing_behind(tmp_path, content, words):
    path = tmp_path / "input.json"
    if content is not None:
        path.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UserError, match=words) as told:
        run_triage(ask(path, tmp_path / "deep/er/run"))
    assert str(path.name) in str(told.value)
    assert sorted(tmp_path.iterdir()) == before


def test_bad_options_leave_nothing_behind(trace, tmp_path):
    with pytest.raises(UserError, match="not known"):
        run_triage(ask(trace, tmp_path / "run", platform="MI9000"))
    with pytest.raises(UserError, match="device 7"):
        run_triage(ask(trace, tmp_path / "run", device=7))
    assert not (tmp_path / "run").exists()


def test_a_place_that_is_taken_is_not_touched(trace, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        run_triage(ask(trace, run))
    with pytest.raises(UserError, match="not empty"):
        run_triage(ask(trace, run, resume=True))
    assert [entry.name for entry in run.iterdir()] == ["notes.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_may_not_be_written(trace, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UserError, match="cannot be made"):
        run_triage(ask(trace, tmp_path / "run"))


def test_a_file_is_no_place_for_a_run(trace, tmp_path):
    with pytest.raises(UserError, match="is a file"):
        run_triage(ask(trace, trace))
    with pytest.raises(UserError, match="cannot be made"):
        run_triage(ask(trace, trace / "run"))


def test_a_finished_run_is_continued_only_when_asked(trace, tmp_path):
    run = tmp_path / "run"
    run_triage(ask(trace, run))
    report, journal = (run / "analysis.md").read_bytes(), (run / "events.jsonl").read_bytes()
    with pytest.raises(UserError, match="--resume"):
        run_triage(ask(trace, run))
    with pytest.raises(UserError, match="platform was not given, now it is MI325X"):
        run_triage(ask(trace, run, resume=True, platform="MI325X"))
    other = mixed(tmp_path / "other.json", calls=3)
    with pytest.raises(UserError, match="trace"):
        run_triage(ask(other, run, resume=True))
    assert (run / "events.jsonl").read_bytes() == journal  # a refused request leaves no trace in the run
    assert run_triage(ask(trace, run, resume=True)).exit_code == 0
    assert (run / "analysis.md").read_bytes() == report
    reused = [event for event in read_events(run / "events.jsonl") if getattr(event, "reused", False)]
    assert {event.type for event in reused} == {"stage_finished", "agent_finished"}


def test_resuming_where_nothing_was_begun_begins(trace, tmp_path):
    assert run_triage(ask(trace, tmp_path / "run", resume=True)).exit_code == 0


def test_a_changed_file_is_made_again(trace, tmp_path):
    run = tmp_path / "run"
    run_triage(ask(trace, run))
    report = (run / "analysis.md").read_bytes()
    for name in (
        "category_data/gemm_metrics.json",
        "category_findings/gemm_findings.json",
        "perf_report_csvs/quality.csv",
    ):
        (run / name).write_text("{}")
        assert run_triage(ask(trace, run, resume=True)).exit_code == 0
        assert (run / "analysis.md").read_bytes() == report


def test_a_live_run_is_not_taken_over(trace, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    with RunLock(run / "run.lock"), pytest.raises(UserError, match="being written by process"):
        run_triage(ask(trace, run))
    assert run.exists()


def test_two_that_start_at_once_do_not_harm_each_other(trace, tmp_path):
    run = tmp_path / "run"
    outcomes: list[str] = []

    def start() -> None:
        try:
            outcomes.append(run_triage(ask(trace, run)).status)
        except UserError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("finished") == 1
    assert (run / "analysis.md").exists()


class Failing(RulesAnalyst):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def analyse(self, assignment):
        if assignment.category == "gemm":
            raise self.error
        return super().analyse(assignment)


@pytest.mark.parametrize("error", [TriageError("the model does not answer"), ZeroDivisionError("division by zero")])
def test_one_agent_that_fails_leaves_the_others(trace, tmp_path, monkeypatch, error):
    run = tmp_path / "run"
    monkeypatch.setattr(rules, "RulesAnalyst", lambda: Failing(error))
    assert run_triage(ask(trace, run)).exit_code == 0
    [failed] = [event for event in read_events(run / "events.jsonl") if event.type == "agent_failed"]
    assert (failed.agent, failed.cancelled) == ("gemm", False)
    assert str(error) in failed.reason
    assert str(error) in (run / "analysis.md").read_text()
    assert {one["category"] for one in json.loads((run / "analysis.json").read_text())["findings"]} == {
        "elementwise", "sdpa_fwd", "other"
    }  # fmt: skip
    monkeypatch.undo()
    assert run_triage(ask(trace, run, resume=True)).exit_code == 0  # and it is tried again
    assert "gemm-1" in (run / "analysis.json").read_text()


def test_a_finding_that_fails_a_check_is_left_out(trace, tmp_path, monkeypatch):
    class Inventive(RulesAnalyst):
        def analyse(self, assignment):
            file = super().analyse(assignment)
            if assignment.category != "gemm":
                return file
            [finding] = file.findings
            return file.model_copy(
                update={"findings": [finding.model_copy(update={"insight": "It is 37 % too slow."})]}
            )

    monkeypatch.setattr(rules, "RulesAnalyst", Inventive)
    assert run_triage(ask(trace, tmp_path / "run")).exit_code == 0
    [rejected] = [event for event in read_events(tmp_path / "run/events.jsonl") if event.type == "finding_rejected"]
    assert "37" in rejected.check
    assert "gemm-1" not in (tmp_path / "run/analysis.json").read_text()


def test_a_cancelled_run_ends_within_a_second(trace, tmp_path, monkeypatch):
    class Slow(RulesAnalyst):
        def analyse(self, assignment):
            request_cancel(RunDir(tmp_path / "run"))
            time.sleep(1.2)
            return super().analyse(assignment)

    monkeypatch.setattr(rules, "RulesAnalyst", Slow)
    monkeypatch.setattr(agent_stage, "WORKERS", 1)
    started = time.monotonic()
    outcome = run_triage(ask(trace, tmp_path / "run"))
    assert (outcome.status, outcome.exit_code) == ("cancelled", 3)
    assert time.monotonic() - started < 4  # not four sub-agents in a row
    assert types_of(tmp_path / "run")[-1] == "run_failed"
    assert snapshot(tmp_path / "run").status == "cancelled"
    monkeypatch.undo()
    assert run_triage(ask(trace, tmp_path / "run", resume=True)).exit_code == 0  # the old request binds nobody


def test_one_cancelled_agent_leaves_the_others(trace, tmp_path, monkeypatch):
    class Slow(RulesAnalyst):
        def analyse(self, assignment):
            if assignment.agent.id == "gemm":
                request_cancel(RunDir(tmp_path / "run"), agent="gemm")
                time.sleep(1.2)
            return super().analyse(assignment)

    monkeypatch.setattr(rules, "RulesAnalyst", Slow)
    assert run_triage(ask(trace, tmp_path / "run")).exit_code == 0
    [failed] = [event for event in read_events(tmp_path / "run/events.jsonl") if event.type == "agent_failed"]
    assert (failed.agent, failed.cancelled) == ("gemm", True)
    assert "stopped by a viewer" in (tmp_path / "run/analysis.md").read_text()


def test_a_bug_is_told_and_crashes_loudly(trace, tmp_path, monkeypatch):
    def broken(*_args):
        raise RuntimeError("bug")

    monkeypatch.setattr(stages, "prepare", broken)
    with pytest.raises(RuntimeError, match="bug"):
        run_triage(ask(trace, tmp_path / "run"))
    last = read_events(tmp_path / "run/events.jsonl")[-1]
    assert last.type == "run_failed"
    assert "bug" in last.reason


def test_an_invalid_report_is_a_failed_run(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "validate", lambda _path: ["analysis.md: wrong"])
    outcome = run_triage(ask(trace, tmp_path / "run"))
    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    assert "analysis.md: wrong" in outcome.message


def test_the_default_place_is_named_after_trace_and_fingerprint(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = run_dir_of(TriageRequest(trace))
    assert place.parent == tmp_path / "tracelens_runs"
    assert place.name.startswith("mixed-")
    outcome = run_triage(TriageRequest(trace, use_cache=False))
    assert outcome.run_dir == place


def test_without_host_or_shapes_a_report_says_so(tmp_path):
    full = Tracing()
    for _ in range(4):
        full.op("aten::mm", [[4096, 4096], [4096, 4096]], TENSILE, 400)
    gpu_only, no_shapes = Tracing(), Tracing()
    gpu_only.events = [event for event in full.events if event["cat"] == "kernel"]
    no_shapes.events = json.loads(json.dumps(full.events))
    for event in no_shapes.events:
        event["args"].pop("Input Dims", None)
        event["args"].pop("Input type", None)
    for name, trace in (("gpu_only", gpu_only), ("no_shapes", no_shapes)):
        outcome = run_triage(ask(trace.write(tmp_path / f"{name}.json"), tmp_path / name))
        assert outcome.exit_code == 0, outcome.message
        assert "## Executive Summary" in (tmp_path / name / "analysis.md").read_text()
        assert json.loads((tmp_path / name / "analysis.json").read_text())["findings"] == []
