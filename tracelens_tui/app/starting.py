"""Start the triage of a trace, or find the run that is there already."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.paths import holds_run
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import fingerprint
from tracelens_tui.run.follow import snapshot
from tracelens_tui.run.store import RUN, RunDir
from tracelens_tui.triage.launch import log_of, start_detached
from tracelens_tui.triage.places import options_of, run_dir_of
from tracelens_tui.triage.request import TriageRequest


@dataclass(frozen=True, slots=True)
class Started:
    """A run directory and, where this app started the triage, its process and where its output goes."""

    run_dir: Path
    process: int | None = None
    log: Path | None = None

    def alive(self) -> bool:
        """Say whether the process that was started still runs."""
        if self.process is None:
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        return True

    def fault(self) -> str | None:
        """Return why there is no run after the process ended: its last words; None where there is a run."""
        if holds_run(self.run_dir) or self.log is None:
            return None
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1].removeprefix("error: ") if lines else "the triage ended before it began"


def start(trace: Path, options: AppOptions, *, fresh: bool) -> Started:
    """Return the run directory of the trace; start a triage in it unless a run lives or ended there.

    A crashed run goes on where it stopped.  A ``fresh`` run, or one with other options than those of the run that is
    there, gets the next free directory beside it.  UserError where the triage cannot be started.
    """
    request = TriageRequest(
        trace=trace,
        run_dir=options.run_dir,
        platform=options.platform,
        arch=options.arch,
        device=options.device,
        scope=options.scope,
        extensions=options.extensions,
        use_cache=options.use_cache,
    )
    place = run_dir_of(request).absolute()
    if fresh or not _fits(place, request):
        place = _next_free(place)
    request = replace(request, run_dir=place)
    if not holds_run(place):
        return Started(place, start_detached(request), log_of(request))
    _check_trace(place, trace)
    if snapshot(place).status == "crashed":
        request = replace(request, resume=True)
        return Started(place, start_detached(request), log_of(request))
    return Started(place)


def _fits(place: Path, request: TriageRequest) -> bool:
    """Whether a run that lies there was made with these options; True where it does not say yet."""
    return not (place / RUN).exists() or RunDir(place).info.options == options_of(request)


def _check_trace(place: Path, trace: Path) -> None:
    """UserError where the run there is of another trace."""
    if (place / RUN).exists() and RunDir(place).info.trace.fingerprint != fingerprint(trace):
        raise UserError(f"{place} holds a run of another trace: choose another --run-dir")


def _next_free(place: Path) -> Path:
    """The first of ``place-2``, ``place-3``, … that is not there."""
    number = 2
    while (candidate := place.with_name(f"{place.name}-{number}")).exists():
        number += 1
    return candidate
