"""Whether the steps of a trace are alike, and which to look at where they are not."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.text import duration
from tracelens_tui.trace.step_work import step_work

Int64 = NDArray[np.int64]

CLEARLY = 1.5
"""A step that lasts this many times as long as another did other work."""

_COMPARABLE = 2
"""So many steps must remain before those in front of them are called a warm-up."""


def steps_note(analysis: Analysis) -> str:
    """Return one sentence on a warm-up or unequal steps that names the option to leave them out.

    "" where the steps are alike, where there are fewer than two with GPU work, and where a part was chosen.
    """
    if analysis.part is not None:
        return ""
    number, length = _lengths(analysis)
    if len(number) < 2:
        return ""
    warm = _warm_up(length)
    rest = length[warm:]
    if warm:
        first = f"ProfilerStep#{number[0]}" if warm == 1 else f"ProfilerStep#{number[0]} to #{number[warm - 1]}"
        verb = "lasts" if warm == 1 else "last up to"
        return (
            f"{first} {verb} {duration(int(length[:warm].max()))} and the steps after it "
            f"{duration(float(np.median(rest)))} in the median: look at those alone with "
            f"--steps {number[warm]}-{number[-1]}."
        )
    if rest.max() < CLEARLY * rest.min():
        return ""
    short, long = number[int(rest.argmin())], number[int(rest.argmax())]
    return (
        f"The {len(number)} steps with GPU work last from {duration(int(rest.min()))} (ProfilerStep#{short}) to "
        f"{duration(int(rest.max()))} (#{long}): look at one of them alone with --step {long}."
    )


def _lengths(analysis: Analysis) -> tuple[Int64, Int64]:
    """Number and duration in ns of the steps with GPU work, by number; of several processes the longest duration."""
    found = step_work(analysis.trace, analysis.tree).working
    lengths = found.group_by("number").agg(length=(pl.col("end_ns") - pl.col("start_ns")).max()).sort("number")
    return lengths["number"].to_numpy(), lengths["length"].to_numpy()


def _warm_up(length: Int64) -> int:
    """How many steps at the beginning are clearly longer than the median of those after them."""
    warm = 0
    while len(length) - warm > _COMPARABLE and length[warm] >= CLEARLY * np.median(length[warm + 1 :]):
        warm += 1
    return warm
