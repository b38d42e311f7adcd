"""Where things that are not part of a run are kept: the XDG state folder of this program."""

import os
from pathlib import Path


def state_dir() -> Path:
    """Return the state folder of this program (``$XDG_STATE_HOME``, else ``~/.local/state``); it may not exist."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    return base / "tracelens-tui"
