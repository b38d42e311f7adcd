"""What the user chose on the command line, for the whole life of the app."""

from dataclasses import dataclass
from pathlib import Path

from tracelens_tui.trace.scope import Scope

DEFAULT_THEME = "ansi-dark"
"""The terminal's own palette: half the bytes of a theme with its own colours, and it fits any terminal."""


@dataclass(frozen=True, slots=True)
class AppOptions:
    """Options of the app; the first six go on to whatever reads the trace."""

    platform: str | None = None
    arch: Path | None = None
    device: int | None = None
    scope: Scope | None = None  # None: the whole trace
    extensions: tuple[Path, ...] = ()  # Python files with models, categories and platforms
    use_cache: bool = True
    run_dir: Path | None = None  # where the triage of a trace is kept; None = the default place
    mouse: bool = True
    ascii: bool = False
    theme: str | None = None  # None = DEFAULT_THEME
