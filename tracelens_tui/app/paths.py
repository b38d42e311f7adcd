"""What a path is, found out without reading it."""

from pathlib import Path

_RUN_FILES = ("run.json", "events.jsonl", "run.lock")


def holds_run(path: Path) -> bool:
    """Say whether the path is a run directory, young ones included."""
    return any((path / name).exists() for name in _RUN_FILES)
