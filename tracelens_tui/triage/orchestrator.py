"""The triage: load, prepare, plan, agents, rank, model, report, validate.

Every stage leaves its outputs on disk and records their SHA-256 in ``run.json``; a resumed run takes finished outputs
as they are and makes the rest again, so that it ends with the same report wherever it was stopped.
"""

import os
import shutil
import signal
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.refusals import check_readable
from tracelens_tui.ingest.streams import is_stream, spooled
from tracelens_tui.run import control
from tracelens_tui.run import events as ev
from tracelens_tui.run.journal import JournalWriter
from tracelens_tui.run.lock import RunLock
from tracelens_tui.run.store import FOLDERS, JOURNAL, LOCK, RUN, RunDir
from tracelens_tui.triage.analyst import Analyst, MakeAnalyst
from tracelens_tui.triage.failures import Cancelled, TriageError
from tracelens_tui.triage.places import check_run_dir, run_dir_of, run_info
from tracelens_tui.triage.request import TriageOutcome, TriageRequest
from tracelens_tui.triage.rules import rules_analyst
from tracelens_tui.triage.session import Listener, Session
from tracelens_tui.triage.stages import run_stages
from tracelens_tui.triage.streamed import check_fresh, kept

__all__ = ["TriageOutcome", "TriageRequest", "run_triage"]

NO_REPORT = 3


class Terminated(BaseException):
    """The process was asked to end."""


def run_triage(
    request: TriageRequest, *, listener: Listener | None = None, analyst: MakeAnalyst = rules_analyst
) -> TriageOutcome:
    """Run a triage to its report and return how it ended; ``analyst`` makes the one that the request names.

    Raises UserError for bad input: a trace that cannot be read or has no GPU events, options that do not fit, a run
    directory that cannot take the run.  A run directory that was made for it is then removed again.
    """
    if not is_stream(request.trace):
        return _run(request, listener, analyst)
    check_fresh(request)
    with spooled(request.trace) as copy:
        return _run(replace(request, trace=copy), listener, analyst, stream=request.trace)


def _run(
    request: TriageRequest, listener: Listener | None, analyst: MakeAnalyst, *, stream: Path | None = None
) -> TriageOutcome:
    """Run the triage of a file, which is a temporary copy of ``stream`` if there is one."""
    check_readable(request.trace)
    run_dir = run_dir_of(request).absolute()
    check_run_dir(run_dir, request)
    with _made(run_dir), RunLock(run_dir / LOCK) as lock:
        check_run_dir(run_dir, request)  # another process may have come first
        lasting = nullcontext(request) if stream is None else kept(request, stream, run_dir)
        with _taken_back(run_dir), lasting as final:
            return _locked(RunDir(run_dir), lock, final, listener, analyst)


def _locked(
    run: RunDir, lock: RunLock, request: TriageRequest, listener: Listener | None, analyst: MakeAnalyst
) -> TriageOutcome:
    """Run the triage in a directory that is ours."""
    if run.exists(RUN):
        known = run.info
        run.check_resumable(run_info(request, run.path, known.run_id, known.platform, known.platform_note))
    for folder in FOLDERS:
        (run.path / folder).mkdir(exist_ok=True)
    for left in run.path.rglob(".*.tmp"):  # of a writer that was killed
        left.unlink(missing_ok=True)
    control.clear(run)
    run_id = run.info.run_id if run.exists(RUN) else uuid.uuid4().hex
    with JournalWriter(run.journal) as journal, Session(run, run_id, journal, lock, listener) as session, _terminable():
        return _supervised(session, request, analyst(session))


def _supervised(session: Session, request: TriageRequest, analyst: Analyst) -> TriageOutcome:
    """Run the stages; whatever ends them early is in the journal before it is told."""
    run_dir = session.run.path
    started = time.monotonic()
    session.emit(_begin(session, request))
    try:
        run_stages(session, request, analyst)
    except Cancelled as stop:
        session.emit(ev.RunFailed(reason=str(stop), cancelled=True))
        return TriageOutcome(run_dir, "cancelled", NO_REPORT, str(stop))
    except TriageError as error:
        session.emit(ev.RunFailed(reason=str(error)))
        return TriageOutcome(run_dir, "failed", NO_REPORT, str(error))
    except (Terminated, KeyboardInterrupt) as stop:
        reason = str(stop) or "interrupted"
        session.emit(ev.RunFailed(reason=reason))
        return TriageOutcome(run_dir, "failed", NO_REPORT, reason)
    except UserError as error:
        if not session.run.exists(RUN):
            raise  # the trace or an option was bad: nothing was made of it
        session.emit(ev.RunFailed(reason=str(error)))
        return TriageOutcome(run_dir, "failed", NO_REPORT, str(error))
    except BaseException as error:
        session.emit(ev.RunFailed(reason=f"internal error: {type(error).__name__}: {error}"))
        raise
    session.emit(ev.RunFinished(seconds=time.monotonic() - started))
    return TriageOutcome(run_dir, "finished", 0)


def _begin(session: Session, request: TriageRequest) -> ev.RunStarted:
    known = session.run.info if session.run.exists(RUN) else None
    return ev.RunStarted(
        run_id=session.run_id,
        trace=str(request.trace.absolute()),
        platform=known.platform if known else request.platform,
        analyst=request.analyst,
        host=socket.gethostname(),
        pid=os.getpid(),
        resumed=request.resume,
    )


@contextmanager
def _made(path: Path) -> Iterator[None]:
    """Make the directory; on bad input remove the folders that were not there before, as far as they are empty."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be made ({error.strerror}); choose another --run-dir") from error
    try:
        yield
    except UserError:
        with suppress(OSError):  # something lies in it
            for folder in missing:
                folder.rmdir()
        raise


@contextmanager
def _taken_back(path: Path) -> Iterator[None]:
    """On bad input remove what a run that never got anywhere has written; the lock is ours."""
    fresh = not (path / JOURNAL).exists()
    try:
        yield
    except UserError:
        if fresh and not (path / RUN).exists():
            for folder in FOLDERS:
                shutil.rmtree(path / folder, ignore_errors=True)
            (path / JOURNAL).unlink(missing_ok=True)
        raise


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception that unwinds the stack, where signals may be handled at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated("ended by SIGTERM")
