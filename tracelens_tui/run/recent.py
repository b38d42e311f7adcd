"""The index of recent runs: one small file per run in XDG state, so that two processes never overwrite each other."""

import hashlib
from datetime import datetime, timezone
from pathlib import Path

from tracelens_tui.atomic import write_text
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.places import state_dir
from tracelens_tui.run.store import RunDir, read_json

KEEP = 50


class RecentRun(Schema):
    """A run that was started or opened here."""

    schema_version: int = SCHEMA_VERSION
    path: str  # absolute
    run_id: str
    trace: str
    time: datetime  # when it was last started or opened, UTC


def remember(run: RunDir, *, now: datetime | None = None) -> None:
    """Put the run at the top of the index; a state folder that cannot be written is no error."""
    path = run.path.absolute()
    entry = RecentRun(
        path=str(path),
        run_id=run.info.run_id,
        trace=run.info.trace.path,
        time=now or datetime.now(timezone.utc),
    )
    name = hashlib.sha256(str(path).encode("utf-8", "replace")).hexdigest()[:24]
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        write_text(_folder() / f"{name}.json", entry.model_dump_json() + "\n")
        for _, old in _entries()[KEEP:]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def recent_runs() -> list[RecentRun]:
    """Return the runs that still exist, latest first; unreadable entries are passed over."""
    return [entry for entry, _ in _entries() if Path(entry.path).is_dir()]


def _entries() -> list[tuple[RecentRun, Path]]:
    found = [(entry, path) for path in _folder().glob("*.json") if (entry := _entry(path)) is not None]
    return sorted(found, key=lambda pair: (-pair[0].time.timestamp(), pair[0].path))


def _entry(path: Path) -> RecentRun | None:
    try:
        return read_json(path, RecentRun)
    except UserError:
        return None


def _folder() -> Path:
    return state_dir() / "recent"
