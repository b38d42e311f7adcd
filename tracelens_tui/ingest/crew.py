"""Processes that decode stretches side by side, since the interpreter lock lets threads do it only in turn."""

import mmap
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection, wait
from typing import IO, Any, Generic, TypeVar

from tracelens_tui.ingest.worker import Answer, Task

SLOT = 5 << 20
"""Bytes of text that a process gets at once: few, so that none is left with work when the others have done theirs."""

_SLOTS = 2  # per process: the next texts wait while it is at work
_LARGEST_CREW = 4  # more wait for the process that unpacks and cuts the file

T = TypeVar("T")


class CrewLost(Exception):
    """A process of the crew has died."""


class _Worker(Generic[T]):
    """A process and its part of the shared memory."""

    def __init__(self, memory: mmap.mmap, slots: Sequence[int], connection: Connection) -> None:
        self.connection = connection
        self._memory = memory
        self._free = deque(slots)
        self._busy: deque[tuple[int, T]] = deque()  # slot and ticket, in the order in which answers come

    @property
    def ready(self) -> bool:
        """Whether it has room for more work."""
        return bool(self._free)

    @property
    def busy(self) -> bool:
        """Whether answers are due."""
        return bool(self._busy)

    def give(self, ticket: T, texts: Sequence[bytes], *, floats: bool) -> None:
        """Have the texts decoded, their times as floats or by their digits."""
        slot = self._free.popleft()
        places: list[tuple[int, int]] = []
        start = slot
        for text in texts:
            self._memory[start : start + len(text)] = text
            places.append((start, start + len(text)))
            start += len(text)
        task: Task = (floats, places)
        with _death_noticed():
            self.connection.send(task)
        self._busy.append((slot, ticket))

    def take(self) -> tuple[T, Answer]:
        """Return the oldest ticket and what came of it; waits for it."""
        with _death_noticed():
            told: int | bytes = self.connection.recv()
        slot, ticket = self._busy.popleft()
        content = self._memory[slot : slot + told] if isinstance(told, int) else told
        answer: Answer = pickle.loads(content)  # noqa: S301 - from a process of our own
        self._free.append(slot)
        return ticket, answer


class Crew(Generic[T]):
    """Takes groups of texts and gives what came of each with its ticket.  Methods raise :class:`CrewLost`."""

    def __init__(self, workers: list[_Worker[T]], slot: int) -> None:
        self.slot = slot  # bytes of text that a process takes at once
        self._workers = workers

    @property
    def busy(self) -> bool:
        """Whether answers are due."""
        return any(worker.busy for worker in self._workers)

    def give(self, ticket: T, texts: Sequence[bytes], *, floats: bool = True) -> bool:
        """Have a process decode the texts; False if all have enough to do or the texts are too large."""
        worker = next((worker for worker in self._workers if worker.ready), None)
        if worker is None or sum(map(len, texts)) > self.slot:
            return False
        worker.give(ticket, texts, floats=floats)
        return True

    def answers(self, *, patiently: bool) -> Iterator[tuple[T, Answer]]:
        """Give what is ready; ``patiently``: wait until something is."""
        ready = wait([worker.connection for worker in self._workers], None if patiently else 0)
        for worker in self._workers:
            if worker.connection in ready:
                yield worker.take()


@contextmanager
def _death_noticed() -> Iterator[None]:
    try:
        yield
    except (EOFError, ConnectionError) as error:
        raise CrewLost from error


def crew_size() -> int:
    """Return how many processes help the one that reads: none where it has no core beside its own."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores - 1, _LARGEST_CREW) if os.name == "posix" else 0


@contextmanager
def crew_of(size: int, slot: int = SLOT) -> Iterator[Crew[Any]]:
    """Start so many processes, each taking ``slot`` bytes of text at once; leaving stops them at once."""
    length = size * _SLOTS * slot
    with ExitStack() as stack:
        file = stack.enter_context(_shared_memory(length))
        memory = stack.enter_context(mmap.mmap(file.fileno(), length))
        workers: list[_Worker[Any]] = []
        for number in range(size):
            connection = stack.enter_context(_process(file.fileno(), length))
            first = number * _SLOTS
            workers.append(_Worker(memory, [at * slot for at in range(first, first + _SLOTS)], connection))
        yield Crew(workers, slot)


def _shared_memory(length: int) -> IO[bytes]:
    """A file without a name, in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        file: IO[bytes] = os.fdopen(os.memfd_create("tracelens"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.truncate(length)
    return file


@contextmanager
def _process(shared: int, length: int) -> Iterator[Connection]:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-m", "tracelens_tui.ingest.worker", str(theirs.fileno()), str(shared), str(length)]
        process = subprocess.Popen(  # noqa: S603 - this interpreter, and numbers
            command,
            pass_fds=(theirs.fileno(), shared),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the terminal's group; this side decides
        )
    try:
        with Connection(ours.detach()) as connection:
            yield connection
    finally:
        process.kill()
        process.wait()
