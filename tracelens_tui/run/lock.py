"""The lock of a run: who writes it, and whether that process still lives.

The holder touches ``run.lock`` every two seconds from a thread; a lock that was not touched for ten seconds is stale
and may be taken over, one whose process is known to be dead at once.  On a network file system our clock may differ
from the one that stamps the file: a taker, who writes there anyway, asks the file system for its time; a viewer, who
must not write, goes by the heartbeats that it saw itself.
"""

import os
import socket
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema

HEARTBEAT_S = 2.0
STALE_S = 10.0
_SKEW_S = 2.0  # an age below minus this means that the clocks differ

Clock = Callable[[], float]


class RunLocked(UserError):
    """Another live process holds the lock."""


class LockRecord(Schema):
    """Content of ``run.lock``."""

    schema_version: int = SCHEMA_VERSION
    host: str
    pid: int
    namespace: str  # boot and pid namespace: only where both are ours does a pid mean the same process to us
    token: str  # unique per acquisition


@dataclass(frozen=True, slots=True)
class LockState:
    """A lock as seen now."""

    record: LockRecord | None  # None: the content is not readable
    age: float  # seconds since the last heartbeat
    dead: bool  # the process is known to be gone

    @property
    def live(self) -> bool:
        """True while the holder must be believed to work."""
        return not self.dead and self.age <= STALE_S


def lock_state(path: Path, clock: Clock = time.time) -> LockState | None:
    """Return the lock as it is now for one who may write beside it, None where there is none."""
    seen = _read(path)
    return seen and LockState(seen.record, _age(path, seen.mtime, clock), _known_dead(seen.record))


class LockWatch:
    """The lock as a viewer sees it, who writes nothing."""

    def __init__(self, path: Path, clock: Clock = time.time) -> None:
        self._path = path
        self._clock = clock
        self._mtime: float | None = None
        self._since = 0.0  # when this mtime was seen first
        self._beating = False  # a heartbeat was seen to happen

    def state(self) -> LockState | None:
        """Return the lock as it is now, None where there is none."""
        seen = _read(self._path)
        if seen is None:
            return None
        now = self._clock()
        if seen.mtime != self._mtime:
            self._beating = self._mtime is not None
            self._mtime, self._since = seen.mtime, now
        age = now - seen.mtime
        if self._beating or age < -_SKEW_S:  # seen with our own eyes, or the clocks differ
            age = now - self._since
        return LockState(seen.record, max(age, 0.0), _known_dead(seen.record))


class RunLock:
    """The lock of one run directory; a context manager that holds it."""

    def __init__(self, path: Path, *, heartbeat: float = HEARTBEAT_S, clock: Clock = time.time) -> None:
        self._path = path
        self._heartbeat = heartbeat
        self._clock = clock
        self._record = LockRecord(
            host=socket.gethostname(), pid=os.getpid(), namespace=_namespace(), token=uuid.uuid4().hex
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lost = False

    def __enter__(self) -> "RunLock":
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    @property
    def lost(self) -> bool:
        """True once somebody else took the lock or removed it: the holder must stop writing."""
        return self._lost

    def acquire(self) -> None:
        """Take the lock; RunLocked where a live process has it.  A stale or dead one is taken over.

        Of several takers one wins: moving the stale lock away and creating the new one are atomic, and a taker that
        moved away a lock other than the one it had judged puts it back.
        """
        content = (self._record.model_dump_json() + "\n").encode()
        while not self._create(content):
            state = lock_state(self._path, self._clock)
            if state is None:
                continue  # released between the two steps
            if state.live:
                raise RunLocked(_who(self._path, state))
            self._move_away(state)
        self._thread = threading.Thread(target=self._beat, name="run-lock", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Give the lock back; nothing happens where it was lost or never held."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        if self._ours():
            self._path.unlink(missing_ok=True)

    def _create(self, content: bytes) -> bool:
        """Make the lock file with its content in one step; False where there is one already."""
        mine = self._path.with_name(f"{self._path.name}.{self._record.token}")
        try:
            mine.write_bytes(content)
            try:
                os.link(mine, self._path)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                return _create_exclusively(self._path, content)
        except OSError as error:
            raise UserError(f"{self._path}: the lock cannot be made: {error.strerror}") from error
        finally:
            with suppress(OSError):  # a read-only place: nothing was made
                mine.unlink(missing_ok=True)
        return True

    def _move_away(self, judged: LockState) -> None:
        """Remove the stale lock, unless another one has taken its place meanwhile."""
        aside = self._path.with_name(f"{self._path.name}.{self._record.token}.old")
        try:
            self._path.rename(aside)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError(f"{self._path}: the stale lock cannot be removed: {error.strerror}") from error
        moved = _parse(aside.read_bytes())
        if moved is not None and moved != judged.record:
            with suppress(OSError):  # yet another taker came: the moved one notices at its next heartbeat
                os.link(aside, self._path)
        aside.unlink(missing_ok=True)

    def _beat(self) -> None:
        missed = 0
        while not self._stop.wait(self._heartbeat if not missed else self._heartbeat / 10):
            if self._ours():
                missed = 0
                try:
                    os.utime(self._path)
                except OSError:
                    missed += 1
            else:
                missed += 1  # a taker may be about to put it back
            if missed > 5:
                self._lost = True
                return

    def _ours(self) -> bool:
        try:
            record = _parse(self._path.read_bytes())
        except OSError:
            return False
        return record == self._record


@dataclass(frozen=True, slots=True)
class _Seen:
    record: LockRecord | None
    mtime: float


def _read(path: Path) -> _Seen | None:
    try:
        with path.open("rb") as file:
            return _Seen(_parse(file.read()), os.fstat(file.fileno()).st_mtime)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: the lock cannot be read: {error.strerror}") from error


def _parse(content: bytes) -> LockRecord | None:
    try:
        return LockRecord.model_validate_json(content)
    except ValidationError:
        return None


def _create_exclusively(path: Path, content: bytes) -> bool:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _age(path: Path, mtime: float, clock: Clock) -> float:
    """Seconds since the last heartbeat, by the file system's clock where ours makes the lock look stale or young."""
    age = clock() - mtime
    if -_SKEW_S <= age <= STALE_S:
        return max(age, 0.0)
    now = _file_system_now(path.parent)
    return max(age if now is None else now - mtime, 0.0)


def _file_system_now(folder: Path) -> float | None:
    """The time that the file system stamps on a file made now; None where we may not write."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
            probe.flush()
            return os.fstat(probe.fileno()).st_mtime
    except OSError:
        return None


def _known_dead(record: LockRecord | None) -> bool:
    """True where the record's process would be visible to us and is not there."""
    if record is None or record.host != socket.gethostname() or record.namespace != _namespace():
        return False
    try:
        os.kill(record.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _only_a_zombie(record.pid)


def _only_a_zombie(pid: int) -> bool:
    """True where the process has ended and only waits for its parent to notice (Linux; elsewhere False)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] in (["Z"], ["X"])


def _namespace() -> str:
    """What must be equal for two processes to see each other's pids; "" where the system has no such thing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _who(path: Path, state: LockState) -> str:
    holder = f"process {state.record.pid} on {state.record.host}" if state.record else "another process"
    return (
        f"{path.parent} is being written by {holder}: watch it with `tracelens-tui watch`, or stop that process first"
    )
