"""A triage of a trace that can be read only once: the run directory keeps a copy.

So the run can be resumed and opened like any other; whoever watches it finds the trace beside its findings.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.streams import shown
from tracelens_tui.run.store import RUN
from tracelens_tui.triage.request import TriageRequest


def check_fresh(request: TriageRequest) -> None:
    """Raise UserError where a run of a stream is to go on, because the stream is gone, or lies in the place."""
    if request.resume:
        raise UserError(
            f"{shown(request.trace)} cannot be read a second time: to resume the run, give the copy of the trace that "
            "lies in its run directory"
        )
    if request.run_dir is not None and (request.run_dir / RUN).exists():
        raise UserError(f"{request.run_dir} holds a run already: choose another --run-dir")


@contextmanager
def kept(request: TriageRequest, stream: Path, run_dir: Path) -> Iterator[TriageRequest]:
    """Move the copy of ``stream`` into the run directory; give the request for it.

    On bad input the copy is removed again, and the UserError names the stream.
    """
    copy = run_dir / request.trace.name
    try:
        shutil.move(request.trace, copy)
    except OSError as error:
        copy.unlink(missing_ok=True)
        raise UserError(f"{run_dir}: cannot keep the trace ({error.strerror}); choose another --run-dir") from error
    try:
        yield replace(request, trace=copy)
    except UserError as error:
        if not (run_dir / RUN).exists():
            copy.unlink(missing_ok=True)
        raise UserError(str(error).replace(str(copy), shown(stream))) from error
