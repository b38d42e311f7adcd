"""Where a run goes and which run it is, before anything is read or written."""

import hashlib
import json
import os
from datetime import datetime, timezone
from pathlib import Path

from pydantic import JsonValue

from tracelens_tui import __version__, resources
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import fingerprint
from tracelens_tui.ingest.refusals import check_readable
from tracelens_tui.perf.extensions import extension_record
from tracelens_tui.run.manifest import RunInfo, TraceRef
from tracelens_tui.run.store import FOLDERS, JOURNAL, LOCK, RUN, default_run_dir
from tracelens_tui.triage.request import TriageRequest

PROGRAM = "tracelens-tui"


def run_dir_of(request: TriageRequest) -> Path:
    """Return where the run of a request goes; UserError where the trace cannot be read."""
    if request.run_dir is not None:
        return request.run_dir
    check_readable(request.trace)
    part = "" if request.scope is None else request.scope.slug
    return default_run_dir(request.trace, fingerprint(request.trace), part)


def check_run_dir(path: Path, request: TriageRequest) -> None:
    """Raise UserError where something lies in the place that is not this run, or is it without having been asked for.

    Resuming where nothing was left yet starts from the beginning: a run may be killed before it has written anything.
    """
    if path.exists() and not path.is_dir():
        raise UserError(f"{path}: is a file; choose another --run-dir")
    present = _content(path)
    if not present:
        return
    if not present & {RUN, JOURNAL}:
        raise UserError(f"{path} is not empty ({min(present)}): choose another --run-dir")
    if not request.resume:
        part = "" if request.scope is None else f" {request.scope.option}"
        raise UserError(
            f"{path} holds a run already: continue it with `tracelens-tui triage {request.trace}{part} --run-dir {path}"
            " --resume`, or choose another --run-dir"
        )


def _content(path: Path) -> set[str]:
    """The names in a directory, without locks and without the empty folders of a run that was hardly begun."""
    if not path.is_dir():
        return set()
    found = (entry for entry in path.iterdir() if not entry.name.startswith(LOCK))
    return {entry.name for entry in found if not (entry.name in FOLDERS and entry.is_dir() and _is_empty(entry))}


def _is_empty(folder: Path) -> bool:
    return next(folder.iterdir(), None) is None


SKILLS = "skills"
"""The key of the skills' version in ``run.json``."""


def run_info(request: TriageRequest, run_dir: Path, run_id: str, platform: str | None, note: str) -> RunInfo:
    """Return what ``run.json`` says of a new run."""
    trace = request.trace.absolute()
    return RunInfo(
        run_id=run_id,
        created=datetime.now(timezone.utc),
        trace=TraceRef(
            path=str(trace),
            relative=os.path.relpath(trace, run_dir.absolute()),
            fingerprint=fingerprint(trace),
            size=trace.stat().st_size,
        ),
        platform=platform,
        platform_note=note,
        analyst=request.analyst,
        options=options_of(request),
        versions={PROGRAM: __version__, SKILLS: skills_version()},
    )


def options_of(request: TriageRequest) -> dict[str, JsonValue]:
    """Return what changes the outcome, as ``run.json`` has it: ``scope`` and ``extensions`` only where there are any.

    UserError where the architecture file or an extension cannot be read.
    """
    try:
        arch = hashlib.sha256(request.arch.read_bytes()).hexdigest() if request.arch is not None else None
    except OSError as error:
        raise UserError(f"{request.arch}: cannot be read ({error.strerror}); give --arch an existing file") from error
    part = {} if request.scope is None else {"scope": request.scope.text}
    record = {kind: list[JsonValue](entries) for kind, entries in extension_record(request.extensions).items()}
    own: dict[str, JsonValue] = {"extensions": dict[str, JsonValue](record)} if record else {}
    claude = request.claude if request.analyst == "claude" else None
    models: dict[str, JsonValue] = {} if claude is None else {"model": claude.model, **claude.tier_models}
    return {"platform": request.platform, "arch": arch, "device": request.device, **part, **own, **models}


def skills_version() -> str:
    """Return a hash over the rules and prompts of all sub-agents."""
    digest = hashlib.sha256()
    for path in sorted(resources.SKILLS.glob("*/*")):
        if path.is_file():
            digest.update(json.dumps(path.relative_to(resources.SKILLS).as_posix()).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
