"""What the top line says: the trace at the left, the run at the right."""

from datetime import datetime
from pathlib import Path

from tracelens_tui.app.cells import Cell, clock
from tracelens_tui.app.view import TraceView
from tracelens_tui.run.state import RunState
from tracelens_tui.text import duration, plain

_WORDS = {
    "starting": "starting",
    "running": "LIVE",
    "stale": "STALE",
    "crashed": "CRASHED",
    "finished": "done",
    "failed": "FAILED",
    "cancelled": "cancelled",
}


def trace_cells(trace: Path | None, run: RunState | None, view: TraceView | None) -> list[Cell]:
    """Return the trace's name, the GPU, the window and whether the data can be trusted."""
    name = trace.name if trace is not None else Path(run.trace).name if run is not None and run.trace else "no trace"
    cells: list[Cell] = [(f" {plain(name)}", "bold")]
    if view is None:
        platform = run.platform if run is not None else None
        return [*cells, (f"  {plain(platform)}", "")] if platform else cells
    analysis = view.analysis
    cells.append((f"  {analysis.platform.name if analysis.platform is not None else 'unknown GPU'}", ""))
    if analysis.split is not None:
        cells.append((f"  window {duration(analysis.split.window)}", ""))
    if analysis.trace.quality.gated:
        cells.append(("  ! data: see 4", "bold"))
    return cells


def run_cells(run: RunState | None, now: datetime) -> list[Cell]:
    """Return the state of the run: a word, agents that ended, elapsed time."""
    if run is None:
        return [("  no run ", "dim")]
    word = _WORDS[run.status]
    if run.status == "stale" and run.heartbeat_age is not None:
        word = f"{word} {clock(run.heartbeat_age)}"
    cells: list[Cell] = [("  ", ""), (word, "bold")]
    if run.live:
        planned = [agent for agent in run.agents if agent.status != "skipped"]
        ended = [agent for agent in planned if agent.status not in {"planned", "running"}]
        stage = next((stage.name for stage in reversed(run.stages) if stage.seconds is None), "")
        if planned and stage in {"", "agents"}:
            cells.append((f" {len(ended)}/{len(planned)} agents", ""))
        elif stage:
            cells.append((f" {plain(stage)}", ""))
    seconds = run.seconds
    if seconds is None and run.started is not None and run.live:
        seconds = (now - run.started).total_seconds()
    return [*cells, (" " if seconds is None else f" {clock(seconds)} ", "")]
