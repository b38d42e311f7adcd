"""Open a trace: read, repair, link."""

from pathlib import Path

from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.progress import Progress
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace


def open_trace(path: Path, *, use_cache: bool = True, progress: Progress | None = None) -> tuple[Trace, EventTree]:
    """Return the repaired trace in that file and its tree."""
    trace = repaired(load_trace(path, progress=progress))
    return trace, build_tree(trace)


def fingerprint(path: Path) -> str:
    """Return a text that changes when the file does."""
    stat = path.stat()
    return f"{stat.st_size:x}{stat.st_mtime_ns:x}"
