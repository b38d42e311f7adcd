"""Open a trace: read, repaired and with its tree; the second time from a cache.

The cache is ``$TRACELENS_TUI_CACHE``, else ``tracelens-tui`` in the user's cache folder.  Entries are folders that are
written under another name and renamed, so that several processes may open and write one trace at a time.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from stat import S_ISREG

from tracelens_tui.ingest import store
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.ingest.refusals import check_readable
from tracelens_tui.ingest.streams import is_stream, shown, spooled
from tracelens_tui.trace import types
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.progress import Progress, no_progress
from tracelens_tui.trace.quality import finished_quality
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

LIMIT = 10 * 1000**3
"""Bytes that the cache may hold; the entries used longest ago go first."""

_VERSION = b"1"  # of the fingerprint
_SAMPLE = 1 << 20
_SAMPLES = 16
_TEMPORARY = ".new-"
_STALE = 24 * 3600  # seconds after which an unfinished entry was left by a process that died


def open_trace(path: Path, *, use_cache: bool = True, progress: Progress | None = None) -> tuple[Trace, EventTree]:
    """Return the repaired trace of a file and its tree, from the cache where it is there.

    ``progress`` hears ("read", bytes, bytes) and ("tree", events, events).  Raises UserError for a file that cannot be
    read.  Where no cache can be written, every opening reads the file; what can be read only once is never kept.
    """
    if is_stream(path):
        with spooled(path) as file:
            trace, tree = open_trace(file, use_cache=False, progress=progress)
        return _named(trace, shown(path)), tree
    report = progress or no_progress
    check_readable(path)
    entry = _entry(path) if use_cache else None
    if entry is not None and (found := _cached(entry)) is not None:
        trace, tree = found
        return _named(trace, str(path)), tree
    trace = repaired(load_trace(path, progress=progress))
    report("tree", 0, len(trace))
    tree = build_tree(trace)
    trace = replace(trace, quality=finished_quality(trace, tree))
    report("tree", len(trace), len(trace))
    if entry is not None and entry == _entry(path):  # else the file was changed meanwhile
        _keep(entry, trace, tree)
    return trace, tree


def _named(trace: Trace, path: str) -> Trace:
    """The trace with another path of its file."""
    return replace(trace, metadata=replace(trace.metadata, source=replace(trace.metadata.source, path=path)))


def fingerprint(path: Path) -> str:
    """Return 32 hex digits that tell whether a file is the same: size, time of change, and samples of its bytes.

    Raises UserError where it cannot be read.
    """
    check_readable(path)
    stat = path.stat()
    digest = hashlib.blake2b(_VERSION, digest_size=16)
    digest.update(f"{stat.st_size} {stat.st_mtime_ns}".encode())
    with path.open("rb") as file:
        for position in _sampled(stat.st_size):
            file.seek(position)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def _sampled(size: int) -> list[int]:
    """Where the first, the last and the samples between them begin."""
    if size <= _SAMPLE * (_SAMPLES + 2):
        return list(range(0, size, _SAMPLE))
    last = size - _SAMPLE
    return [last * step // (_SAMPLES + 1) for step in range(_SAMPLES + 2)]


def _entry(path: Path) -> Path | None:
    """The cache folder of a file, None where there can be none."""
    root = _root()
    if root is None or not path.is_file():
        return None
    return root / f"{fingerprint(path)}-{_form()}"


def _root() -> Path | None:
    chosen = os.environ.get("TRACELENS_TUI_CACHE")
    try:
        root = Path(chosen) if chosen else _user_cache() / "tracelens-tui"
        root.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return root if os.access(root, os.W_OK | os.X_OK) else None


def _user_cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME")
    return Path(folder) if folder and Path(folder).is_absolute() else Path.home() / ".cache"


@cache
def _form() -> str:
    """What an entry holds depends on the code that made it: a text that changes with it."""
    digest = hashlib.blake2b(digest_size=4)
    for package in (Path(__file__).parent, Path(types.__file__).parent):
        for source in sorted(package.glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _cached(entry: Path) -> tuple[Trace, EventTree] | None:
    if not entry.is_dir():
        return None
    try:
        found = store.read_trace(entry)
        os.utime(entry)
    except store.Damaged:
        shutil.rmtree(entry, ignore_errors=True)
        return None
    except OSError:
        return None  # evicted this moment
    return found


def _keep(entry: Path, trace: Trace, tree: EventTree) -> None:
    """Write an entry; a full disk or another process that was faster is no error."""
    try:
        new = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=entry.parent))
    except OSError:
        return
    try:
        store.write_trace(new, trace, tree)
        new.rename(entry)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
    _evict(entry)


def _evict(newest: Path) -> None:
    """Remove what processes that died left, and the entries used longest ago until the rest fits."""
    entries = sorted(((used, size, folder) for folder, used, size in _entries(newest.parent)), reverse=True)
    total = 0
    for used, size, folder in entries:
        total += size
        if folder.name.startswith(_TEMPORARY):
            superfluous = time.time() - used > _STALE
        else:
            superfluous = total > LIMIT and folder != newest
        if superfluous:
            shutil.rmtree(folder, ignore_errors=True)


def _entries(root: Path) -> Iterator[tuple[Path, float, int]]:
    """The folders of the cache with when each was last used and how many bytes it holds."""
    for folder in root.iterdir():
        used = _last_use(folder)
        if used is not None:
            yield folder, used, sum(map(_size, folder.rglob("*")))


def _last_use(folder: Path) -> float | None:
    try:
        return folder.stat().st_mtime
    except OSError:
        return None  # removed by another process


def _size(file: Path) -> int:
    try:
        status = file.stat()
    except OSError:
        return 0
    return status.st_size if S_ISREG(status.st_mode) else 0
