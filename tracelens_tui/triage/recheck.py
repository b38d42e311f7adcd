"""Does a run follow from its own tables?  What the report's checks cannot reach is computed again and compared."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from tracelens_tui import __version__
from tracelens_tui.errors import UserError
from tracelens_tui.report.sources import read_csv
from tracelens_tui.report.validate import PROGRAM, unequal, validate_run
from tracelens_tui.run.category_files import CategoryMetadata, CategoryMetrics
from tracelens_tui.run.findings import PriorityData, Schema
from tracelens_tui.run.manifest import CategoryManifest
from tracelens_tui.run.store import MANIFEST, PRIORITY, RunDir, metadata_file, metrics_file, ops_file
from tracelens_tui.triage.derivation import derived
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.metrics import Roofs, category_metrics
from tracelens_tui.triage.rank import priority_data

_SHOWN = 20


def validate(path: Path) -> list[str]:
    """Return the problems of a run, one line each; [] for a valid one.  UserError where the path is no run directory.

    A run of another version of the program is compared with its report and tables, but not computed again.
    """
    problems = validate_run(path)
    run = RunDir(path)
    if run.info.versions.get(PROGRAM) != __version__:
        return problems
    try:
        manifest = run.read_json(MANIFEST, CategoryManifest)
    except UserError:
        return problems  # told already
    return [*problems, *_metrics_problems(run, manifest), *_priority_problems(run, manifest)]


def _metrics_problems(run: RunDir, manifest: CategoryManifest) -> Iterator[str]:
    """Every value of each category's metrics against its ops table."""
    for entry in manifest.categories:
        if entry.tier != "compute_kernel":
            continue
        name = entry.name
        try:
            told = run.read_json(metrics_file(name), CategoryMetrics)
            roofs = Roofs.of(run.read_json(metadata_file(name), CategoryMetadata))
            rows = read_csv(run.absolute(ops_file(name)))
        except UserError as error:
            yield str(error)
            continue
        try:
            ops, kernels, origins = derived(rows)
        except UserError as error:
            yield f"{ops_file(name)}: {error}"
            continue
        window = manifest.time_ns.window if manifest.time_ns is not None else 0
        wanted = category_metrics(name, ops, kernels, origins, roofs, window)
        yield from _differences(metrics_file(name), told, wanted)


def _priority_problems(run: RunDir, manifest: CategoryManifest) -> Iterator[str]:
    """The ranking against the findings and metrics."""
    try:
        told = run.read_json(PRIORITY, PriorityData)
        compute = [entry.name for entry in manifest.categories if entry.tier == "compute_kernel"]
        metrics = {name: run.read_json(metrics_file(name), CategoryMetrics) for name in compute}
        wanted = priority_data(manifest, metrics, run.read_findings().values())
    except (UserError, TriageError) as error:
        yield f"{PRIORITY}: {error}"
        return
    yield from _differences(PRIORITY, told, wanted)


def _differences(file: str, told: Schema, wanted: Schema) -> Iterator[str]:
    found: Mapping[str, JsonValue] = told.model_dump(mode="json", by_alias=True)
    lines = unequal("", found, wanted.model_dump(mode="json", by_alias=True))
    yield from (f"{file}: {line}" for line in lines[:_SHOWN])
