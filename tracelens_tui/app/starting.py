"""Start the triage of a trace, or find the run that is there already."""

import hashlib
from dataclasses import replace
from pathlib import Path

from tracelens_tui.app.options import AppOptions
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import fingerprint
from tracelens_tui.run.follow import snapshot
from tracelens_tui.run.store import JOURNAL, LOCK, RUN, RunDir
from tracelens_tui.triage.launch import start_detached
from tracelens_tui.triage.places import run_dir_of
from tracelens_tui.triage.request import TriageRequest


def start(trace: Path, options: AppOptions, *, fresh: bool) -> Path:
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
        use_cache=options.use_cache,
    )
    place = run_dir_of(request).absolute()
    if fresh or not _fits(place, options):
        place = _next_free(place)
    request = replace(request, run_dir=place)
    if not _holds_run(place):
        start_detached(request)
        return place
    _check_trace(place, trace)
    if snapshot(place).status == "crashed":
        start_detached(replace(request, resume=True))
    return place


def _holds_run(place: Path) -> bool:
    """Whether a run is in the directory, young ones included."""
    return any((place / name).exists() for name in (RUN, JOURNAL, LOCK))


def _fits(place: Path, options: AppOptions) -> bool:
    """Whether a run that lies there was made with these options; True where it does not say yet."""
    if not (place / RUN).exists():
        return True
    arch = None if options.arch is None else hashlib.sha256(options.arch.read_bytes()).hexdigest()
    return RunDir(place).info.options == {"platform": options.platform, "arch": arch, "device": options.device}


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
