"""Traces that can be read only once: standard input, pipes, files given by descriptor.

They are copied to a private file on disk, because a trace may be larger than memory and some of its packings are read
from their end.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from types import FrameType
from typing import BinaryIO, NoReturn

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.refusals import refuse_foreign
from tracelens_tui.ingest.sniff import encoding_of, packing_of

STANDARD_INPUT = Path("-")

_STANDARD_INPUT = (STANDARD_INPUT, Path("/dev/stdin"), Path("/dev/fd/0"), Path("/proc/self/fd/0"))
_DESCRIPTORS = (Path("/dev/fd"), Path("/proc"))  # what lies there has no lasting name, even if it is a file
_BLOCK = 1 << 20
_ENDINGS = {
    "gzip": ".json.gz",
    "zip": ".zip",
    "zstd": ".json.zst",
    "xz": ".json.xz",
    "bzip2": ".json.bz2",
}


def is_stream(path: Path) -> bool:
    """Return whether the path stands for something that can be read only once; ``-`` is standard input."""
    if path in _STANDARD_INPUT or any(folder in path.absolute().parents for folder in _DESCRIPTORS):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not S_ISREG(mode) and not S_ISDIR(mode)


def shown(path: Path) -> str:
    """Return what a user calls the path."""
    return "standard input" if path in _STANDARD_INPUT else str(path)


@contextmanager
def spooled(path: Path) -> Iterator[Path]:
    """Give a file that holds all of a stream; it is removed when the context is left, also by a signal to end.

    The file may be moved away before that.  A UserError that leaves the context names the stream, not the file.  Raises
    UserError for a stream that cannot be read, that no trace can begin like, or for which there is no space.
    """
    with _ended_by_signals(), tempfile.TemporaryDirectory(prefix="tracelens-tui-", dir=_place()) as folder:
        file = Path(folder) / _name(path)
        try:
            file = _copied(path, file)
            yield file
        except UserError as error:
            raise UserError(str(error).replace(str(file), shown(path))) from error


def _copied(path: Path, file: Path) -> Path:
    """The file with the content of the stream, under a name that tells how it is packed."""
    packing = None
    try:
        with _opened(path) as source, file.open("xb") as target:
            block = source.read(_BLOCK)
            packing = packing_of(block)
            if packing is None and encoding_of(block) is None:
                refuse_foreign(file, block)  # /dev/zero has no end
            while block:
                target.write(block)
                block = source.read(_BLOCK)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(
            f"{file} cannot be copied to {file.parent.parent} ({reason}); free space there or set TMPDIR."
        ) from error
    return file.rename(file.with_name(file.name + _ENDINGS.get(packing or "", ".json")))


def _opened(path: Path) -> BinaryIO:
    """The stream, to be read in blocks; closing it leaves standard input open."""
    given = path == STANDARD_INPUT
    try:
        stream = open(0 if given else path, "rb", closefd=not given)  # noqa: SIM115 - a descriptor; left by the caller
    except OSError as error:
        raise UserError(f"{shown(path)} cannot be read ({(error.strerror or str(error)).lower()}).") from None
    if stream.isatty():
        stream.close()
        raise UserError(f"{shown(path)} is a terminal; pipe a trace into it: tracelens-tui info - < TRACE")
    return stream


def _name(path: Path) -> str:
    if path in _STANDARD_INPUT:
        return "standard-input"
    return "input" if path.name.isdigit() else path.name


def _place() -> Path:
    """Where large temporary files go: /tmp lies in memory on many machines."""
    lasting = Path("/var/tmp")  # noqa: S108 - a folder of random name is made in it, for this user alone
    if "TMPDIR" not in os.environ and os.access(lasting, os.W_OK | os.X_OK):
        return lasting
    return Path(tempfile.gettempdir())


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let the signals that end a process unwind the stack, so that temporary files go."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)
