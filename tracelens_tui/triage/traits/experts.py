"""Traits of mixtures of experts: the model's tokens M, experts E and topk."""

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.types import Facts, Trait

FEW_ROWS = 64
MANY_TOKENS = 2_048


def _few_rows(op: OpFacts, _run: RunContext) -> Facts | None:
    """An expert that is hit gets fewer than 64 rows on average, if all are hit."""
    tokens, experts, topk = op.param("M"), op.param("E"), op.param("topk")
    if not tokens or not experts or not topk:
        return None
    rows = tokens * topk / experts
    return {"tokens": int(tokens), "experts": int(experts), "topk": int(topk)} if rows < FEW_ROWS else None


def _many_tokens(op: OpFacts, _run: RunContext) -> Facts | None:
    """At least 2,048 tokens."""
    tokens = op.param("M")
    return {"tokens": int(tokens)} if tokens is not None and tokens >= MANY_TOKENS else None


TRAITS = {
    "few_rows_per_expert": Trait(_few_rows, ("tokens", "experts", "topk")),
    "many_tokens": Trait(_many_tokens, ("tokens",)),
}
