"""What a viewer may ask of a running triage: files in ``control/``, the only thing a viewer writes."""

import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from tracelens_tui.atomic import write_text
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.store import CONTROL, RunDir, read_json


class ControlRequest(Schema):
    """One request."""

    schema_version: int = SCHEMA_VERSION
    id: str
    type: Literal["cancel", "cancel_agent"]
    agent: str | None = None  # skill directory name, for cancel_agent
    time: datetime


def request_cancel(run: RunDir, agent: str | None = None) -> ControlRequest:
    """Ask the triage to stop, or to stop one sub-agent and go on without it."""
    request = ControlRequest(
        id=uuid.uuid4().hex,
        type="cancel" if agent is None else "cancel_agent",
        agent=agent,
        time=datetime.now(timezone.utc),
    )
    folder = run.path / CONTROL
    try:
        write_text(folder / f"{request.id}.json", request.model_dump_json() + "\n")
    except OSError as error:
        raise UserError(f"{folder}: the request cannot be written: {error.strerror}") from error
    return request


def pending(run: RunDir) -> list[ControlRequest]:
    """Return the requests in the order they were made; what is no request is left alone."""
    requests = filter(None, map(_request, _files(run)))
    return sorted(requests, key=lambda request: (request.time, request.id))


def clear(run: RunDir) -> None:
    """Remove all requests: a triage that starts is not bound by what was asked of its predecessor."""
    for path in _files(run):
        path.unlink(missing_ok=True)


def _files(run: RunDir) -> list[Path]:
    return sorted(path for path in (run.path / CONTROL).glob("*.json") if not path.name.startswith("."))


def _request(path: Path) -> ControlRequest | None:
    try:
        return read_json(path, ControlRequest)
    except UserError:
        return None
