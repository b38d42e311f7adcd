"""A triage that is killed anywhere ends, once resumed, with the same report as one that was left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.triage.making import mixed
from tracelens_tui.run.events import RunFailed
from tracelens_tui.run.journal import read_events

REPORTS = ("analysis.md", "analysis.json", "priority_data.json")
SAMPLE, NIGHTLY = 4, 40


def start(trace: Path, run: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tracelens_tui", "triage", str(trace), f"--run-dir={run}", "--no-cache", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(trace: Path, run: Path, *options: str) -> str:
    process = start(trace, run, *options)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told.decode()
    return told.decode()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The trace, an undisturbed run of it, and how long that takes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    trace = mixed(folder / "mixed.json")
    begun = time.monotonic()
    finish(trace, folder / "run")
    return trace, folder / "run", time.monotonic() - begun


def killed_and_resumed(undisturbed, run: Path, delay: float) -> None:
    trace, whole, _ = undisturbed
    process = start(trace, run)
    time.sleep(delay)
    process.kill()
    process.wait()
    finish(trace, run, "--resume")
    for name in REPORTS:
        assert (run / name).read_bytes() == (whole / name).read_bytes(), (name, delay)
    assert list(run.rglob(".*.tmp")) == []


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_killed_at_a_random_point(undisturbed, tmp_path, seed):
    delay = random.Random(seed).uniform(0.3, 1.0) * undisturbed[2]
    killed_and_resumed(undisturbed, tmp_path / "run", delay)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SAMPLE, SAMPLE + NIGHTLY))
def test_killed_at_many_random_points(undisturbed, tmp_path, seed):
    delay = random.Random(seed).uniform(0.0, 1.1) * undisturbed[2]
    killed_and_resumed(undisturbed, tmp_path / "run", delay)


@pytest.mark.parametrize("stage", ["load", "prepare", "agents", "report"])
def test_killed_when_a_stage_begins(undisturbed, tmp_path, stage):
    trace, whole, _ = undisturbed
    run = tmp_path / "run"
    process = start(trace, run)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any(event.type == "stage_started" and event.stage == stage for event in read_events(run / "events.jsonl")):
            break
        time.sleep(0.005)
    process.kill()
    process.wait()
    finish(trace, run, "--resume")
    for name in REPORTS:
        assert (run / name).read_bytes() == (whole / name).read_bytes()


def test_sigterm_ends_the_run_cleanly(undisturbed, tmp_path):
    trace, run = undisturbed[0], tmp_path / "run"
    process = start(trace, run)
    while not any(event.type == "stage_started" for event in read_events(run / "events.jsonl")):
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(timeout=30) == 3
    last = read_events(run / "events.jsonl")[-1]
    assert isinstance(last, RunFailed)
    assert last.reason == "ended by SIGTERM"
    assert not (run / "run.lock").exists()
