"""The lock: one holder, heartbeats, taking over what is stale or dead, and only that."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.run.making import repository
from tracelens_tui.errors import UserError
from tracelens_tui.run import lock as module
from tracelens_tui.run.lock import STALE_S, LockRecord, LockWatch, RunLock, RunLocked, lock_state

HOLDER = """
import sys, time
from pathlib import Path
from tracelens_tui.run.lock import RunLock
with RunLock(Path(sys.argv[1]), heartbeat=0.05):
    print("held", flush=True)
    time.sleep(60)
"""
RACER = """
import sys
from pathlib import Path
from tracelens_tui.run.lock import RunLock, RunLocked
lock = RunLock(Path(sys.argv[1]), heartbeat=0.05)
go = Path(sys.argv[2])
print("ready", flush=True)
while not go.exists():
    pass
try:
    lock.acquire()
except RunLocked:
    print("lost", flush=True)
else:
    print("won", flush=True)
    sys.stdin.read()
    print("kept" if not lock.lost and lock._ours() else "robbed", flush=True)
    lock.release()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.lock"


def foreign(path: Path, *, host: str = "elsewhere", pid: int = 1, age: float = 0.0, namespace: str = "x") -> None:
    """A lock of another machine, touched ``age`` seconds ago."""
    path.write_text(LockRecord(host=host, pid=pid, namespace=namespace, token="t").model_dump_json())
    os.utime(path, (time.time() - age, time.time() - age))


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not what():
        assert time.monotonic() < end, "it did not happen in ten seconds"
        time.sleep(0.01)


def test_a_lock_tells_who_holds_it_and_goes_with_its_holder(path: Path) -> None:
    with RunLock(path):
        state = lock_state(path)
        assert state is not None
        assert state.live
        assert state.record is not None
        assert state.record.pid == os.getpid()
    assert list(path.parent.iterdir()) == []
    assert lock_state(path) is None


def test_a_second_taker_is_told_who_has_it(path: Path) -> None:
    with RunLock(path), pytest.raises(RunLocked, match=f"process {os.getpid()} on .*tracelens-tui watch"):
        RunLock(path).acquire()
    with RunLock(path):
        pass


def test_the_heartbeat_touches_the_lock(path: Path) -> None:
    with RunLock(path, heartbeat=0.02) as lock:
        first = path.stat().st_mtime_ns
        wait_for(lambda: path.stat().st_mtime_ns > first)
        assert not lock.lost


def test_a_live_lock_of_another_machine_is_respected(path: Path) -> None:
    foreign(path, age=STALE_S - 2)
    with pytest.raises(RunLocked, match="process 1 on elsewhere"):
        RunLock(path).acquire()


