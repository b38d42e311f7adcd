"""Checks of a findings file before its findings are accepted: form, impact, evidence, prose, claims.

``check_findings`` needs the tables and metrics that the findings speak of to be in the run directory.  The grammar of
evidence keys is in ``report.sources``, the rule about numbers in prose in ``report.evidence``.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from tracelens_tui.errors import UserError
from tracelens_tui.report.evidence import bare_numbers, malformed_references, references
from tracelens_tui.report.forbidden import forbidden_claims
from tracelens_tui.report.sources import Sources, same
from tracelens_tui.run.category_files import CategoryMetrics, OperationMetrics
from tracelens_tui.run.findings import Evidence, Finding, FindingsFile, Operation, SetAside
from tracelens_tui.run.store import RunDir, metrics_file

LOW_SCALE = 0.75
MID_SCALE = 0.875
TOLERANCE = 0.011  # of an impact in %: scores may have been rounded to two decimals
TITLE_LIMIT = 120


def check_findings(file: FindingsFile, run: RunDir, sources: Sources | None = None) -> list[str]:
    """Return what is wrong with the findings, one line each; [] where they may be accepted."""
    sources = sources or Sources(run)
    problems = list(_file_problems(file))
    metrics, missing = _metrics(file, run)
    problems += missing
    for finding in file.findings:
        found = [
            *_identity_problems(finding, file),
            *impact_problems(finding),
            *_operation_problems(finding, metrics),
            *_evidence_problems(finding.evidence, sources),
            *_prose_problems(finding),
        ]
        problems += [f"{finding.id}: {problem}" for problem in found]
    for one in file.set_aside:
        problems += [f"{one.finding.id}, set aside: {problem}" for problem in _aside_problems(one, sources)]
    return problems


def impact_problems(finding: Finding) -> Iterator[str]:
    """What is wrong with the three scores."""
    low, mid, high = finding.impact.low, finding.impact.mid, finding.impact.high
    if low is None or mid is None or high is None:
        if (low, mid, high) != (None, None, None):
            yield "impact: low, mid and high are all numbers or all null"
        elif finding.tier == "fusion" or any(_rated(operation) for operation in finding.operations):
            yield "impact: it can be computed here, so it is not null"
        return
    if not 0 <= low <= mid <= high <= 100 + TOLERANCE:
        yield f"impact: 0 ≤ low ≤ mid ≤ high ≤ 100 does not hold for {low:g}, {mid:g}, {high:g}"
    if finding.tier == "system":
        return  # its bounds have other grounds than a roof
    scales = [("low", low, LOW_SCALE), ("mid", mid, MID_SCALE)]
    if any(operation.efficiency_low_percent is not None for operation in finding.operations):
        scales = scales[1:]  # how much work there was is a range, and so is what can be won
        if low > LOW_SCALE * high + TOLERANCE:
            yield f"impact: low is {low:g}, more than {LOW_SCALE} × high, which is {LOW_SCALE * high:g}"
    for name, value, scale in scales:
        if abs(value - scale * high) > TOLERANCE:
            yield f"impact: {name} is {value:g}, but {scale} × high is {scale * high:g}"


def _rated(operation: Operation) -> bool:
    """True where an impact follows from the operation's efficiency."""
    return operation.surest_percent is not None and operation.surest_percent <= 100


def prose_of(finding: Finding) -> dict[str, str]:
    """Return every text of the finding by the name of its field."""
    fields = ("title", "insight", "action", "identification", "reasoning", "resolution")
    texts = {name: str(getattr(finding, name)) for name in fields}
    texts |= {f"caveats[{index}]": text for index, text in enumerate(finding.caveats)}
    for index, row in enumerate(finding.metrics):
        texts |= {f"metrics[{index}].metric": row.metric, f"metrics[{index}].value": row.value}
    return texts


