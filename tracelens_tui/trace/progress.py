"""How long work tells the caller how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``; a total of 0 means that it is not known.  May be called from any thread."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Ignore the report: the default where nobody looks."""
