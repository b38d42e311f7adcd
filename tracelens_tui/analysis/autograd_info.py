"""What ``info`` tells about forward and backward ops and about recomputation."""

from typing import Any

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.units import us_number
from tracelens_tui.text import duration
from tracelens_tui.trace.autograd import autograd_links
from tracelens_tui.trace.recompute import recomputed


def autograd_info(analysis: Analysis) -> dict[str, Any]:
    """Return ``forward_backward_pairs`` and, where GPU work is recomputed, ``recomputed``.

    The latter has the sum of the durations of the GPU events of activation checkpointing's recomputation, ``gpu_us``,
    and the share of it that only the ops tell of, no Python frame: ``inferred_us``.
    """
    trace, tree = analysis.trace, analysis.tree
    info: dict[str, Any] = {"forward_backward_pairs": autograd_links(trace, tree).pairs}
    again = recomputed(trace, tree)
    if again.gpu_ns:
        info["recomputed"] = {"gpu_us": us_number(again.gpu_ns), "inferred_us": us_number(again.inferred_ns)}
    return info


def autograd_lines(info: dict[str, Any]) -> list[str]:
    """Return the same for people; nothing where no forward op has a backward op and nothing is recomputed."""
    told: list[str] = []
    if pairs := info["forward_backward_pairs"]:
        told.append(f"{pairs:,} forward {'op has its' if pairs == 1 else 'ops have their'} backward op")
    if again := info.get("recomputed"):
        sure = "" if not again["inferred_us"] else f", {duration(again['inferred_us'] * 1e3)} of it told from ops alone"
        told.append(f"{duration(again['gpu_us'] * 1e3)} of GPU time is recomputed by activation checkpointing{sure}")
    return [f"Autograd  {'; '.join(told)}"] if told else []
