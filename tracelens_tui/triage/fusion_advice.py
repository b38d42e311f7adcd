"""Advice on kernel fusion: the rules in ``skills/kernel-fusion/rules.json`` and what selects them."""

from functools import cache
from typing import Literal

from pydantic import field_validator

from tracelens_tui.triage.advice import Data, Range, RuleBook, RuleText, checked_pattern, checked_rules

FUSION_FACTS = ("time", "share", "count", "kernels", "ops", "module", "matrix", "removed", "part", "claimed", "mean")
"""Facts of the chains of one candidate; see ``fusion_pack``."""


class FusionWhen(Data):
    """The condition of a rule on the chains of one candidate: every field that is given must hold."""

    vendor: Literal["AMD", "NVIDIA"] | None = None
    ops: str | None = None  # searched in the ops in order, "aten::silu > aten::mul"
    module: str | None = None  # searched in the innermost module's class, lower case
    matrix: bool | None = None  # a matrix product begins the chain
    training: bool | None = None
    kernels: Range | None = None

    @field_validator("ops", "module")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        return checked_pattern(pattern)


class FusionRule(RuleText):
    """Advice on the chains of one candidate."""

    when: FusionWhen
    pattern: str  # the name of what was recognised

    def provided(self) -> set[str]:
        """Return the names that the texts may refer to."""
        return {*FUSION_FACTS, *self.constants}


@cache
def fusion_rules() -> tuple[FusionRule, ...]:
    """Return the checked rules of the kernel-fusion sub-agent, in order; raises ValueError where the file is wrong."""
    return checked_rules("kernel-fusion", RuleBook[FusionRule])
