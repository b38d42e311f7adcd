"""Traits of how the calls of one operation differ; without recorded shapes they may differ in their arguments."""

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.types import Facts, Trait

SLOWER = 1.3


def _varying(op: OpFacts, _run: RunContext) -> Facts | None:
    """The times of the calls differ by more than their mean (standard deviation over mean above 1)."""
    return None if op.spread is None or not op.dims else {"spread": op.spread}


def _several_kernels(op: OpFacts, _run: RunContext) -> Facts | None:
    """Each call runs one of several kernels, the slowest of which takes 1.3 times as long as the fastest or more."""
    parts = [kernel for kernel in op.kernels if 0 < kernel.count < op.view.count]
    if not op.dims or len(parts) < 2 or sum(kernel.count for kernel in parts) != op.view.count:
        return None
    means = sorted(kernel.time_ms / kernel.count for kernel in parts)
    if not means[0] or means[-1] / means[0] < SLOWER:
        return None
    return {"variants": len(parts), "slower": means[-1] / means[0]}


TRAITS = {
    "varying": Trait(_varying, ("spread",)),
    "several_kernels": Trait(_several_kernels, ("variants", "slower")),
}
