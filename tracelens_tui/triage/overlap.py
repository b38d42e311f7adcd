"""What several tiers would claim: who gets it, and how much is left for the last of them.

Each µs belongs to one finding.  Of an op's exposed time t with efficiency e, the compute tier speaks of (1 - e) t: what
is lost against the roof.  Fusion takes traffic away, so of the part f that it removes it may claim only what is left:
f e t.  And because all mids together stay below 100 x (1 - R / window), it may claim no more than the others leave.
"""

import polars as pl

from tracelens_tui.analysis.model import TimeSplit
from tracelens_tui.triage.impact import MID_OVER_HIGH

_EXPOSED = pl.coalesce("exposed_ns", pl.col("kernel_ns_sum").cast(pl.Float64))
_SUREST = pl.coalesce("efficiency_low", "efficiency").clip(0, 1)


def fusion_share(ops: pl.DataFrame) -> pl.DataFrame:
    """Return ``row`` and ``share``: the part of a kernel's time that fusion may claim where it removes all of it."""
    exposed = pl.when(pl.col("kernel_ns_sum") > 0).then(_EXPOSED / pl.col("kernel_ns_sum")).otherwise(0.0).clip(0, 1)
    return ops.select("row", share=exposed * _SUREST.fill_null(1.0))


def fusion_room(ops: pl.DataFrame, split: TimeSplit) -> float:
    """Return the most that the mids of fusion may claim together, in % of the window.

    The bound on all mids, less the most that the compute and system tiers can claim.
    """
    if split.window <= 0:
        return 0.0
    modelled = ops.filter(_SUREST.is_not_null())
    needed = float(modelled.select((_SUREST * _EXPOSED).sum()).item() or 0.0)
    lost = float(modelled.select(((1 - _SUREST) * _EXPOSED).sum()).item() or 0.0)
    system = split.idle + split.exposed_comm + split.exposed_memcpy
    left = split.window - needed - MID_OVER_HIGH * (lost + system)
    return max(0.0, 100 * left / split.window)
