"""Traits: named conditions on an operation that a rule can ask for, each with the facts it can state.

A trait returns its facts where it holds and None where it does not or cannot be known.  Facts are numbers or names
that a rule's text refers to.
"""

from collections.abc import Mapping

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits import (
    attention,
    calls,
    convolution,
    elementwise,
    experts,
    gemm,
    neighbours,
    rows,
    triton,
)
from tracelens_tui.triage.traits.shapes import first_shape, shapes_in
from tracelens_tui.triage.traits.types import Facts, Trait

__all__ = ["TRAITS", "Facts", "Trait", "first_shape", "shapes_in", "traits_of"]

TRAITS: Mapping[str, Trait] = {
    **gemm.TRAITS,
    **attention.TRAITS,
    **elementwise.TRAITS,
    **rows.TRAITS,
    **convolution.TRAITS,
    **experts.TRAITS,
    **triton.TRAITS,
    **neighbours.TRAITS,
    **calls.TRAITS,
}


def traits_of(op: OpFacts, run: RunContext) -> dict[str, Facts]:
    """Return every trait that the operation has, with its facts."""
    found = ((name, trait.test(op, run)) for name, trait in TRAITS.items())
    return {name: facts for name, facts in found if facts is not None}
