"""Real children: reading a trace in one, starting a triage, and what the app imports before its first frame."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tracelens_tui.app import preparing, starting
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.preparing import Step, prepare
from tracelens_tui.app.services import Services
from tracelens_tui.errors import UserError
from tracelens_tui.run.store import default_run_dir
from tracelens_tui.triage.request import TriageRequest


def pretend(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Let the child run this Python program instead of reading a trace."""
    monkeypatch.setattr(preparing, "_command", lambda *_: [sys.executable, "-c", program])


async def collect(tmp_path: Path) -> list[Step]:
    return [step async for step in prepare(tmp_path / "t.json", AppOptions(), tmp_path / "out")]


async def test_progress_lines_become_steps(monkeypatch, tmp_path):
    lines = [{"stage": "parse", "done": 1, "total": 2}, {"ready": "x"}]
    pretend(monkeypatch, f"print('noise'); [print(line) for line in {[json.dumps(line) for line in lines]}]")
    assert await collect(tmp_path) == [Step("parse", 1, 2), Step("ready", ready=True)]


async def test_the_childs_sentence_is_the_error(monkeypatch, tmp_path):
    pretend(monkeypatch, """print('{"error": "x.json: line 3 is cut"}')""")
    with pytest.raises(UserError, match=r"^x\.json: line 3 is cut$"):
        await collect(tmp_path)


async def test_a_child_that_dies_is_told_with_its_last_words(monkeypatch, tmp_path):
    pretend(monkeypatch, "raise MemoryError('no more')")
    with pytest.raises(UserError, match=r"t\.json: reading it ended early \(MemoryError: no more\)"):
        await collect(tmp_path)


async def test_leaving_ends_the_child_even_if_it_does_not_listen(monkeypatch, tmp_path):
    monkeypatch.setattr(preparing, "GRACE_S", 0.1)
    program = (
        "import signal, time, os; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        'print(\'{"stage": "pid", "done": %d, "total": 0}\' % os.getpid(), flush=True)\ntime.sleep(60)'
    )
    pretend(monkeypatch, program)
    child: asyncio.Queue[int] = asyncio.Queue()

    async def read() -> None:
        async for step in prepare(tmp_path / "t.json", AppOptions(), tmp_path / "out"):
            await child.put(step.done)

    task = asyncio.create_task(read())
    process = await child.get()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_options_go_to_the_child(tmp_path):
    options = AppOptions(platform="MI300X", device=1, use_cache=False, arch=Path("a.json"))
    command = preparing._command(Path("t.json"), options, tmp_path)
    assert command[3:] == [
        "t.json", "--out", str(tmp_path), "--platform", "MI300X", "--arch", "a.json", "--device", "1", "--no-cache",
    ]  # fmt: skip


@pytest.fixture
def started(monkeypatch, tmp_path) -> list[TriageRequest]:
    """Requests that would have started a triage."""
    requests: list[TriageRequest] = []

    def start(request: TriageRequest) -> int:
        requests.append(request)
        return os.getpid()

    monkeypatch.setattr(starting, "start_detached", start)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text("{}")
    return requests


def lay_run(place: Path, trace: Path, *, crashed: bool = False, options: Mapping[str, object] | None = None) -> None:
    """Write a small run directory by hand."""
    place.mkdir(parents=True)
    info = {
        "run_id": "r1",
        "created": "2026-01-01T00:00:00Z",
        "trace": {"path": str(trace), "relative": "t.json", "fingerprint": starting.fingerprint(trace), "size": 2},
        "platform": None,
        "analyst": "rules",
        "options": options or {"platform": None, "arch": None, "device": None},
    }
    (place / "run.json").write_text(json.dumps(info))
    events = [
        {"seq": 1, "time": "2026-01-01T00:00:00Z", "type": "run_started", "run_id": "r1", "trace": str(trace),
         "platform": None, "analyst": "rules", "host": "h", "pid": 1},
        {"seq": 2, "time": "2026-01-01T00:00:09Z", "type": "run_finished", "seconds": 9.0},
    ]  # fmt: skip
    if crashed:
        events.pop()
    (place / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_a_triage_starts_at_the_default_place(started, tmp_path):
    trace = tmp_path / "t.json"
    place = default_run_dir(trace, starting.fingerprint(trace))
    run = starting.start(trace, AppOptions(platform="MI300X"), fresh=False)
    assert (run.run_dir, run.process) == (place, os.getpid())
    assert run.alive()
    assert [(one.run_dir, one.platform, one.resume) for one in started] == [(place, "MI300X", False)]


def test_a_finished_run_is_taken_as_it_is(started, tmp_path):
    trace = tmp_path / "t.json"
    place = default_run_dir(trace, starting.fingerprint(trace))
    lay_run(place, trace)
    run = starting.start(trace, AppOptions(), fresh=False)
    assert (run.run_dir, run.alive(), run.fault(), started) == (place, False, None, [])


def test_a_fresh_run_and_other_options_get_the_next_free_directory(started, tmp_path):
    trace = tmp_path / "t.json"
    place = default_run_dir(trace, starting.fingerprint(trace))
    lay_run(place, trace)
    place.with_name(place.name + "-2").mkdir()
    third = place.with_name(place.name + "-3")
    assert starting.start(trace, AppOptions(), fresh=True).run_dir == third
    assert starting.start(trace, AppOptions(device=1), fresh=False).run_dir == third
    assert [one.run_dir for one in started] == [third, third]


def test_a_crashed_run_goes_on(started, tmp_path):
    trace = tmp_path / "t.json"
    place = default_run_dir(trace, starting.fingerprint(trace))
    lay_run(place, trace, crashed=True)
    starting.start(trace, AppOptions(), fresh=False)
    assert [(one.run_dir, one.resume) for one in started] == [(place, True)]


def test_a_run_of_another_trace_is_refused(started, tmp_path):
    trace = tmp_path / "t.json"
    lay_run(tmp_path / "mine", trace)
    (tmp_path / "other.json").write_text("{ }")
    with pytest.raises(UserError, match="holds a run of another trace"):
        starting.start(tmp_path / "other.json", AppOptions(run_dir=tmp_path / "mine"), fresh=False)


def test_a_run_is_shown_with_the_gpu_it_was_made_for(tmp_path):
    (tmp_path / "t.json").write_text("{}")
    lay_run(tmp_path / "run", tmp_path / "t.json", options={"platform": "MI325X", "arch": None, "device": 3})
    services = Services()
    assert services.options_of(tmp_path / "run", AppOptions()) == AppOptions(platform="MI325X", device=3)
    own = AppOptions(platform="H100-SXM", device=0)
    assert services.options_of(tmp_path / "run", own) == own


def test_a_missing_trace_is_refused(started, tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        starting.start(tmp_path / "nowhere.json", AppOptions(), fresh=False)


def test_nothing_heavy_is_imported_before_the_first_frame():
    program = "import sys, tracelens_tui.app.main; print([m for m in sys.modules if m.split('.')[0] in HEAVY])"
    heavy = {"polars", "numpy", "pydantic", "watchfiles", "jinja2", "matplotlib", "anthropic"}
    done = subprocess.run(
        [sys.executable, "-c", program.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
