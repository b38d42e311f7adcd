"""Everything that the report is made from, read from the files of a run directory."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracelens_tui.errors import UserError
from tracelens_tui.report.sources import read_csv
from tracelens_tui.run.category_files import CategoryMetadata, CategoryMetrics
from tracelens_tui.run.findings import Finding, FindingsFile, PriorityData, RankedFinding, Tier
from tracelens_tui.run.manifest import CategoryManifest, ModelInfo, RunInfo
from tracelens_tui.run.store import MANIFEST, MODEL_INFO, PRIORITY, RunDir, metrics_file, table_file

_MINOR_CODES = {"archive_member", "trailing_bytes", "rounded_time", "repaired_text"}
_NOTABLE_SHARE = 0.001  # of busy time, as for the gates


@dataclass(frozen=True, slots=True)
class QualityRow:
    """A row of ``quality.csv``."""

    code: str
    count: int
    message: str
    effect: str
    share_of_busy: float | None
    gates: bool

    @property
    def notable(self) -> bool:
        """True where the report warns: the defect touches the numbers, or its share cannot be told."""
        if self.share_of_busy is None:
            return self.gates or self.code not in _MINOR_CODES
        return self.gates or self.share_of_busy > _NOTABLE_SHARE


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finding with its places."""

    rank: RankedFinding
    finding: Finding
    number: int  # P-number, from 1 within the tier


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a run as the report needs them."""

    manifest: CategoryManifest
    model: ModelInfo
    priority: PriorityData
    files: Mapping[str, FindingsFile]  # by path relative to the run directory
    ranked: tuple[Ranked, ...]  # by global rank
    metrics: Mapping[str, CategoryMetrics]
    metadata: CategoryMetadata | None  # of any category: the platform's figures
    quality: tuple[QualityRow, ...]
    run: RunInfo

    def tier(self, tier: Tier) -> list[Ranked]:
        """Return the findings of a tier by rank."""
        return [item for item in self.ranked if item.finding.tier == tier]

    def has_quality(self, code: str) -> bool:
        """Return whether the trace has the defect."""
        return any(row.code == code for row in self.quality)


def read_inputs(run: RunDir) -> Inputs:
    """Read all files; UserError that names the one that is missing or wrong."""
    manifest = run.read_json(MANIFEST, CategoryManifest)
    priority = run.read_json(PRIORITY, PriorityData)
    files = run.read_findings()
    compute = [category.name for category in manifest.categories if category.tier == "compute_kernel"]
    return Inputs(
        manifest=manifest,
        model=run.read_json(MODEL_INFO, ModelInfo) if run.exists(MODEL_INFO) else ModelInfo(),
        priority=priority,
        files=files,
        ranked=_ranked(run, priority, files),
        metrics={
            name: run.read_json(metrics_file(name), CategoryMetrics)
            for name in compute
            if run.exists(metrics_file(name))
        },
        metadata=_metadata(run, manifest),
        quality=_quality(run),
        run=run.info,
    )


def _ranked(run: RunDir, priority: PriorityData, files: Mapping[str, FindingsFile]) -> tuple[Ranked, ...]:
    findings = {finding.id: finding for file in files.values() for finding in file.findings}
    numbers: dict[str, int] = {}
    out: list[Ranked] = []
    for rank in sorted(priority.findings, key=lambda item: item.global_rank):
        finding = findings.get(rank.id)
        if finding is None:
            raise UserError(f"{run.path / PRIORITY}: no findings file has the finding {rank.id}")
        numbers[finding.tier] = numbers.get(finding.tier, 0) + 1
        out.append(Ranked(rank, finding, numbers[finding.tier]))
    return tuple(out)


def _metadata(run: RunDir, manifest: CategoryManifest) -> CategoryMetadata | None:
    for category in manifest.categories:
        if category.metadata_file and run.exists(category.metadata_file):
            return run.read_json(category.metadata_file, CategoryMetadata)
    return None


def _quality(run: RunDir) -> tuple[QualityRow, ...]:
    name = table_file("quality")
    if not run.exists(name):
        return ()
    try:
        return tuple(_quality_row(row) for row in read_csv(run.absolute(name)))
    except (KeyError, ValueError) as error:
        raise UserError(f"{run.path / name}: not a quality table: {error}") from None


def _quality_row(row: Mapping[str, str]) -> QualityRow:
    share = row["share_of_busy"]
    return QualityRow(
        code=row["code"],
        count=int(row["count"]),
        message=row["message"],
        effect=row["effect"],
        share_of_busy=float(share) if share else None,
        gates=row["gates"].lower() == "true",
    )