def test_a_stale_lock_is_taken_over(path: Path) -> None:
    foreign(path, age=STALE_S + 1)
    with RunLock(path):
        state = lock_state(path)
        assert state is not None
        assert state.record is not None
        assert state.record.pid == os.getpid()
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"\xff"])
def test_an_unreadable_lock_counts_by_its_age(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(RunLocked, match="another process"):
        RunLock(path).acquire()
    os.utime(path, (0, 0))
    with RunLock(path):
        pass


def test_a_killed_holder_is_dead_at_once(path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, cwd=repository())
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(RunLocked):
        RunLock(path).acquire()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    state = lock_state(path)
    assert state is not None
    assert state.dead
    assert not state.live
    with RunLock(path):
        pass


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux shows which processes are zombies")
def test_a_killed_holder_that_nobody_waited_for_is_dead_too(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True, cwd=repository()
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        stat = Path(f"/proc/{holder.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
        with RunLock(path) as lock:
            assert not lock.lost


def test_a_pid_of_another_namespace_proves_nothing(path: Path) -> None:
    foreign(path, host=module.socket.gethostname(), pid=2**22 - 3, namespace="another container")
    state = lock_state(path)
    assert state is not None
    assert not state.dead


def test_of_many_takers_of_a_stale_lock_one_wins(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    path, go = folder / "run.lock", tmp_path / "go"
    foreign(path, age=100)
    command = [sys.executable, "-c", RACER, str(path), str(go)]
    pipe = subprocess.PIPE
    racers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=repository(), text=True) for _ in range(4)]
    outputs = [racer.stdout for racer in racers if racer.stdout]
    assert [output.readline() for output in outputs] == ["ready\n"] * 4
    go.touch()
    assert sorted(output.readline() for output in outputs) == ["lost\n"] * 3 + ["won\n"]
    assert sorted(racer.communicate()[0] for racer in racers) == ["", "", "", "kept\n"]
    assert list(folder.iterdir()) == []


def test_a_taker_puts_back_a_lock_that_it_had_not_judged(path: Path) -> None:
    foreign(path, age=100)
    judged = lock_state(path)
    assert judged is not None
    path.unlink()
    with RunLock(path) as winner:  # took over between the other one's look and its move
        RunLock(path)._move_away(judged)
        assert winner._ours()
        assert [entry.name for entry in path.parent.iterdir()] == ["run.lock"]


def test_a_holder_notices_that_it_lost_the_lock(path: Path) -> None:
    lock = RunLock(path, heartbeat=0.05)
    lock.acquire()
    foreign(path)
    wait_for(lambda: lock.lost)
    lock.release()
    assert path.exists(), "the lock is not ours to remove"


def test_a_missed_moment_is_not_a_loss(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A taker that moved the lock away by mistake puts it back within a few tries of the holder."""
    answers = [True, False, False, False, False, False]
    seen: list[bool] = []
    real = RunLock._ours

    def ours(self: RunLock) -> bool:
        seen.append(answers.pop(0) if answers else real(self))
        return seen[-1]

    monkeypatch.setattr(RunLock, "_ours", ours)
    with RunLock(path, heartbeat=0.01) as lock:
        wait_for(lambda: len(seen) > 9)
        assert not lock.lost


def test_where_there_are_no_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    with RunLock(path):
        assert lock_state(path)
        with pytest.raises(RunLocked):
            RunLock(path).acquire()
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_a_taker_goes_by_the_clock_of_the_file_system(path: Path, skew: float) -> None:
    foreign(path)
    state = lock_state(path, lambda: time.time() + skew)
    assert state is not None
    assert state.live
    foreign(path, age=STALE_S + 5)
    state = lock_state(path, lambda: time.time() + skew)
    assert state is not None
    assert not state.live


def test_a_lock_in_no_folder_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the lock cannot be made"):
        RunLock(tmp_path / "missing" / "run.lock").acquire()


class TestViewer:
    """A viewer writes nothing: it goes by our clock until it has seen a heartbeat."""

    def test_the_first_look_goes_by_our_clock(self, path: Path) -> None:
        foreign(path, age=3)
        state = LockWatch(path).state()
        assert state is not None
        assert 2.5 < state.age < 5
        foreign(path, age=94)
        state = LockWatch(path).state()
        assert state is not None
        assert (state.live, int(state.age)) == (False, 94)

    def test_a_heartbeat_that_was_seen_beats_a_wrong_clock(self, path: Path) -> None:
        now = [1e9]
        watch = LockWatch(path, lambda: now[0])
        foreign(path)
        os.utime(path, (now[0] - 500, now[0] - 500))
        assert [self._live(watch)] == [False]
        os.utime(path, (now[0] - 498, now[0] - 498))
        assert self._live(watch)
        now[0] += STALE_S - 1
        assert self._live(watch)
        now[0] += 2
        assert not self._live(watch)

    def test_a_lock_from_the_future_is_live_until_it_stops(self, path: Path) -> None:
        now = [1e9]
        watch = LockWatch(path, lambda: now[0])
        foreign(path)
        os.utime(path, (now[0] + 500, now[0] + 500))
        assert self._live(watch)
        now[0] += STALE_S + 1
        assert not self._live(watch)

    def test_it_writes_nothing(self, path: Path) -> None:
        foreign(path, age=94)
        before = path.parent.stat().st_mtime_ns
        LockWatch(path).state()
        assert path.parent.stat().st_mtime_ns == before

    @staticmethod
    def _live(watch: LockWatch) -> bool:
        state = watch.state()
        assert state is not None
        return state.live
