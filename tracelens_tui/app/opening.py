"""From a path to an opened trace."""

from collections.abc import Callable
from pathlib import Path

from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.preparing import Step
from tracelens_tui.app.services import Services
from tracelens_tui.app.view import TraceView, trace_view


def mapped(services: Services, trace: Path, place: Path) -> TraceView:
    """Return the view of a prepared trace; UserError where it holds nothing to show.  Blocks."""
    analysis = services.analysis(place)
    analysis.gpu_split(trace)
    return trace_view(analysis)


async def trace_of_run(
    services: Services, options: AppOptions, run_dir: Path, folder: Path, tell: Callable[[Step], object]
) -> tuple[Path, TraceView]:
    """Return the trace of a run and its view; UserError where it is not here or cannot be used.

    ``options`` are those of the run.
    """
    trace = await in_thread(lambda: services.trace_of(run_dir))
    place = folder / "analysis"
    async for step in services.prepare(trace, options, place):
        tell(step)
    return trace, await in_thread(lambda: mapped(services, trace, place))
