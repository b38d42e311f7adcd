"""What a trait is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracelens_tui.triage.facts import OpFacts, RunContext, Scalar

Facts = Mapping[str, Scalar]
Test = Callable[[OpFacts, RunContext], "Facts | None"]


@dataclass(frozen=True, slots=True)
class Trait:
    """A named condition and the names of the facts that it provides."""

    test: Test
    provides: tuple[str, ...] = ()
