"""Cancelling one sub-agent or all of them, and text that comes in any pieces."""

import random
import threading
import time

from tests.claude.running import KEY, findings, plan, triage
from tests.claude.speaking import HEAD, end, event, start, submits, talking, text_block
from tracelens_tui.report.validate import validate_run
from tracelens_tui.run.control import request_cancel
from tracelens_tui.run.journal import read_events
from tracelens_tui.run.store import RunDir


def endless(_request):
    return [HEAD, start(), *[part for _ in range(100) for part in (event("ping"), 0.2)]]


def asked(server, category):
    deadline = time.monotonic() + 30
    while not server.asked(category):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_sub_agent_can_be_stopped(trace, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with talking({"gemm": [endless], "*": [submits()]}) as server:

        def stop():
            asked(server, "gemm")
            request_cancel(RunDir(run), agent="gemm")

        threading.Thread(target=stop, daemon=True).start()
        outcome = triage(trace, run, plan(server, monkeypatch))
    assert outcome.exit_code == 0, outcome.message
    assert validate_run(run) == []
    found = findings(run)
    assert (found["gemm"].status, found["gemm"].message) == ("error", "stopped by a viewer")
    assert [file.analyst for category, file in found.items() if file.findings and category != "gemm"] == ["claude"] * 3


def test_the_whole_run_can_be_stopped(trace, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with talking({"*": [endless]}) as server:

        def stop():
            asked(server, "gemm")
            request_cancel(RunDir(run))

        threading.Thread(target=stop, daemon=True).start()
        outcome = triage(trace, run, plan(server, monkeypatch, concurrency=1))
    assert (outcome.status, outcome.exit_code) == ("cancelled", 3)


def shaken(seed):
    """Hand the findings in, in random pieces at random moments."""
    usual, dice = submits(), random.Random(seed)

    def turn(request):
        data = b"".join(step for step in usual(request)[1:])
        steps = [HEAD]
        while data:
            size = dice.choice([1, 3, 50, 900])
            steps += [data[:size], *([0.002] if dice.random() < 0.05 else [])]
            data = data[size:]
        return steps

    return turn


def test_pieces_and_moments_do_not_change_the_report(trace, tmp_path, monkeypatch):
    reports = []
    for seed in (1, 2):
        with talking({"*": [shaken(seed)]}) as server:
            outcome = triage(trace, tmp_path / f"run{seed}", plan(server, monkeypatch))
        assert outcome.exit_code == 0, outcome.message
        assert {file.fallback_reason for file in findings(outcome.run_dir).values()} == {None}
        reports.append((outcome.run_dir / "analysis.md").read_text())
    assert reports[0] == reports[1]


def test_a_key_that_the_model_repeats_is_written_nowhere(trace, tmp_path, monkeypatch):
    def repeat(_request):
        slow = [part for one in text_block(0, f"The key is {KEY}.") for part in (one, 0.05)]
        return [HEAD, start(), *slow, *end("end_turn")]

    def leak(made):
        made["findings"][0]["title"] = f"Use {KEY}"

    with talking({"gemm": [repeat, submits(leak)], "*": [submits()]}) as server:
        outcome = triage(trace, tmp_path / "run", plan(server, monkeypatch))
    written = "".join(path.read_text(errors="replace") for path in outcome.run_dir.rglob("*") if path.is_file())
    assert KEY[:12] not in written
    texts = [one.text for one in read_events(outcome.run_dir / "events.jsonl") if one.type == "agent_text"]
    assert any("The key is" in text for text in texts)
