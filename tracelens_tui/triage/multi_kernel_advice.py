"""Advice on copies and collectives: the rules in ``skills/multi-kernel/rules.json`` and what selects them."""

from functools import cache
from typing import Literal

from pydantic import Field, field_validator

from tracelens_tui.triage.advice import Data, Range, RuleBook, RuleText, checked_pattern, checked_rules

TRANSFER_FACTS = (
    "time",
    "exposed",
    "share",
    "count",
    "mean",
    "longest",
    "hidden",
    "size",
    "rate",
    "bus",
    "kind",
    "group",
    "ranks",
    "waiter",
    "same_stream",
)
"""Facts of the transfers of one group; see ``multi_kernel_pack``."""


class TransferWhen(Data):
    """The condition of a rule on the transfers of one group: every field that is given must hold."""

    vendor: Literal["AMD", "NVIDIA"] | None = None
    kind: Literal["copy", "collective"] | None = None
    direction: list[str] = Field(default_factory=list)
    memory: Literal["pageable", "pinned"] | None = None
    collective: str | None = None  # searched in the kind, without underscores, lower case
    training: bool | None = None
    size_mib: Range | None = None  # median message
    count: Range | None = None
    per_step: Range | None = None  # count over the number of steps, 1 where none was recorded
    rate_gbps: Range | None = None
    hidden: Range | None = None  # % of the time
    same_stream: Range | None = None  # % of the time on a stream that also computes

    @field_validator("collective")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        return checked_pattern(pattern)


class TransferRule(RuleText):
    """Advice on the transfers of one group."""

    when: TransferWhen

    def provided(self) -> set[str]:
        """Return the names that the texts may refer to."""
        return {*TRANSFER_FACTS, *self.constants}


@cache
def transfer_rules() -> tuple[TransferRule, ...]:
    """Return the checked rules of the multi-kernel sub-agent, in order; raises ValueError where the file is wrong."""
    return checked_rules("multi-kernel", RuleBook[TransferRule])
