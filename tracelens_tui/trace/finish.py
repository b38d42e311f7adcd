"""From the trace as it was read to the trace that everything else works with."""

from dataclasses import replace

from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.quality import finished_quality
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace


def finished(raw: Trace) -> tuple[Trace, EventTree]:
    """Return the repaired trace with its complete quality record, and its tree."""
    trace = repaired(raw)
    tree = build_tree(trace)
    return replace(trace, quality=finished_quality(trace, tree)), tree
