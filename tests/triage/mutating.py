"""One small change in one file of a run: a number, a name, a rank, a marker or a link."""

import random
import re
from dataclasses import dataclass
from pathlib import Path

from tracelens_tui.run.store import RunDir

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
NAME = re.compile(r"[A-Za-z_]{4,}")
RANK = re.compile(r'(?<=rank=)\d+|(?<=rank": )\d+|(?<=🔴 P)\d+|(?<=🟡 P)\d+|(?<=🟢 P)\d+')
MARKER = re.compile(r"<!-- [^>]*-->")
LINK = re.compile(r'\]\(#[^)]+\)|<a id="[^"]+">')
KINDS = (NUMBER, NUMBER, NAME, RANK, MARKER, LINK)


@dataclass(frozen=True)
class Change:
    """A changed text and what was changed in it."""

    text: str
    what: str


def checked_files(run: RunDir) -> list[str]:
    """The files whose every value has to follow from others."""
    ends = ("_findings.json", "_findings.md", "_metrics.json")
    whole = ("analysis.md", "analysis.json", "priority_data.json")
    return sorted(name for name in run.info.files if name in whole or name.endswith(ends))


def every_file(run: RunDir) -> list[str]:
    """Every finished file but pictures."""
    return sorted(name for name in run.info.files if not name.endswith(".png"))


def change_of(text: str, rng: random.Random) -> Change | None:
    """One change at random; None where the text has nothing of the chosen kind."""
    pattern = rng.choice(KINDS)
    places = list(pattern.finditer(text))
    if not places:
        return None
    place = rng.choice(places)
    new = _number(place[0], rng) if pattern in (NUMBER, RANK) else _letter(place[0], pattern, rng)
    changed = text[: place.start()] + new + text[place.end() :]
    line = text[: place.start()].count("\n") + 1
    return None if new == place[0] else Change(changed, f"line {line}: {place[0]!r} to {new!r}")


def _number(old: str, rng: random.Random) -> str:
    if re.fullmatch(r"-?\d+", old):
        return str(int(old) + rng.choice([1, 7, -1]))
    digits = len(old.partition(".")[2]) if "e" not in old.lower() else 17
    return f"{float(old) * 1.02 + 0.11:.{digits}f}"


def _letter(old: str, pattern: re.Pattern[str], rng: random.Random) -> str:
    first, last = (0, len(old)) if pattern is NAME else (5, len(old) - 3)
    at = rng.randrange(first, last)
    return old[:at] + ("x" if old[at] != "x" else "y") + old[at + 1 :]


def write(path: Path, text: str) -> None:
    """Write the text as it is, whatever the line ends."""
    path.write_bytes(text.encode())
