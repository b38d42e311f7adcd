"""Does a run follow from its own tables?  What the report's checks cannot reach is computed again and compared."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from pydantic import JsonValue

from tracelens_tui import __version__
from tracelens_tui.errors import UserError
from tracelens_tui.report.render import findings_markdown
from tracelens_tui.report.sources import read_csv
from tracelens_tui.report.validate import PROGRAM, differences, unequal, validate_run
from tracelens_tui.run.category_files import CategoryMetadata, CategoryMetrics
from tracelens_tui.run.findings import FindingsFile, PriorityData, Schema
from tracelens_tui.run.manifest import CategoryManifest, ManifestCategory
from tracelens_tui.run.store import (
    CATEGORY_DATA,
    MANIFEST,
    PRIORITY,
    RunDir,
    findings_file,
    metadata_file,
    metrics_file,
    ops_file,
)
from tracelens_tui.triage.derivation import derived
from tracelens_tui.triage.evidence import SYSTEM_METRICS, assignments, packs
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.metrics import Roofs, category_metrics
from tracelens_tui.triage.pack import EvidenceFile, evidence_file
from tracelens_tui.triage.places import SKILLS, skills_version
from tracelens_tui.triage.rank import priority_data
from tracelens_tui.triage.rules import RulesAnalyst

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
    wrong = [*_metrics_problems(run, manifest), *_system_problems(run, manifest)]
    if not wrong and run.info.versions.get(SKILLS) == skills_version():
        wrong += _findings_problems(run, manifest)
    return [*problems, *wrong, *_markdown_problems(run), *_priority_problems(run, manifest)]


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


def _system_problems(run: RunDir, manifest: CategoryManifest) -> Iterator[str]:
    """The metrics of the system sub-agents against those that their packs hold."""
    for entry in manifest.categories:
        if entry.tier == "system" and entry.skill in SYSTEM_METRICS:
            yield from _system_problem(run, entry)


def _system_problem(run: RunDir, entry: ManifestCategory) -> Iterator[str]:
    path = metrics_file(entry.name)
    try:
        told = run.read_json(path, SYSTEM_METRICS[entry.skill])
        pack = run.read_json(evidence_file(entry.skill), EvidenceFile)
    except UserError as error:
        yield str(error)
        return
    lines = unequal("", told.model_dump(mode="json", by_alias=True), pack.metrics)
    yield from (f"{path}: {line} (or {evidence_file(entry.skill)} has changed)" for line in lines[:_SHOWN])


def _findings_problems(run: RunDir, manifest: CategoryManifest) -> Iterator[str]:
    """The packs of the compute sub-agents and every finding by rule against the metrics and packs."""
    try:
        found = assignments(run, manifest)
    except UserError as error:
        yield str(error)
        return
    except (KeyError, ValueError, msgspec.MsgspecError) as error:
        yield f"{CATEGORY_DATA}: a table is not as it was written: {type(error).__name__}: {error}"
        return
    analyst = RulesAnalyst()
    for path, pack in packs(found).items():
        yield from _same(run, path, pack)
    for one in found:
        path = findings_file(one.category, one.agent.tier)
        try:
            told = run.read_json(path, FindingsFile)
        except UserError as error:
            yield str(error)
            continue
        by_rule = analyst.name in (run.info.analyst, told.analyst) and told.fallback_reason is None
        if by_rule and told.status != "error":
            yield from _differences(path, told, _kept(analyst.analyse(one), told))


def _kept(wanted: FindingsFile, told: FindingsFile) -> FindingsFile:
    """The findings without those that failed a check when they were made; the ranking tells of others."""
    ids = {finding.id for finding in told.findings}
    return wanted.model_copy(update={"findings": [finding for finding in wanted.findings if finding.id in ids]})


def _markdown_problems(run: RunDir) -> Iterator[str]:
    """The Markdown of each findings file against the file."""
    for name in run.findings_files():
        path = f"{name.removesuffix('.json')}.md"
        try:
            wanted = findings_markdown(run.read_json(name, FindingsFile))
            told = run.absolute(path).read_text(encoding="utf-8")
        except (UserError, OSError, UnicodeDecodeError) as error:
            yield f"{path}: cannot be compared with {name}: {error}"
            continue
        yield from (f"{path}: {line}" for line in differences(told, wanted))


def _same(run: RunDir, path: str, wanted: Schema) -> Iterator[str]:
    try:
        yield from _differences(path, run.read_json(path, type(wanted)), wanted)
    except UserError as error:
        yield str(error)


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
