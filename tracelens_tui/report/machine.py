"""``analysis.json``: the report for machines, made from the same inputs as ``analysis.md``."""

from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.types import Dims, Shape
from tracelens_tui.report import summary
from tracelens_tui.report.evidence import resolve
from tracelens_tui.report.inputs import Inputs, Ranked
from tracelens_tui.run.analysis_file import AnalysisFinding, AnalysisJson, AnalysisOperation, TimeUs
from tracelens_tui.run.category_files import OperationMetrics
from tracelens_tui.run.findings import Operation

TENSORS_SHOWN = 16  # of each list of tensors: an optimizer's lists hold hundreds


def report_json(inputs: Inputs) -> AnalysisJson:
    """Return the content of ``analysis.json``."""
    manifest = inputs.manifest
    time = manifest.time_ns
    return AnalysisJson(
        model=inputs.model.model,
        platform=manifest.platform,
        time_us=None if time is None else TimeUs(**{name: ns / 1000 for name, ns in time.model_dump().items()}),
        findings=[_finding(item, inputs) for item in inputs.ranked],
        warnings=summary.warnings(inputs),
        part=manifest.part,
    )


def _finding(item: Ranked, inputs: Inputs) -> AnalysisFinding:
    finding = item.finding
    metrics = inputs.metrics.get(finding.category)
    by_row = {one.row: one for one in metrics.operations} if metrics else {}
    return AnalysisFinding(
        id=finding.id,
        tier=finding.tier,
        category=finding.category,
        rank=item.rank.global_rank,
        title=resolve(finding.title, finding.evidence),
        library=finding.library,
        bound=finding.bound,
        confidence=finding.confidence,
        impact=finding.impact,
        operations=[_operation(operation, by_row.get(operation.row)) for operation in finding.operations],
        insight=resolve(finding.insight, finding.evidence),
        action=resolve(finding.action, finding.evidence),
    )


def _operation(operation: Operation, metrics: OperationMetrics | None) -> AnalysisOperation:
    recorded = op_args(metrics.name, metrics.input_dims, metrics.input_type).dims if metrics else ()
    tensors, omitted = _tensors(recorded)
    return AnalysisOperation(
        name=operation.name,
        dims=tensors or (None if operation.dims is None else [*operation.dims]),
        dtype=operation.dtype,
        count=operation.count,
        time_ms=operation.time_ms,
        efficiency_percent=operation.efficiency_percent,
        dims_omitted=omitted,
    )


def _tensors(dims: Dims) -> tuple[list[list[int] | list[list[int]]], int]:
    """The sides of each tensor, or of the first tensors of each list, scalars left out; and how many are left out."""
    found: list[list[int] | list[list[int]]] = []
    omitted = 0
    for item in filter(None, dims):
        shapes = [list(shape) for shape in item if isinstance(shape, tuple)]
        omitted += len(shapes[TENSORS_SHOWN:])
        found.append(shapes[:TENSORS_SHOWN] or _sides(item))
    return found, omitted


def _sides(item: Shape | tuple[Shape, ...]) -> list[int]:
    return [side for side in item if isinstance(side, int)]
