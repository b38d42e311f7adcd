"""A run directory as a stream of frozen states: journal, lock and findings files, read as they change."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from watchfiles import awatch

from tracelens_tui.errors import UserError
from tracelens_tui.run.events import AnyEvent, FindingAdded
from tracelens_tui.run.findings import Finding, FindingsFile, PriorityData
from tracelens_tui.run.journal import JournalReader
from tracelens_tui.run.lock import LockState, LockWatch
from tracelens_tui.run.reduce import reduce
from tracelens_tui.run.state import RunState
from tracelens_tui.run.store import JOURNAL, LOCK, PRIORITY, RUN, RunDir

__all__ = ["Follower", "follow", "reduce", "snapshot"]

RESCAN_S = 1.0  # network file systems give no events
_ENDED = {"finished", "failed", "cancelled"}


class EventReader(Protocol):
    """What the follower needs of a journal reader."""

    restarts: int
    skipped: int

    def read(self) -> list[AnyEvent]:
        """Return the events since the last call."""
        ...


class Follower:
    """Turns a run directory into its state; each ``poll`` reads only what is new."""

    def __init__(
        self, path: Path, *, reader: EventReader | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._run = RunDir(path)
        self._reader = reader or JournalReader(path / JOURNAL)
        self._lock = LockWatch(path / LOCK, clock)
        self._restarts = self._reader.restarts
        self._state = RunState()  # from the journal and the findings files, without liveness
        self._unread: dict[str, FindingAdded] = {}  # findings whose file could not be read yet, by id
        self._faults: dict[str, str] = {}  # file -> what is wrong with it

    def poll(self) -> RunState:
        """Return the state of now."""
        lock = self._lock.state()  # before the journal: a run that ends writes its last event, then gives the lock back
        events = self._reader.read()
        if self._reader.restarts != self._restarts:
            self._restarts = self._reader.restarts
            self._state, self._unread, self._faults = RunState(), {}, {}
        for event in events:
            self._state = reduce(self._state, event)
            if isinstance(event, FindingAdded):
                self._unread[event.finding] = event
        self._read_findings()
        return self._alive(self._ranked(self._with_problems(self._state)), lock)

    def _read_findings(self) -> None:
        """Read the findings that were announced and are not in the state, each file once."""
        self._faults = {}
        for file in dict.fromkeys(event.file for event in self._unread.values()):
            try:
                found = {finding.id: finding for finding in self._run.read_json(file, FindingsFile).findings}
            except UserError as error:
                self._faults[file] = str(error)
                continue
            for event in [event for event in self._unread.values() if event.file == file]:
                if event.finding in found:
                    del self._unread[event.finding]
                    self._add(found[event.finding])
                else:
                    self._faults[file] = f"{self._run.path / file}: it has no finding {event.finding}"

    def _add(self, finding: Finding) -> None:
        others = tuple(other for other in self._state.findings if other.id != finding.id)
        self._state = replace(self._state, findings=(*others, finding))

    def _with_problems(self, state: RunState) -> RunState:
        skipped = self._reader.skipped
        lines = (f"{self._run.journal}: {skipped} unreadable line{'s' * (skipped > 1)}",) if skipped else ()
        return replace(state, problems=(*lines, *self._faults.values()))

    def _ranked(self, state: RunState) -> RunState:
        """Order the findings by rank once the ranking is that of these findings; dropped ones are told as rejected."""
        if not _is_ranked(state) or not self._run.exists(PRIORITY):
            return state
        try:
            data = self._run.read_json(PRIORITY, PriorityData)
        except UserError as error:
            return replace(state, problems=(*state.problems, str(error)))
        by_id = {finding.id: finding for finding in state.findings}
        ranked = sorted((r for r in data.findings if r.id in by_id), key=lambda r: r.global_rank)
        return replace(state, findings=tuple(by_id[r.id] for r in ranked), rejected=(*state.rejected, *data.dropped))

    def _alive(self, state: RunState, lock: LockState | None) -> RunState:
        """Decide between starting, running, stale and crashed where no event says that the run ended."""
        if state.status in _ENDED:
            return state
        if lock is None or lock.dead:
            begun = state.last_seq > 0 or self._run.exists(RUN)
            return replace(state, status="crashed") if begun else state
        if lock.live:
            return replace(state, status="running") if state.last_seq else state
        return replace(state, status="stale", heartbeat_age=float(int(lock.age)))


def _is_ranked(state: RunState) -> bool:
    """True where the ranking on disk is that of this attempt: a resume tells its stages anew."""
    return any(stage.name == "rank" and stage.seconds is not None for stage in state.stages)


def snapshot(path: Path) -> RunState:
    """Return the state of a run directory as it is now; UserError where the path is none."""
    if not path.is_dir():
        raise UserError(f"{path}: there is no such run directory")
    if not any((path / name).exists() for name in (RUN, JOURNAL, LOCK)):
        raise UserError(f"{path}: not a run directory (no {RUN}, no {JOURNAL})")
    return Follower(path).poll()


async def follow(
    path: Path,
    *,
    interval: float = RESCAN_S,
    clock: Callable[[], float] = time.time,
    reader: EventReader | None = None,
) -> AsyncIterator[RunState]:
    """Yield the state now and whenever it changes, without end; the directory may appear later.

    File events wake it at once where the file system gives any; every ``interval`` seconds it looks by itself.
    Reading happens in a thread.  Cancel the task, or close the iterator, to stop.
    """
    follower = Follower(path, reader=reader, clock=clock)
    woken = asyncio.Event()
    watcher: asyncio.Task[None] | None = None
    last: RunState | None = None
    try:
        while True:
            if watcher is None and await asyncio.to_thread(path.is_dir):
                watcher = asyncio.create_task(_watch(path, woken))
            woken.clear()
            state = await asyncio.to_thread(follower.poll)
            if state != last:
                last = state
                yield state
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(woken.wait(), interval)
    finally:
        if watcher is not None:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher


async def _watch(path: Path, woken: asyncio.Event) -> None:
    """Set ``woken`` on every change below the path; give up quietly where the system cannot watch."""
    try:
        async for _ in awatch(path, watch_filter=None, debounce=100, step=50):
            woken.set()
    except (OSError, RuntimeError):  # no inotify, or its limit is reached: the rescan goes on
        return
