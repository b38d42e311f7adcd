"""The chart of the report: where the device's window went, as one bar.  Without matplotlib there is none."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tracelens_tui.run.manifest import UNKNOWN_MODEL
from tracelens_tui.text import plain

if TYPE_CHECKING:
    from tracelens_tui.report.inputs import Inputs

_PALETTE = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#9c755f")
_GREY = "#bab0ac"


def draw(inputs: Inputs) -> bytes | None:
    """Return the chart as PNG, None where matplotlib is not installed or there is nothing to draw."""
    bars = segments(inputs)
    if not bars:
        return None
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=(12, 3), dpi=150)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    left = 0.0
    for label, ms, colour in bars:
        axes.barh(0, ms, left=left, color=colour, label=label)
        left += ms
    axes.set_xlim(0, inputs.priority.baseline_ms)
    axes.set_yticks([])
    axes.set_xlabel("GPU time (ms)")
    axes.set_title(_math_free(_title(inputs)))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), ncols=4, frameon=False, fontsize=8)
    figure.tight_layout()
    out = io.BytesIO()
    canvas.print_png(out, metadata={"Software": None})  # the same files, the same bytes
    return out.getvalue()


def segments(inputs: Inputs) -> list[tuple[str, float, str]]:
    """Return the bar's parts as label, ms and colour: categories by time, then what is left of the window.

    Kernels of several streams can overlap; then the categories are scaled to the device's compute time.
    """
    baseline = inputs.priority.baseline_ms
    if not baseline:
        return []
    rows = [
        (category.display_name, category.gpu_kernel_time_ms)
        for category in inputs.manifest.categories
        if category.tier == "compute_kernel" and category.gpu_kernel_time_ms
    ]
    rows.sort(key=lambda row: (-row[1], row[0]))
    compute = baseline * inputs.manifest.gpu_utilization.computation_time_percent / 100
    total = sum(ms for _, ms in rows)
    scale = compute / total if total > compute else 1.0
    bars = [
        (_math_free(f"{name} — {ms:,.1f} ms ({100 * ms / baseline:.1f}%)"), ms * scale, _PALETTE[i % len(_PALETTE)])
        for i, (name, ms) in enumerate(rows)
    ]
    rest = baseline - sum(ms for _, ms, _ in bars)
    if rest > 0:
        bars.append((f"Non-computing — {rest:,.1f} ms ({100 * rest / baseline:.1f}%)", rest, _GREY))
    return bars


def _title(inputs: Inputs) -> str:
    model = "Workload" if inputs.model.model == UNKNOWN_MODEL else inputs.model.model
    return f"{model} on {inputs.manifest.platform} — Performance Breakdown"


def _math_free(text: str) -> str:
    """Text in which matplotlib finds no formula and no hidden legend entry."""
    return plain(text, 80).replace("$", r"\$").lstrip("_")
