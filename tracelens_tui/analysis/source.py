"""Trace path → Analysis: the one door for the command line, the triage and the app's child process."""

from collections.abc import Sequence
from pathlib import Path

from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.part import excerpt
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import open_trace
from tracelens_tui.perf.extensions import load_extensions
from tracelens_tui.perf.platforms import Platform, detect, load_platform, platform_from_file
from tracelens_tui.trace.progress import Progress
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.types import TraceMetadata

_MEND = "no rooflines; name the GPU with --platform NAME (tracelens-tui platforms lists them) or --arch FILE"


def open_analysis_of(
    path: Path,
    *,
    platform: str | None = None,
    arch: Path | None = None,
    device: int | None = None,
    scope: Scope | None = None,
    extensions: Sequence[Path] = (),
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Analysis:
    """Return the analysis of the trace in a file, or of a part of it.

    The platform is the one named, that of the architecture file, or the device that the trace names; an unknown
    device gives every table without rooflines, and the platform note says so.  ``extensions`` are Python files that
    add models, categories and platforms; they are run.  Raises UserError for a file that cannot be read, an unknown
    platform, a device that the trace has not, and a part without GPU work.
    """
    own = load_extensions(extensions)
    chosen = _chosen(platform, arch, own.platforms)  # a wrong name must not cost the user a long load
    trace, tree = open_trace(path, use_cache=use_cache, progress=progress)
    found, note = chosen or _detected(trace.metadata, own.platforms)
    if scope is None:
        return analyse(trace, tree, found, note, registry=own.registry(), device=device, progress=progress)
    cut = excerpt(trace, tree, scope)
    return analyse(
        cut.trace,
        cut.tree,
        found,
        note,
        registry=own.registry(),
        device=device,
        part=cut.part,
        elsewhere=cut.elsewhere,
        progress=progress,
    )


def _chosen(platform: str | None, arch: Path | None, own: Sequence[Platform]) -> tuple[Platform, str] | None:
    if platform is not None and arch is not None:
        raise UserError("choose the GPU with --platform NAME or with --arch FILE, not with both.")
    if platform is not None:
        found = load_platform(platform, own)
        return found, f"{found.name}, as chosen with --platform"
    if arch is not None:
        found = platform_from_file(arch)
        return found, f"{found.name}, from {arch}"
    return None


def _detected(metadata: TraceMetadata, own: Sequence[Platform]) -> tuple[Platform | None, str]:
    found, note = detect(metadata, own)
    return (found, note) if found is not None else (None, f"{note}: {_MEND}")
