"""What the app asks of the rest of the program; a test gives its own."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.preparing import Step, prepare
from tracelens_tui.errors import UserError

if TYPE_CHECKING:
    from tracelens_tui.analysis.model import Analysis
    from tracelens_tui.app.starting import Started
    from tracelens_tui.run.marks import Mark
    from tracelens_tui.run.recent import RecentRun
    from tracelens_tui.run.state import RunState


class Services:
    """The doors to the packages below.

    ``prepare`` and ``follow`` are asynchronous; all others but ``now`` block and belong in a thread.
    """

    def now(self) -> datetime:
        """Return the time (UTC)."""
        return datetime.now(timezone.utc)

    def prepare(self, trace: Path, options: AppOptions, folder: Path) -> AsyncIterator[Step]:
        """Read a trace in a child process."""
        return prepare(trace, options, folder)

    def analysis(self, folder: Path) -> "Analysis":
        """Map a prepared analysis."""
        from tracelens_tui.analysis.store import open_analysis

        return open_analysis(folder)

    def follow(self, run_dir: Path) -> "AsyncIterator[RunState]":
        """Follow a run directory."""
        from tracelens_tui.run.follow import follow

        return follow(run_dir)

    def snapshot(self, run_dir: Path) -> "RunState":
        """Read a run directory once; UserError where it is none."""
        from tracelens_tui.run.follow import snapshot

        return snapshot(run_dir)

    def start(self, trace: Path, options: AppOptions, *, fresh: bool) -> "Started":
        """Start a triage of the trace in its own session and return where it is.

        A run that lies at the place already is taken as it is, unless it is to be a ``fresh`` one.
        """
        from tracelens_tui.app.starting import start

        return start(trace, options, fresh=fresh)

    def cancel(self, run_dir: Path) -> None:
        """Ask the triage to stop."""
        from tracelens_tui.run.control import request_cancel
        from tracelens_tui.run.store import RunDir

        request_cancel(RunDir(run_dir))

    def trace_of(self, run_dir: Path) -> Path:
        """Return the trace of a run; UserError where it is not there any more."""
        from tracelens_tui.run.store import RunDir

        return RunDir(run_dir).trace_path()

    def options_of(self, run_dir: Path, options: AppOptions) -> AppOptions:
        """Return the options with the GPU and device that the run was made with, where the user names no others.

        The part of the trace and the extensions are always the run's: its findings name rows made with those.
        UserError for others; extensions are never taken from the run, for they are code.
        """
        from tracelens_tui.perf.extensions import extension_record
        from tracelens_tui.run.store import RunDir
        from tracelens_tui.trace.scope import Scope

        made = RunDir(run_dir).info.options
        text = made.get("scope")
        scope = Scope.of_text(text) if isinstance(text, str) else None
        if options.scope not in (None, scope):
            raise UserError(
                f"{run_dir} is a run of {scope.describe() if scope else 'the whole trace'}: open it without "
                f"{options.scope.option}, or open the trace with it"
            )
        if (made.get("extensions") or {}) != extension_record(options.extensions):
            raise UserError(
                f"{run_dir} was made with other extensions: open it with `--extension FILE` for each that it was made "
                "with, unchanged"
            )
        options = replace(options, scope=scope)
        platform, device = made.get("platform"), made.get("device")
        if options.platform is None and options.arch is None and isinstance(platform, str):
            options = replace(options, platform=platform)
        if options.device is None and isinstance(device, int):
            options = replace(options, device=device)
        return options

    def report(self, run_dir: Path) -> str:
        """Return the report's Markdown."""
        from tracelens_tui.report.export import read_report

        return read_report(run_dir)

    def export(self, run_dir: Path, target: Path, *, overwrite: bool) -> Path:
        """Write the report to a file, whole or not at all."""
        from tracelens_tui.report.export import export_report

        return export_report(run_dir, target, overwrite=overwrite)

    def marks(self, run_dir: Path) -> "dict[str, Mark]":
        """Return the user's verdicts on the run's findings."""
        from tracelens_tui.run.marks import load_marks
        from tracelens_tui.run.store import RunDir

        return load_marks(RunDir(run_dir).info.run_id)

    def mark(self, run_dir: Path, finding: str, mark: "Mark") -> "dict[str, Mark]":
        """Keep a verdict and return all."""
        from tracelens_tui.run.marks import set_mark
        from tracelens_tui.run.store import RunDir

        return set_mark(RunDir(run_dir).info.run_id, finding, mark)

    def recent(self) -> "list[RecentRun]":
        """Return the recent runs, latest first."""
        from tracelens_tui.run.recent import recent_runs

        return recent_runs()

    def remember(self, run_dir: Path) -> None:
        """Put the run at the top of the recent ones."""
        from tracelens_tui.run.recent import remember
        from tracelens_tui.run.store import RunDir

        remember(RunDir(run_dir))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a private folder for prepared columns; it goes with the app."""
    folder = Path(tempfile.mkdtemp(prefix="tracelens-tui-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
