"""What the top line says: the trace at the left, the run at the right."""

from datetime import datetime
from pathlib import Path

from tracelens_tui.app.cells import Cell, clock, width_of
from tracelens_tui.app.view import TraceView
from tracelens_tui.run.state import RunState
from tracelens_tui.text import duration, plain

RUN_WIDTH = 28
"""Cells of the run's state: a widget of its own, since the clock makes it change every second."""
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
    """Return the trace's name, the part of it, the GPU, whether the data can be trusted, and the window."""
    name = trace.name if trace is not None else Path(run.trace).name if run is not None and run.trace else "no trace"
    cells: list[Cell] = [(f" {plain(name, 32)}", "bold")]
    if view is None:
        platform = run.platform if run is not None else None
        return [*cells, (f"  {plain(platform)}", "")] if platform else cells
    analysis = view.analysis
    if analysis.part is not None:
        cells.append((f"  only {plain(analysis.part.title, 40)}", "bold"))
    cells.append((f"  {analysis.platform.name if analysis.platform is not None else 'unknown GPU'}", ""))
    if analysis.trace.quality.gated:
        cells.append(("  ! see 4", "bold"))
    if analysis.split is not None:
        cells.append((f"  window {duration(analysis.split.window)}", ""))
    return cells


def run_cells(run: RunState | None, now: datetime) -> list[Cell]:
    """Return the state of the run in ``RUN_WIDTH`` cells: a word, the agents that ended, the elapsed time."""
    if run is None:
        return _right([("no run", "dim")])
    word = _WORDS[run.status]
    if run.status == "stale" and run.heartbeat_age is not None:
        word = f"{word} {clock(run.heartbeat_age)}"
    seconds = run.seconds
    if seconds is None and run.started is not None and run.live:
        seconds = (now - run.started).total_seconds()
    elapsed = "" if seconds is None else f" {clock(seconds)}"
    return _right([(word, "bold"), (_doing(run), ""), (elapsed, "")])


def _doing(run: RunState) -> str:
    """What a live run does: its agents, or another stage."""
    if not run.live:
        return ""
    planned = [agent for agent in run.agents if agent.status != "skipped"]
    ended = [agent for agent in planned if agent.status not in {"planned", "running"}]
    stage = next((stage.name for stage in reversed(run.stages) if stage.seconds is None), "")
    if planned and stage in {"", "agents"}:
        return f" {len(ended)}/{len(planned)} agents"
    return f" {plain(stage, 12)}" if stage else ""


def _right(cells: list[Cell]) -> list[Cell]:
    """The cells at the right end of the widget, one blank from its edge."""
    used = sum(width_of(text) for text, _ in cells)
    return [(" " * (RUN_WIDTH - used - 1), ""), *cells, (" ", "")]
