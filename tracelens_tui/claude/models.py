"""Which model works on which tier."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import get_args

from tracelens_tui.claude.prices import ModelPrice
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import Tier
from tracelens_tui.triage.request import ClaudeOptions

TIERS: tuple[Tier, ...] = get_args(Tier)


def models_of(options: ClaudeOptions, prices: Mapping[str, ModelPrice]) -> dict[Tier, str]:
    """Return the model of each tier; UserError where the SDK is not installed or a tier is unknown."""
    if find_spec("anthropic") is None:
        raise UserError("--analyst claude needs the package anthropic: `pip install 'tracelens-tui[claude]'`")
    unknown = [tier for tier in options.tier_models if tier not in TIERS]
    if unknown:
        raise UserError(f"--tier-model: there is no tier {unknown[0]!r}; there are {', '.join(TIERS)}")
    own = options.tier_models
    usual = options.model or ("" if all(tier in own for tier in TIERS) else default_model(prices))
    return {tier: own.get(tier, usual) for tier in TIERS}


def default_model(prices: Mapping[str, ModelPrice]) -> str:
    """Return the best model that both the installed SDK and the price table know."""
    from anthropic.types.model import Model

    known = {name for one in get_args(Model) for name in get_args(one)}
    return next((name for name in prices if name in known), next(iter(prices)))
