"""Start a triage as a process of its own: it outlives whoever started it."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tracelens_tui.run.places import state_dir
from tracelens_tui.triage.request import ClaudeOptions, TriageRequest


def start_detached(request: TriageRequest) -> int:
    """Start the triage in its own session, detached from this terminal, and return its process id.

    What it prints goes to ``log_of`` its run, or nowhere if the state folder cannot be written.
    """
    with _log(request) as output:
        process = subprocess.Popen(  # noqa: S603 — our own program, no shell
            command(request),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            close_fds=True,
        )
    # reaped when it ends, so that a dead triage never looks alive as a zombie of the app
    threading.Thread(target=process.wait, name=f"reap-{process.pid}", daemon=True).start()
    return process.pid


def command(request: TriageRequest) -> list[str]:
    """Return the command line of the triage."""
    options: dict[str, str | Path | int | float | None] = {
        "--run-dir": request.run_dir,
        "--platform": request.platform,
        "--arch": request.arch,
        "--device": request.device,
        **_claude_options(request.claude if request.analyst == "claude" else None),
    }
    flags = {"--resume": request.resume, "--no-cache": not request.use_cache}
    return [
        sys.executable,
        "-m",
        "tracelens_tui",
        "triage",
        *(f"{name}={value}" for name, value in options.items() if value is not None),
        *([] if request.scope is None else [f"--{request.scope.text}"]),
        *(f"--extension={path}" for path in request.extensions),
        *(f"--tier-model={tier}={model}" for tier, model in _tier_models(request)),
        *(name for name, given in flags.items() if given),
        "--",
        str(request.trace),
    ]


def _claude_options(options: ClaudeOptions | None) -> dict[str, str | Path | int | float | None]:
    """The options of the analyst; credentials go with the environment."""
    if options is None:
        return {}
    return {
        "--analyst": "claude",
        "--model": options.model,
        "--max-cost": options.max_usd,
        "--max-tokens": options.max_tokens,
        "--agent-timeout": options.agent_timeout_s,
        "--concurrency": options.concurrency,
    }


def _tier_models(request: TriageRequest) -> list[tuple[str, str]]:
    return list(request.claude.tier_models.items()) if request.claude and request.analyst == "claude" else []


def log_of(request: TriageRequest) -> Path:
    """Return where a detached triage's output goes."""
    name = request.run_dir.name if request.run_dir is not None else request.trace.name
    return state_dir() / "logs" / f"{name}.log"


@contextmanager
def _log(request: TriageRequest) -> Iterator[IO[bytes]]:
    path = log_of(request)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError:
        path = Path(os.devnull)
    with path.open("wb") as file:
        yield file
