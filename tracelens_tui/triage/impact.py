"""The impact scale: what a finding could win, in % of the device's window."""

from tracelens_tui.run.findings import Impact

LOW_OVER_HIGH = 0.75
MID_OVER_HIGH = 0.875
MIN_MID = 0.5
"""A card needs at least this mid impact."""

UNKNOWN = Impact(low=None, mid=None, high=None)


def impact_of(high: float, *, low: float | None = None) -> Impact:
    """Return the impact whose high end is ``high`` % of the window; ``low`` replaces the usual three quarters."""
    return Impact(low=LOW_OVER_HIGH * high if low is None else low, mid=MID_OVER_HIGH * high, high=high)


def gap_percent(exposed_ms: float, efficiency: float | None, window_ms: float) -> float | None:
    """Return exposed time x (1 - efficiency) in % of the window.

    None where it cannot be said: no roofline, or an efficiency above 1, which is a defect of the model or the data.
    """
    if efficiency is None or efficiency > 1 or window_ms <= 0:
        return None
    return 100 * exposed_ms * (1 - efficiency) / window_ms
