"""GPU platforms: every known one, one by name, one from a file, and the one that a trace was taken on."""

import difflib
import re
from collections.abc import Sequence

from tracelens_tui.errors import UserError
from tracelens_tui.perf.detection import detect, with_own
from tracelens_tui.perf.platform_files import packaged_platforms, platform_from_file
from tracelens_tui.perf.platform_types import Peak, Platform
from tracelens_tui.text import plain

__all__ = ["Peak", "Platform", "all_platforms", "detect", "load_platform", "platform_from_file"]


def all_platforms() -> tuple[Platform, ...]:
    """Return every GPU that ships with the package, by vendor and name."""
    return packaged_platforms()


def load_platform(name: str, more: Sequence[Platform] = ()) -> Platform:
    """Return the platform of that name or alias, whatever the case, spaces and hyphens; ``more`` are an extension's.

    A UserError lists the known names and suggests the nearest; a name of several boards ("H100") lists those.
    """
    key = _folded(name)
    shown = plain(name, 60)
    platforms = with_own(all_platforms(), more)
    for platform in platforms:
        if key == _folded(platform.name):
            return platform
    aliased = [p for p in platforms if key in {_folded(alias) for alias in p.aliases}]
    if len(aliased) == 1:
        return aliased[0]
    boards = aliased or [p for p in platforms if key and p.name.lower().split("-")[0] == name.strip().lower()]
    if len(boards) == 1:
        return boards[0]
    if boards:
        raise UserError(f"platform '{shown}' is ambiguous; say which: {', '.join(p.name for p in boards)}")
    raise UserError(_unknown(shown, key, platforms))


def _unknown(shown: str, key: str, platforms: tuple[Platform, ...]) -> str:
    names = {_folded(p.name): p.name for p in platforms}
    near = difflib.get_close_matches(key, list(names), n=1, cutoff=0.6)
    hint = f" did you mean {names[near[0]]}?" if near else ""
    known = ", ".join(p.name for p in platforms)
    return f"platform '{shown}' is not known;{hint} known are {known}; any other GPU: --arch FILE"


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
