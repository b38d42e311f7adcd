"""Traits of the kernels that torch.compile generates: their names say kind and fused ops."""

import re

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.types import Facts, Trait

FITS = 8_192

_MOVES = re.compile(r"transpose|permute|clone|\bcat\b|gather|index")


def _moving(op: OpFacts, _run: RunContext) -> Facts | None:
    """Among the fused ops is one that changes the layout or gathers."""
    fused = op.params.get("fused_ops")
    found = _MOVES.search(fused) if isinstance(fused, str) else None
    return None if found is None else {"mover": found[0]}


def _few_programs(op: OpFacts, run: RunContext) -> Facts | None:
    """A reduction to fewer results than the device has compute units."""
    results, length = op.param("xnumel"), op.param("rnumel")
    if results is None or length is None or length <= 1 or not run.sm_count or results >= run.sm_count:
        return None
    return {"results": int(results), "length": int(length), "sms": run.sm_count}


def _fitting_loop(op: OpFacts, _run: RunContext) -> Facts | None:
    """A looped reduction whose row would fit into one pass."""
    length = op.param("rnumel")
    if not op.name.startswith("triton_red") or length is None or not 1 < length <= FITS:
        return None
    return {"length": int(length)}


TRAITS = {
    "moving": Trait(_moving, ("mover",)),
    "few_programs": Trait(_few_programs, ("results", "length", "sms")),
    "fitting_loop": Trait(_fitting_loop, ("length",)),
}
