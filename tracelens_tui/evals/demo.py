"""The trace that ``tracelens-tui demo`` opens: generated once, then kept."""

from pathlib import Path

from tracelens_tui.errors import UserError
from tracelens_tui.evals.llama_step import write_llama_step
from tracelens_tui.run.places import state_dir

_VERSION = 1
"""Raise it when the generator writes other bytes: an older file is then left alone and a new one written."""


def demo_trace(directory: Path | None = None) -> Path:
    """Return the demo trace in ``directory`` (default: a folder of this program's state), written first where missing.

    The file appears whole or not at all, so two processes may ask at the same time.  UserError where the folder cannot
    be written.
    """
    folder = state_dir() / "demo" if directory is None else directory
    path = folder / f"llama_step_v{_VERSION}.json.gz"
    if not path.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_llama_step(path)
        except OSError as error:
            raise UserError(
                f"{folder}: the demo trace cannot be written there ({error.strerror}); free or allow it."
            ) from error
    return path
