"""The journal of a run: one writer appends events to ``events.jsonl``, any number of readers follow.

A line is the event as JSON.  A writer that was killed may leave a torn last line; the next one starts a fresh line,
and readers skip and count what they cannot read.
"""

import os
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tracelens_tui.errors import UserError
from tracelens_tui.run.events import EVENT, AnyEvent, ReportWritten, RunFailed, RunFinished, StageFinished

Event = TypeVar("Event", bound=AnyEvent)

_DURABLE = (StageFinished, ReportWritten, RunFinished, RunFailed)
_ANCHOR = 64  # bytes before the reader's offset that must still be the same


def _utc_now() -> datetime:
    return datetime.now(timezone.utc)


class JournalWriter:
    """Appends events; a context manager.  Threads may share it; processes must not (hold the run's lock)."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._path = path
        self._now = now
        self._guard = threading.Lock()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UserError(f"{path}: the journal cannot be opened: {error.strerror}") from error
        self._seq = _last_seq(path)
        self._torn = not _ends_with_newline(self._file)

    def __enter__(self) -> "JournalWriter":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._seq

    def write(self, event: Event) -> Event:
        """Append the event and return it as written: with its number and time."""
        with self._guard:
            written = event.model_copy(update={"seq": self._seq + 1, "time": self._now()})
            line = written.model_dump_json().encode("utf-8", "replace") + b"\n"
            try:
                self._append(b"\n" + line if self._torn else line)
                if isinstance(event, _DURABLE):
                    os.fsync(self._file)
            except OSError as error:
                raise UserError(f"{self._path}: the journal cannot be written: {error.strerror}") from error
            self._seq += 1
        return written

    def close(self) -> None:
        """Close the file; more calls do nothing."""
        with self._guard:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _append(self, data: bytes) -> None:
        """Write in one call; the rest of a short write (a full disk, a signal) follows or raises."""
        self._torn = True
        while data:
            data = data[os.write(self._file, data) :]
        self._torn = False


class JournalReader:
    """Reads what was appended since the last call, and starts over where the file was cut or replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._anchor = b""  # the bytes just before the offset
        self.skipped = 0  # lines that could not be read
        self.restarts = 0  # how often the file was another one than before

    def read(self) -> list[AnyEvent]:
        """Return the new events, [] where there are none or no file yet.

        When ``restarts`` grew, the events are the file's from its start and everything told before is void.
        """
        try:
            with self._path.open("rb") as file:
                if not self._continues(file.fileno()):
                    self._offset, self._anchor, self.skipped = 0, b"", 0
                    self.restarts += 1
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"{self._path}: the journal cannot be read: {error.strerror}") from error
        whole = data[: data.rfind(b"\n") + 1]  # a line without its end is still being written
        self._offset += len(whole)
        self._anchor = (self._anchor + whole)[-_ANCHOR:]
        return self._events(whole)

    def _continues(self, file: int) -> bool:
        return os.pread(file, len(self._anchor), self._offset - len(self._anchor)) == self._anchor

    def _events(self, data: bytes) -> list[AnyEvent]:
        events: list[AnyEvent] = []
        for line in data.split(b"\n"):
            if line.strip():
                event = _parse(line)
                if event is None:
                    self.skipped += 1
                else:
                    events.append(event)
        return events


def read_events(path: Path) -> list[AnyEvent]:
    """Return all readable events of a journal, [] where there is no file."""
    return JournalReader(path).read()


def _parse(line: bytes) -> AnyEvent | None:
    try:
        return EVENT.validate_json(line)
    except ValidationError:  # torn by a kill, or written by another version
        return None


def _last_seq(path: Path) -> int:
    return max((event.seq for event in read_events(path)), default=0)


def _ends_with_newline(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"
