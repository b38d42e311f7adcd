"""A running triage: its journal, what viewers asked of it, and the stages it has gone through."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tracelens_tui.run import events as ev
from tracelens_tui.run.control import pending
from tracelens_tui.run.journal import JournalWriter
from tracelens_tui.run.lock import RunLock
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.failures import Cancelled, TriageError

Listener = Callable[[ev.AnyEvent], None]

POLL_S = 0.5
PROGRESS_S = 0.1


class Session:
    """Writes the journal and watches for requests; its methods may be called from any thread."""

    def __init__(
        self, run: RunDir, run_id: str, journal: JournalWriter, lock: RunLock, listener: Listener | None
    ) -> None:
        self.run = run
        self.run_id = run_id
        self._journal = journal
        self._lock = lock
        self._listener = listener
        self._guard = threading.Lock()
        self._stop = threading.Event()
        self._cancelled = False
        self._cancelled_agents: frozenset[str] = frozenset()
        self._next_progress = 0.0
        self._watcher = threading.Thread(target=self._watch, name="triage-control", daemon=True)

    def __enter__(self) -> "Session":
        self._watcher.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._watcher.join()

    def emit(self, event: ev.AnyEvent) -> None:
        """Append an event to the journal and tell the listener."""
        with self._guard:
            written = self._journal.write(event)
            if self._listener is not None:
                self._listener(written)

    def check(self) -> None:
        """Raise Cancelled where a viewer asked to stop, TriageError where another process took the run over."""
        if self._lock.lost:
            raise TriageError("another process took the run directory over")
        if self._cancelled:
            raise Cancelled("cancelled by a viewer")

    def stop(self) -> None:
        """Let everything that still runs end: every further check raises Cancelled."""
        self._cancelled = True

    def check_agent(self, agent: str) -> None:
        """Raise Cancelled where a viewer asked to stop this sub-agent."""
        if agent in self._cancelled_agents:
            raise Cancelled("stopped by a viewer")

    def progress(self, stage: str, done: int, total: int, unit: str = "") -> None:
        """Report how far a stage is, at most ten times a second, and stop it where it was cancelled."""
        self.check()
        now = time.monotonic()
        with self._guard:
            due = now >= self._next_progress
            if due:
                self._next_progress = now + PROGRESS_S
        if due:
            self.emit(ev.StageProgress(stage=stage, done=done, total=total, unit=unit))

    @contextmanager
    def stage(self, name: str, *, reused: bool = False) -> Iterator[None]:
        """Put a stage between its two events."""
        self.check()
        self.emit(ev.StageStarted(stage=name))
        started = time.monotonic()
        yield
        self.emit(ev.StageFinished(stage=name, seconds=time.monotonic() - started, reused=reused))

    def _watch(self) -> None:
        """Look for requests until the session ends."""
        while not self._stop.wait(POLL_S):
            self.look()

    def look(self) -> None:
        """Take note of the requests that are there now."""
        requests = pending(self.run)
        self._cancelled = self._cancelled or any(one.type == "cancel" for one in requests)
        self._cancelled_agents |= {one.agent for one in requests if one.type == "cancel_agent" and one.agent}
