"""Following a run: what a viewer sees while the directory grows, with a clock and a reader of our own."""

import asyncio
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.making import added, finding, findings_file, info, ranking, started
from tracelens_tui.errors import UserError
from tracelens_tui.run import events as e
from tracelens_tui.run import follow as module
from tracelens_tui.run.follow import Follower, follow, snapshot
from tracelens_tui.run.journal import JournalWriter
from tracelens_tui.run.lock import STALE_S, LockRecord, RunLock
from tracelens_tui.run.state import RunState
from tracelens_tui.run.store import PRIORITY, RunDir

FAST = 0.05


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(tmp_path / "run", info())


def write(run: RunDir, *events: e.AnyEvent) -> None:
    with JournalWriter(run.journal) as journal:
        for event in events:
            journal.write(event)


def lock(run: RunDir, mtime: float, *, host: str = "elsewhere", pid: int = 1) -> None:
    run.lock.write_text(LockRecord(host=host, pid=pid, namespace="x", token="t").model_dump_json())
    os.utime(run.lock, (mtime, mtime))


class TestStatus:
    def test_a_live_lock_is_a_running_run(self, run: RunDir) -> None:
        write(run, started())
        lock(run, 1e9)
        assert Follower(run.path, clock=lambda: 1e9 + 1).poll().status == "running"

    def test_a_silent_lock_is_stale_and_says_for_how_long(self, run: RunDir) -> None:
        write(run, started())
        lock(run, 1e9)
        state = Follower(run.path, clock=lambda: 1e9 + 94.7).poll()
        assert (state.status, state.heartbeat_age, state.live) == ("stale", 94.0, True)

    def test_no_lock_and_no_end_is_a_crash(self, run: RunDir) -> None:
        write(run, started())
        assert snapshot(run.path).status == "crashed"

    def test_a_run_that_died_before_its_first_event_crashed(self, run: RunDir) -> None:
        assert snapshot(run.path).status == "crashed"

    def test_a_lock_without_events_is_a_start(self, run: RunDir) -> None:
        with RunLock(run.lock):
            assert snapshot(run.path).status == "starting"

    def test_a_dead_process_of_ours_is_a_crash(self, run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
        write(run, started())
        lock(run, time.time(), host=socket.gethostname(), pid=2**22 - 3)
        monkeypatch.setattr("tracelens_tui.run.lock._namespace", lambda: "x")
        assert snapshot(run.path).status == "crashed"

    @pytest.mark.parametrize("kept", [True, False])
    def test_the_last_run_event_decides(self, run: RunDir, kept: bool) -> None:
        write(run, started(), e.RunFinished(seconds=1.0))
        if kept:
            lock(run, 1e9)
        state = snapshot(run.path)
        assert (state.status, state.heartbeat_age, state.seconds) == ("finished", None, 1.0)

    def test_a_resume_is_running_again(self, run: RunDir) -> None:
        write(run, started(), e.RunFailed(reason="x"), started(resumed=True))
        lock(run, 1e9)
        assert Follower(run.path, clock=lambda: 1e9).poll().status == "running"

    def test_the_end_of_a_run_is_never_seen_as_a_crash(self, run: RunDir) -> None:
        """The last event is written and the lock given back between two looks of the follower."""
        write(run, started())
        held = RunLock(run.lock)
        held.acquire()

        class Reader:
            restarts = 0
            skipped = 0

            def read(self) -> list[e.AnyEvent]:
                held.release()
                return [started().model_copy(update={"seq": 1})]

        assert Follower(run.path, reader=Reader()).poll().status == "running"


class TestFindings:
    def test_findings_come_from_their_files(self, run: RunDir) -> None:
        one = finding("gemm-1")
        run.write_json("category_findings/gemm_findings.json", findings_file("gemm", one))
        write(run, started(), added(one))
        state = snapshot(run.path)
        assert state.findings == (one,)
        assert state.problems == ()

    def test_an_unreadable_file_is_a_named_problem_until_it_is_mended(self, run: RunDir) -> None:
        one = finding("gemm-1")
        path = run.path / "category_findings/gemm_findings.json"
        path.write_text('{"agent": 1')
        write(run, started(), added(one))
        follower = Follower(run.path)
        state = follower.poll()
        assert state.findings == ()
        assert len(state.problems) == 1
        assert state.problems[0].startswith(f"{path}: Invalid JSON")
        run.write_json("category_findings/gemm_findings.json", findings_file("gemm", one))
        state = follower.poll()
        assert (state.findings, state.problems) == ((one,), ())

    def test_a_finding_that_is_not_in_its_file_is_a_problem(self, run: RunDir) -> None:
        run.write_json("category_findings/gemm_findings.json", findings_file("gemm"))
        write(run, started(), added(finding("gemm-1")))
        assert snapshot(run.path).problems == (
            f"{run.path / 'category_findings/gemm_findings.json'}: it has no finding gemm-1",
        )

    def test_a_file_outside_the_run_is_not_read(self, run: RunDir) -> None:
        write(run, started(), added(finding("gemm-1"), file="../../etc/passwd"))
        assert "not a path inside the run directory" in snapshot(run.path).problems[0]

    def test_arrival_orders_them_until_they_are_ranked(self, run: RunDir) -> None:
        few, much, none = finding("a-1", 1.0), finding("b-1", 9.0), finding("c-1", 0.1)
        for one in (few, much, none):
            run.write_json(f"category_findings/{one.category}_findings.json", findings_file(one.category, one))
        write(run, started(), *(added(one) for one in (few, much, none)))
        assert [one.id for one in snapshot(run.path).findings] == ["a-1", "b-1", "c-1"]
        run.write_json(PRIORITY, ranking(much, few, dropped=("Title of c: too little",)))
        assert [one.id for one in snapshot(run.path).findings] == ["a-1", "b-1", "c-1"], "the stage is not finished"
        write(run, e.StageFinished(stage="rank", seconds=0.1))
        state = snapshot(run.path)
        assert [one.id for one in state.findings] == ["b-1", "a-1"]
        assert state.rejected == ("Title of c: too little",)

    def test_the_ranking_of_an_earlier_attempt_is_not_used(self, run: RunDir) -> None:
        old, new = finding("a-1"), finding("b-1")
        for one in (old, new):
            run.write_json(f"category_findings/{one.category}_findings.json", findings_file(one.category, one))
        run.write_json(PRIORITY, ranking(old))
        write(run, started(), added(old), e.StageFinished(stage="rank", seconds=0.1), started(resumed=True))
        write(run, e.AgentStarted(agent="b", category="b", analyst="rules"), added(new))
        assert [one.id for one in snapshot(run.path).findings] == ["a-1", "b-1"]

    def test_a_broken_ranking_is_a_problem(self, run: RunDir) -> None:
        (run.path / PRIORITY).write_text("{}")
        write(run, started(), e.StageFinished(stage="rank", seconds=0.1))
        assert "priority_data.json: baseline_ms" in snapshot(run.path).problems[0]

    def test_a_rerun_replaces_the_findings_of_its_category(self, run: RunDir) -> None:
        name = "category_findings/a_findings.json"
        run.write_json(name, findings_file("a", finding("a-1", 1.0), finding("a-2", 1.0)))
        write(run, started(), added(finding("a-1")), added(finding("a-2")))
        follower = Follower(run.path)
        assert len(follower.poll().findings) == 2
        better = finding("a-1", 5.0)
        run.write_json(name, findings_file("a", better))
        write(run, started(resumed=True), e.AgentStarted(agent="a", category="a", analyst="rules"), added(better))
        assert follower.poll().findings == (better,)


def test_unreadable_lines_are_told(run: RunDir) -> None:
    write(run, started())
    with run.journal.open("ab") as file:
        file.write(b"garbage\n")
    assert snapshot(run.path).problems == (f"{run.journal}: 1 unreadable line",)


def test_a_replaced_journal_starts_over(run: RunDir) -> None:
    write(run, started(), e.StageStarted(stage="load"), e.RunFinished(seconds=1.0))
    follower = Follower(run.path)
    assert follower.poll().status == "finished"
    run.journal.unlink()
    write(run, started())
    state = follower.poll()
    assert (state.status, state.stages, state.last_seq) == ("crashed", (), 1)


@pytest.mark.parametrize("make", [lambda _: None, Path.mkdir, Path.touch])
def test_snapshot_of_something_else_is_a_user_error(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "x"
    make(path)
    with pytest.raises(UserError, match="run directory"):
        snapshot(path)


def test_any_prefix_of_the_bytes_of_a_run_can_be_shown(run: RunDir) -> None:
    one = finding("gemm-1")
    run.write_json("category_findings/gemm_findings.json", findings_file("gemm", one))
    write(run, started(), e.StageStarted(stage="load"), added(one), e.RunFinished(seconds=1.0))
    data = run.journal.read_bytes()
    seen = set()
    for count in range(len(data) + 1):
        run.journal.write_bytes(data[:count])
        state = snapshot(run.path)
        assert state.problems == ()
        seen.add((state.status, state.last_seq, len(state.findings)))
    assert seen == {("crashed", 0, 0), ("crashed", 1, 0), ("crashed", 2, 0), ("crashed", 3, 1), ("finished", 4, 1)}


async def take(path: Path, count: int, interval: float) -> list[RunState]:
    states: list[RunState] = []
    async for state in follow(path, interval=interval):
        states.append(state)
        if len(states) == count:
            break
    return states


async def test_follow_yields_each_change_once(run: RunDir) -> None:
    lock(run, time.time())
    write(run, started())
    events: list[e.AnyEvent] = [e.StageStarted(stage="load"), e.StageFinished(stage="load", seconds=1.0)]
    states: list[tuple[str, int]] = []

    async def watch() -> None:
        async for state in follow(run.path, interval=FAST):
            states.append((state.status, state.last_seq))
            if state.status == "finished":
                return
            write(run, events.pop(0) if events else e.RunFinished(seconds=2.0))

    await asyncio.wait_for(watch(), 20)
    assert states == [("running", 1), ("running", 2), ("running", 3), ("finished", 4)]


async def test_follow_waits_for_a_directory_that_comes_later(tmp_path: Path) -> None:
    task = asyncio.create_task(take(tmp_path / "run", 2, interval=FAST))
    await asyncio.sleep(4 * FAST)
    run = RunDir.create(tmp_path / "run", info())
    first, second = await asyncio.wait_for(task, 10)
    assert first == RunState()
    assert second.status in {"starting", "crashed"}
    assert run.exists("run.json")


@pytest.mark.parametrize("folder", ["runs", "node_modules"])  # watchfiles leaves out the latter unless told
async def test_file_events_wake_it_long_before_the_rescan(tmp_path: Path, folder: str) -> None:
    run = RunDir.create(tmp_path / folder / "run", info())
    write(run, started())
    task = asyncio.create_task(take(run.path, 2, interval=60.0))
    await asyncio.sleep(0.5)
    begin = time.monotonic()
    write(run, e.RunFinished(seconds=1.0))
    states = await asyncio.wait_for(task, 10)
    assert states[-1].status == "finished"
    assert time.monotonic() - begin < 5


async def test_the_rescan_works_where_there_are_no_file_events(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(module, "awatch", broken)
    write(run, started())
    task = asyncio.create_task(take(run.path, 2, interval=FAST))
    await asyncio.sleep(4 * FAST)
    write(run, e.RunFinished(seconds=1.0))
    assert (await asyncio.wait_for(task, 10))[-1].status == "finished"


async def test_a_quiet_run_wakes_nobody(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at the files must not look like a change of them."""
    polls = 0
    real = Follower.poll

    def counted(self: Follower) -> RunState:
        nonlocal polls
        polls += 1
        return real(self)

    monkeypatch.setattr(Follower, "poll", counted)
    write(run, started(), added(finding("gemm-1")))
    task = asyncio.create_task(take(run.path, 2, interval=0.3))
    await asyncio.sleep(1.6)
    task.cancel()
    assert polls <= 7


async def test_a_stale_run_is_told_as_time_goes_by(run: RunDir) -> None:
    now = [1e9]
    write(run, started())
    lock(run, now[0])
    states = follow(run.path, interval=FAST, clock=lambda: now[0])
    assert (await anext(states)).status == "running"
    now[0] += STALE_S + 1
    state = await anext(states)
    assert (state.status, state.heartbeat_age) == ("stale", 11.0)
    now[0] += 1
    assert (await anext(states)).heartbeat_age == 12.0
    os.utime(run.lock, (now[0], now[0]))
    assert (await anext(states)).status == "running"
    await states.aclose()  # pyright: ignore[reportAttributeAccessIssue]


async def test_cancelling_stops_it(run: RunDir) -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(take(run.path, 99, interval=FAST))
    await asyncio.sleep(4 * FAST)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.2)
    assert asyncio.all_tasks() == before
