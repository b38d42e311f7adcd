"""Everything that the texts of a sub-agent may refer to, by id, each quantity with its place in the run directory.

Ids: ``all.time`` and ``g-01.kernel`` are quantities of the candidate that a finding is about; ``gemm-2.all.time`` is
one of another candidate; ``op-17.time`` is one of the operation in row 17; ``w1.floor`` is one of the first what-if.
"""

from collections.abc import Iterable, Sequence

from tracelens_tui.report.evidence import references
from tracelens_tui.run.category_files import OperationMetrics
from tracelens_tui.run.findings import Evidence, FindingsFile
from tracelens_tui.run.store import metrics_file
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.pack import evidence_of

_QUANTITIES = (
    # name, label, unit, digits, key in the metrics, attribute path
    ("name", "operation", "", 0, "name"),
    ("calls", "calls", "calls", 0, "count"),
    ("time", "kernel time", "ms", 2, "time_ms"),
    ("exposed", "kernel time beside which nothing else runs", "ms", 2, "exposed_ms"),
    ("share", "share of the window", "%", 1, "percent_of_total"),
    ("efficiency", "efficiency against its roof", "%", 1, "efficiency.efficiency_percent"),
    ("intensity", "arithmetic intensity", "FLOP/B", 1, "efficiency.flops_per_byte"),
    ("rate", "achieved rate", "TFLOPS", 1, "efficiency.tflops_achieved"),
    ("bandwidth", "achieved bandwidth", "TB/s", 2, "efficiency.tb_s_achieved"),
    ("kernel", "kernel", "", 0, "kernel_name_trunc"),
    ("place", "place in the code", "", 0, "launcher_path"),
)


class Pool:
    """The evidence of one sub-agent on one category; what-ifs are added while it works."""

    def __init__(self, assignment: Assignment, rules: FindingsFile) -> None:
        self._own = {finding.id: _candidate(assignment, finding.id, finding.evidence) for finding in rules.findings}
        self._common = list(_operations(assignment))
        self._common += [
            item.model_copy(update={"id": f"{name}.{item.id}"}) for name, items in self._own.items() for item in items
        ]

    def add(self, items: Iterable[Evidence]) -> None:
        """Take in more, for all findings."""
        self._common += items

    def own(self, finding: str) -> Sequence[Evidence]:
        """Return what a candidate may refer to by short ids."""
        return self._own.get(finding, ())

    def of(self, finding: str) -> list[Evidence]:
        """Return all that a finding's texts may refer to."""
        return [*self.own(finding), *self._common]

    def cited(self, finding: str, text: str) -> list[Evidence]:
        """Return what the text refers to of it."""
        used = set(references(text))
        return [item for item in self.of(finding) if item.id in used]


def operation_ids(metrics: OperationMetrics) -> dict[str, float | int | str]:
    """Return the quantities of an operation by their evidence ids."""
    found = {name: _value(metrics, path) for name, _, _, _, path in _QUANTITIES}
    return {f"op-{metrics.row}.{name}": value for name, value in found.items() if value is not None}


def _candidate(assignment: Assignment, name: str, stated: Sequence[Evidence]) -> list[Evidence]:
    """A candidate's own evidence: what the rules cited, and the rest of its cluster."""
    out = {item.id: item for item in stated}
    for index, cluster in enumerate(assignment.pack.clusters):
        if cluster.id != name:
            continue
        place = f"categories.{assignment.category}.clusters[{index}]"
        file = assignment.evidence_file
        items = evidence_of("all", cluster.facts, file, f"{place}.facts")
        for match in cluster.matches:
            slug, where = match.rule.lower(), f"{place}.matches[rule={match.rule}]"
            items += evidence_of(slug, match.facts, file, f"{where}.facts")
            items += evidence_of(slug, match.constants, file, f"{where}.constants")
        out = {item.id: item for item in items} | out
    return list(out.values())


def _operations(assignment: Assignment) -> Iterable[Evidence]:
    if assignment.metrics is None:
        return
    file = metrics_file(assignment.category)
    for one in assignment.metrics.operations:
        for name, label, unit, digits, path in _QUANTITIES:
            value = _value(one, path)
            if value is not None:
                yield Evidence(
                    id=f"op-{one.row}.{name}",
                    label=label,
                    value=value,
                    unit=unit,
                    digits=digits,
                    source=file,
                    key=f"operations[row={one.row}].{path}",
                )


def _value(metrics: OperationMetrics, path: str) -> float | int | str | None:
    found: object = metrics
    for name in path.split("."):
        found = getattr(found, name)
    return found if isinstance(found, float | int | str) else None
