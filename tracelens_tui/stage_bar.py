"""A bar on the terminal for work that takes more than a moment; nothing where nobody looks."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tracelens_tui.trace.progress import Progress, no_progress

PATIENCE_S = 0.5
"""Shorter work shows no bar."""

_WORDS = {"read": "reading", "tree": "linking", "analyse": "analysing"}


@contextmanager
def stage_bar() -> Iterator[Progress]:
    """Give a progress function that draws on standard error if that is a terminal; leaving removes the bar."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("opening", total=None)
    begun, lock = time.monotonic(), threading.Lock()

    def report(stage: str, done: int, total: int) -> None:
        bar.update(task, description=_WORDS.get(stage, stage), completed=done, total=total or None)
        if not bar.live.is_started and time.monotonic() - begun >= PATIENCE_S:
            with lock:
                bar.start()

    try:
        yield report
    finally:
        bar.stop()
