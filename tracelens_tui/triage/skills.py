"""The skills: one directory per sub-agent with ``SKILL.md``, its prompt, and ``rules.json``, its advice."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tracelens_tui import resources

_FRONT = re.compile(r"\A---\n(?P<head>.*?)\n---\n(?P<body>.*)\Z", re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[a-z]+):[ ]*(?P<value>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Skill:
    """A sub-agent's prompt."""

    name: str  # the directory's name: the agent id
    description: str
    body: str


@cache
def load_skill(agent: str) -> Skill:
    """Return the skill of a sub-agent; raises ValueError where its file is not as it must be."""
    return read_skill(resources.SKILLS / agent / "SKILL.md")


def all_skills() -> tuple[Skill, ...]:
    """Return every skill by name."""
    return tuple(load_skill(path.parent.name) for path in sorted(resources.SKILLS.glob("*/SKILL.md")))


def read_skill(path: Path) -> Skill:
    """Return the skill in a file: front matter with name and description, then the prompt."""
    found = _FRONT.match(path.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{path}: begins with no front matter between two lines of ---")
    fields = {match["name"]: match["value"].strip() for match in _FIELD.finditer(found["head"])}
    if set(fields) != {"name", "description"}:
        raise ValueError(f"{path}: the front matter has {sorted(fields)}, not name and description")
    if fields["name"] != path.parent.name:
        raise ValueError(f"{path}: its name is {fields['name']}, its directory's {path.parent.name}")
    return Skill(fields["name"], fields["description"], found["body"].strip())
