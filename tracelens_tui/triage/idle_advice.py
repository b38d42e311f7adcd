"""Advice on idle time: the rules in ``skills/cpu-idle/rules.json`` and the conditions that select them."""

from functools import cache
from typing import Literal

from pydantic import Field, field_validator

from tracelens_tui.analysis.gap_causes import CAUSES
from tracelens_tui.triage.advice import Data, Range, RuleBook, RuleText, checked_pattern, checked_rules

IDLE_FACTS = (
    "idle",
    "share",
    "gaps",
    "mean",
    "longest",
    "function",
    "function_share",
    "call",
    "busy",
    "launches",
    "interval",
    "delay",
    "kernel_time",
)
"""Facts of the idle time of one cause; see ``idle_pack``."""


class IdleWhen(Data):
    """The condition of a rule on the idle time of one cause: every field that is given must hold."""

    vendor: Literal["AMD", "NVIDIA"] | None = None
    cause: list[str] = Field(default_factory=list)
    function: str | None = None  # searched in the function responsible for most of the time
    call: str | None = None  # searched in the host event that takes most of it
    busy: Range | None = None  # % of the window
    kernel_time_us: Range | None = None  # median kernel
    host_recorded: bool | None = None

    @field_validator("cause")
    @classmethod
    def _known(cls, causes: list[str]) -> list[str]:
        unknown = set(causes) - set(CAUSES)
        if unknown:
            raise ValueError(f"unknown causes: {sorted(unknown)}")
        return causes

    @field_validator("function", "call")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        return checked_pattern(pattern)


class IdleRule(RuleText):
    """Advice on idle time of one cause."""

    when: IdleWhen

    def provided(self) -> set[str]:
        """Return the names that the texts may refer to."""
        return {*IDLE_FACTS, *self.constants}


@cache
def idle_rules() -> tuple[IdleRule, ...]:
    """Return the checked rules of the idle analysis, in order; raises ValueError where the file is wrong."""
    return checked_rules("cpu-idle", RuleBook[IdleRule])
