"""One line to standard output or standard error."""

import errno
import os
import sys

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}


def out(line: str) -> None:
    """Print one line to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def err(line: str) -> None:
    """Print one line to standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def write_any_text() -> None:
    """Let both outputs take every character: one that the terminal's encoding lacks becomes ``?``."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def output_failed(error: OSError) -> bool:
    """Return whether standard output cannot take more (a full disk); what is left in its buffer is then dropped."""
    if error.errno not in _FULL or error.filename is not None:
        return False
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
    return True
