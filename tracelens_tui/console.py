"""One line to standard output or standard error."""

import sys


def out(line: str) -> None:
    """Print one line to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def err(line: str) -> None:
    """Print one line to standard error."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