def _file_problems(file: FindingsFile) -> Iterator[str]:
    if file.findings and file.status != "ok":
        yield f"status is {file.status}, but there are findings"
    if not file.findings and file.status == "error" and not file.message:
        yield "status is error, but no message says why"
    ids = [finding.id for finding in file.findings]
    yield from (f"{one} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1}))


def _metrics(file: FindingsFile, run: RunDir) -> tuple[CategoryMetrics | None, list[str]]:
    """The category's metrics where its findings speak of operations."""
    if file.tier != "compute" or not file.findings:
        return None, []
    try:
        return run.read_json(metrics_file(file.category), CategoryMetrics), []
    except UserError as error:
        return None, [str(error)]


def _identity_problems(finding: Finding, file: FindingsFile) -> Iterator[str]:
    for name in ("agent", "category", "tier"):
        if getattr(finding, name) != getattr(file, name):
            yield f"{name} is {getattr(finding, name)!r}, the file's is {getattr(file, name)!r}"
    if not finding.id.startswith(f"{finding.category}-"):
        yield f"the id does not begin with {finding.category}-"
    if finding.tier == "compute" and not finding.operations:
        yield "a compute finding lists its operations"
    if finding.tier == "fusion" and not finding.kernels:
        yield "a fusion finding lists its kernels"
    if finding.tier == "system" and not finding.metrics:
        yield "a system finding lists its metrics"


def _operation_problems(finding: Finding, metrics: CategoryMetrics | None) -> Iterator[str]:
    if metrics is None:
        return
    known = {operation.row: operation for operation in metrics.operations}
    rows = [operation.row for operation in finding.operations]
    yield from (f"operation {row} is listed twice" for row in sorted({row for row in rows if rows.count(row) > 1}))
    for operation in finding.operations:
        if operation.row in known:
            yield from operation_differences(operation, known[operation.row])
        else:
            yield f"operation {operation.row} is not in {metrics_file(metrics.category)}"
    yield from _excess(finding, known)


def operation_differences(operation: Operation, metrics: OperationMetrics) -> Iterator[str]:
    """Where the row of a finding's table is not what the category's metrics have."""
    efficiency = metrics.efficiency
    pairs: dict[str, tuple[float | int | str | None, float | int | str | None]] = {
        "name": (operation.name, metrics.name),
        "args": (operation.args, metrics.args),
        "kernel_path": (operation.kernel_path, metrics.launcher_path),
        "kernel_name": (operation.kernel_name, metrics.kernel_name_trunc),
        "count": (operation.count, metrics.count),
        "time_ms": (operation.time_ms, metrics.time_ms),
        "percent_of_window": (operation.percent_of_window, metrics.percent_of_total),
        "flops_per_byte": (operation.flops_per_byte, efficiency.flops_per_byte),
        "efficiency_percent": (operation.efficiency_percent, efficiency.efficiency_percent),
        "bound": (operation.bound, efficiency.bound_type),
        "efficiency_low_percent": (operation.efficiency_low_percent, efficiency.efficiency_low_percent),
        "efficiency_high_percent": (operation.efficiency_high_percent, efficiency.efficiency_high_percent),
    }
    if operation.dims != metrics.dims or operation.dtype != metrics.dtype:
        yield f"operation {operation.row}: dims and dtype are not those of the metrics"
    if operation.peak is not None:
        roof = efficiency.resolved_peak_maf if operation.peak_unit == "TFLOPS" else efficiency.resolved_peak_hbm_bw
        pairs["peak"] = (operation.peak, roof)
    for name, (stated, found) in pairs.items():
        if stated != found and (stated is None or found is None or not same(stated, found)):
            yield f"operation {operation.row}: {name} is {stated!r}, the metrics have {found!r}"


def _excess(finding: Finding, known: dict[int, OperationMetrics]) -> Iterator[str]:
    """Whether the impact is more than the exposed time of the operations leaves to win."""
    bounds = [_bound(known[operation.row]) for operation in finding.operations if operation.row in known]
    if finding.impact.high is None or any(bound is None for bound in bounds):
        return
    limit = math.fsum(bound for bound in bounds if bound is not None)
    if finding.impact.high > limit + TOLERANCE:
        yield f"impact: high is {finding.impact.high:g}, but the operations have only {limit:g} % of the window to win"


def _bound(metrics: OperationMetrics) -> float | None:
    """The most that one operation can win, in % of the window; None where it is not known."""
    percent, efficiency = metrics.percent_of_total, metrics.efficiency.surest_percent
    if percent is None or efficiency is None or not metrics.time_ms:
        return None
    exposed = 1.0 if metrics.exposed_ms is None else metrics.exposed_ms / metrics.time_ms
    return percent * exposed * max(0.0, 1 - efficiency / 100)


def _evidence_problems(evidence: Sequence[Evidence], sources: Sources) -> Iterator[str]:
    ids = [item.id for item in evidence]
    yield from (f"evidence {one} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1}))
    for item in evidence:
        try:
            found = sources.stated(item.source, item.key, item.value)
        except UserError as error:
            yield f"evidence {item.id}: {error}"
            continue
        if not same(item.value, found):
            yield f"evidence {item.id}: is {item.value!r}, but {item.source} has {found!r} at {item.key}"


def _aside_problems(one: SetAside, sources: Sources) -> Iterator[str]:
    """What is wrong with the reason why a finding was set aside."""
    yield from _evidence_problems(one.evidence, sources)
    yield from _text_problems({"reason": one.reason}, {item.id for item in one.evidence})


def _prose_problems(finding: Finding) -> Iterator[str]:
    yield from _text_problems(prose_of(finding), {item.id for item in finding.evidence})
    if len(finding.title) > TITLE_LIMIT:
        yield f"title: has {len(finding.title)} characters, more than {TITLE_LIMIT}"


def _text_problems(texts: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    for name, text in texts.items():
        if not text.strip():
            yield f"{name}: is empty"
        if malformed_references(text):
            yield f"{name}: holds double brackets that are no reference"
        yield from (
            f"{name}: refers to [[{one}]], which is not evidence" for one in references(text) if one not in known
        )
        yield from (f"{name}: holds the bare number {number!r}" for number in bare_numbers(text))
        yield from (f"{name}: {claim}" for claim in forbidden_claims(text))
