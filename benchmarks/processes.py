"""Run a command and measure it with everything that it starts: wall and CPU seconds, peak memory of all together."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_EVERY = 0.01  # seconds between looks at the memory


@dataclass(frozen=True, slots=True)
class Measured:
    """What a command took."""

    wall: float  # seconds
    cpu: float  # seconds of the command and of what it started and waited for
    peak: int  # bytes resident in all processes together, shared pages counted once
    output: dict[str, Any]  # the JSON object that it printed, empty if it printed none


def python(*arguments: str, cache: Path | None = None) -> Measured:
    """Run this interpreter with those arguments; the trace cache lies in ``cache``."""
    environment = {**os.environ, **({"TRACELENS_TUI_CACHE": str(cache)} if cache else {})}
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, env=environment)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak))
    watcher.start()
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    if process.returncode:
        raise SystemExit(f"python {' '.join(arguments)} ended with {process.returncode}")
    output = json.loads(text) if text.startswith(b"{") else {}
    return Measured(wall, usage.ru_utime + usage.ru_stime, peak[0], output)


def _watch(pid: int, peak: list[int]) -> None:
    while (memory := sum(_resident(each) for each in _family(pid))) > 0:
        peak[0] = max(peak[0], memory)
        time.sleep(_EVERY)


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _resident(pid: int) -> int:
    """Proportional resident bytes of a process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
