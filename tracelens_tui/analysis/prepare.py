"""The app's child process: read a trace, analyse it, store the result, and tell how far it is.

``python -m tracelens_tui.analysis.prepare TRACE --out DIR`` prints one JSON object per line on standard output:
``{"stage", "done", "total"}`` while it works, at last ``{"ready": DIR}``, or ``{"error": "one sentence"}`` with exit
code 2.  It can be killed at any moment: a SIGTERM leaves nothing half-written.
"""

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tracelens_tui.errors import UserError

_INTERVAL_S = 0.05
_SIGTERM_EXIT = 128 + signal.SIGTERM


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare one trace; return the exit code."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, _stop)
    try:
        _prepare(options)
    except UserError as error:
        _say({"error": str(error)})
        return 2
    except BrokenPipeError:  # whoever started this process is gone
        sys.stderr.close()
        return 1
    return 0


def _prepare(options: argparse.Namespace) -> None:
    # imported late: the first progress line comes before the heavy imports
    reporter = _Reporter()
    reporter("start", 0, 0)
    from tracelens_tui.analysis.source import open_analysis_of
    from tracelens_tui.analysis.store import save_analysis
    from tracelens_tui.trace.scope import Scope

    analysis = open_analysis_of(
        options.trace,
        platform=options.platform,
        arch=options.arch,
        device=options.device,
        extensions=options.extension,
        scope=None if options.scope is None else Scope.of_text(options.scope),
        use_cache=not options.no_cache,
        progress=reporter,
    )
    reporter("store", 0, 1)
    save_analysis(options.out, analysis)
    _say({"ready": str(options.out)})


class _Reporter:
    """Prints progress, at most one line per interval; callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        with self._lock:
            now = time.monotonic()
            if now >= self._next:
                self._next = now + _INTERVAL_S
                _say({"stage": stage, "done": done, "total": total})


def _say(message: dict[str, str | int]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    """Unwind the stack, so that temporary files go."""
    sys.exit(_SIGTERM_EXIT)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tracelens_tui.analysis.prepare", description="Analyse a trace.")
    parser.add_argument("trace", type=Path, metavar="TRACE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--platform", metavar="NAME")
    parser.add_argument("--arch", type=Path, metavar="FILE")
    parser.add_argument("--device", type=int, metavar="N")
    parser.add_argument("--scope", metavar="TEXT", help="the part to analyse, such as steps=2-5")
    parser.add_argument("--extension", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--no-cache", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
