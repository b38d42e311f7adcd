"""What this user thinks of a run's findings: accepted, rejected, a note.  Kept in XDG state, never in the run."""

import re
from pathlib import Path
from typing import Literal

from tracelens_tui.atomic import write_text
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.places import state_dir
from tracelens_tui.run.store import read_json


class Mark(Schema):
    """The user's word on one finding."""

    verdict: Literal["accepted", "rejected"] | None = None
    note: str = ""


class _Marks(Schema):
    schema_version: int = SCHEMA_VERSION
    marks: dict[str, Mark]


def load_marks(run_id: str) -> dict[str, Mark]:
    """Return the marks by finding id; UserError where the file is there and unreadable."""
    path = _path(run_id)
    return dict(read_json(path, _Marks).marks) if path.exists() else {}


def set_mark(run_id: str, finding: str, mark: Mark) -> dict[str, Mark]:
    """Keep the mark (an empty one removes it) and return all marks of the run."""
    marks = {**load_marks(run_id), finding: mark}
    marks = {key: value for key, value in marks.items() if value != Mark()}
    path = _path(run_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, _Marks(marks=marks).model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise UserError(f"{path}: the mark cannot be kept: {error.strerror}") from error
    return marks


def _path(run_id: str) -> Path:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", run_id):
        raise UserError(f"{run_id!r} is not a run id")
    return state_dir() / "marks" / f"{run_id}.json"
