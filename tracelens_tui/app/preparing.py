"""The child process that reads a trace: its progress as values, its faults as UserError, killed when it is left."""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tracelens_tui.app.options import AppOptions
from tracelens_tui.errors import UserError

GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class Step:
    """How far the child is; ``total`` 0 = unknown; ``ready`` once the analysis lies in the folder."""

    stage: str
    done: int = 0
    total: int = 0
    ready: bool = False


async def prepare(trace: Path, options: AppOptions, folder: Path) -> AsyncIterator[Step]:
    """Read and analyse the trace in a child process that writes to ``folder``; the last step is ready.

    UserError with the child's own sentence where the trace cannot be used.  Closing the iterator, or cancelling the
    task that waits for it, ends the child.
    """
    with tempfile.TemporaryFile() as errors:  # a pipe that nobody empties would stop a child that warns a lot
        child = await asyncio.create_subprocess_exec(
            *_command(trace, options, folder),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        try:
            assert child.stdout is not None
            ready = False
            async for line in child.stdout:
                step = _step(line)
                if step is not None:
                    ready = ready or step.ready
                    yield step
            if not ready:
                await child.wait()
                raise UserError(f"{trace}: reading it ended early ({_last_words(errors)})")
        finally:
            await _end(child)


def _last_words(errors: IO[bytes]) -> str:
    """The last line that the child wrote to its standard error."""
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "the process was killed"


def _command(trace: Path, options: AppOptions, folder: Path) -> list[str]:
    """The child's command line."""
    command = [sys.executable, "-m", "tracelens_tui.analysis.prepare", str(trace), "--out", str(folder)]
    if options.platform is not None:
        command += ["--platform", options.platform]
    if options.arch is not None:
        command += ["--arch", str(options.arch)]
    if options.device is not None:
        command += ["--device", str(options.device)]
    if options.scope is not None:
        command.append(f"--scope={options.scope.text}")
    command += [f"--extension={path}" for path in options.extensions]
    return command if options.use_cache else [*command, "--no-cache"]


def _step(line: bytes) -> Step | None:
    """One line of the child; UserError where it tells of a fault, None where it is no message."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    if "error" in message:
        raise UserError(str(message["error"]))
    if "ready" in message:
        return Step("ready", ready=True)
    return Step(str(message.get("stage", "")), int(message.get("done", 0)), int(message.get("total", 0)))


async def _end(child: asyncio.subprocess.Process) -> None:
    """End the child: kindly, then for sure."""
    if child.returncode is not None:
        return
    child.terminate()
    try:
        await asyncio.wait_for(child.wait(), GRACE_S)
    except (TimeoutError, asyncio.TimeoutError):
        child.kill()
        await child.wait()
