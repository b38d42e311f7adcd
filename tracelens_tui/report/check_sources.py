"""The run's own files against each other: tables, manifest, metrics, findings and ranking must say the same."""

import math
from collections.abc import Callable, Iterator

from tracelens_tui.errors import UserError
from tracelens_tui.report.check_equal import ABS, equal
from tracelens_tui.report.check_ranking import ranking_problems
from tracelens_tui.report.findings_check import check_findings
from tracelens_tui.report.inputs import Inputs
from tracelens_tui.report.sources import Sources, same
from tracelens_tui.run.category_files import CategoryMetadata, CategoryMetrics, OperationMetrics
from tracelens_tui.run.manifest import CategoryManifest, TimeNs
from tracelens_tui.run.store import MANIFEST, RunDir, findings_file, metrics_file, table_file

UNIFIED = table_file("unified_perf_summary")
TIMELINE = table_file("gpu_timeline")
_TIMELINE_ROWS = {
    "computation_time": "compute",
    "exposed_comm_time": "exposed_comm",
    "exposed_memcpy_time": "exposed_memcpy",
    "busy_time": "busy",
    "idle_time": "idle",
    "total_time": "window",
    "total_comm_time": "comm",
    "total_memcpy_time": "memcpy",
}


def source_problems(run: RunDir, inputs: Inputs) -> list[str]:
    """Return where the files of the run contradict each other, one line each."""
    sources = Sources(run)
    checks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _manifest(inputs.manifest, sources),
        lambda: _coverage(run, inputs),
        lambda: _metrics(inputs, sources),
        lambda: _metadata(run, inputs),
        lambda: _findings(run, inputs, sources),
        lambda: ranking_problems(inputs),
    )
    return [problem for check in checks for problem in _guarded(check)]


def _guarded(check: Callable[[], Iterator[str]]) -> list[str]:
    """The check's problems; a file that it cannot read is one of them."""
    try:
        return list(check())
    except UserError as error:
        return [str(error)]
    except (KeyError, ValueError) as error:  # a column is missing, or a number is none
        return [f"a table is not as it was written: {type(error).__name__}: {error}"]


def _manifest(manifest: CategoryManifest, sources: Sources) -> Iterator[str]:
    """The manifest's time split against itself and against ``gpu_timeline.csv``."""
    rows = sources.table(TIMELINE)
    if manifest.device is not None and rows and "device" in rows[0]:
        rows = [row for row in rows if row["device"] == str(manifest.device)]
    time = manifest.time_ns
    if time is None:
        if any(float(row["time ms"] or 0) for row in rows):
            yield f"{MANIFEST}: time_ns is null, but {TIMELINE} has times"
        return
    yield from _identities(time)
    yield from _timeline(time, rows)
    use = manifest.gpu_utilization
    for field, ns in (
        ("computation_time_percent", time.compute),
        ("exposed_comm_time_percent", time.exposed_comm),
        ("exposed_memcpy_time_percent", time.exposed_memcpy),
        ("idle_time_percent", time.idle),
    ):
        yield from equal(f"{MANIFEST}: gpu_utilization.{field}", getattr(use, field), _percent(ns, time.window))
    yield from equal(f"{MANIFEST}: gpu_utilization.total_time_ms", use.total_time_ms, time.window / 1e6)


def _timeline(time: TimeNs, rows: list[dict[str, str]]) -> Iterator[str]:
    """``gpu_timeline.csv`` against the exact times."""
    found = {row["type"]: row for row in rows}
    for label, name in _TIMELINE_ROWS.items():
        ns = getattr(time, name)
        if label not in found:
            yield f"{TIMELINE}: the row {label} is missing"
            continue
        ms, percent = float(found[label]["time ms"]), float(found[label]["percent"])
        if abs(ms * 1e6 - ns) > 0.5:
            yield f"{MANIFEST}: time_ns.{name} is {ns}, {TIMELINE} has {ms} ms"
        yield from equal(f"{TIMELINE}: percent of {label}", percent, _percent(ns, time.window))


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _identities(time: TimeNs) -> Iterator[str]:
    if time.window != time.busy + time.idle:
        yield f"{MANIFEST}: window is not busy + idle"
    if time.busy != time.compute + time.exposed_comm + time.exposed_memcpy:
        yield f"{MANIFEST}: busy is not compute + exposed_comm + exposed_memcpy"
    if time.exposed_comm > time.comm or time.exposed_memcpy > time.memcpy:
        yield f"{MANIFEST}: more is exposed than there is"


def _coverage(run: RunDir, inputs: Inputs) -> Iterator[str]:
    """A findings file for each category that was planned, and none for another."""
    names = {category.name for category in inputs.manifest.categories}
    yield from (
        f"{path}: the manifest has no category {file.category}"
        for path, file in inputs.files.items()
        if file.category not in names
    )
    yield from (
        f"{path}: belongs into {findings_file(file.category, file.tier)}"
        for path, file in inputs.files.items()
        if path != findings_file(file.category, file.tier)
    )
    found = {file.category for file in inputs.files.values()}
    yield from (
        f"{MANIFEST}: {category.name} was planned, but has no findings file"
        for category in inputs.manifest.categories
        if category.planned and category.name not in found
    )
    yield from (
        f"{metrics_file(file.category)}: the file is missing"
        for file in inputs.files.values()
        if file.tier == "compute" and file.status == "ok" and not run.exists(metrics_file(file.category))
    )


def _metrics(inputs: Inputs, sources: Sources) -> Iterator[str]:
    """Each category's metrics against the manifest, themselves and ``unified_perf_summary.csv``."""
    times = {category.name: category.gpu_kernel_time_ms for category in inputs.manifest.categories}
    for name, metrics in inputs.metrics.items():
        place = metrics_file(name)
        if metrics.category != name:
            yield f"{place}: is of the category {metrics.category}"
        total = math.fsum(operation.time_ms for operation in metrics.operations)
        if metrics.status == "OK":
            yield from equal(f"{place}: total_time_ms", metrics.total_time_ms, total)
        yield from equal(f"{MANIFEST}: gpu_kernel_time_ms of {name}", times.get(name) or 0.0, metrics.total_time_ms)
        count = sum(operation.count for operation in metrics.operations)
        if metrics.status == "OK" and metrics.operation_count != count:
            yield f"{place}: operation_count is {metrics.operation_count}, its operations have {count}"
        window = inputs.manifest.gpu_utilization.total_time_ms
        yield from equal(
            f"{place}: percent_of_compute", metrics.percent_of_compute, _percent(metrics.total_time_ms, window)
        )
        for operation in metrics.operations:
            where = f"{place}: operation {operation.row}"
            yield from (f"{where}: {problem}" for problem in _table_row(operation, sources))
            yield from _shares(where, operation, metrics, window)


def _table_row(operation: OperationMetrics, sources: Sources) -> Iterator[str]:
    """An operation against its row of ``unified_perf_summary.csv``."""
    row = f"row={operation.row}"
    name = sources.stated(UNIFIED, f"{row},column=name", operation.name)
    count = sources.value(UNIFIED, f"{row},column=operation_count")
    if not same(operation.name, name):
        yield f"name is {operation.name!r}, {UNIFIED} has {name!r}"
    if count != operation.count:
        yield f"count is {operation.count}, {UNIFIED} has {count}"
    time = sources.value(UNIFIED, f"{row},column=Kernel Time (µs)_sum,scale=0.001")
    yield from equal("time_ms", operation.time_ms, float(time))


def _shares(where: str, operation: OperationMetrics, metrics: CategoryMetrics, window: float) -> Iterator[str]:
    share = _percent(operation.time_ms, metrics.total_time_ms)
    yield from equal(f"{where}: percent_of_category", operation.percent_of_category, share)
    if operation.percent_of_total is not None:
        yield from equal(f"{where}: percent_of_total", operation.percent_of_total, _percent(operation.time_ms, window))
    if operation.exposed_ms is not None and operation.exposed_ms > operation.time_ms + ABS:
        yield f"{where}: exposed_ms is more than time_ms"


def _metadata(run: RunDir, inputs: Inputs) -> Iterator[str]:
    """The categories' metadata against the manifest, each other, and the peaks that the metrics name."""
    for category in inputs.manifest.categories:
        place = category.metadata_file
        if place is None:
            continue
        data = run.read_json(place, CategoryMetadata)
        if data.gpu_utilization != inputs.manifest.gpu_utilization:
            yield f"{place}: gpu_utilization is not that of {MANIFEST}"
        if (data.category_name, data.category) != (category.name, category.display_name):
            yield f"{place}: is of the category {data.category_name}"
        if inputs.metadata is not None and _platform(data) != _platform(inputs.metadata):
            yield f"{place}: the platform's figures are not those of the other categories"
        for operation in inputs.metrics[category.name].operations if category.name in inputs.metrics else ():
            yield from (f"{metrics_file(category.name)}: {problem}" for problem in _peaks(operation, data))


def _platform(data: CategoryMetadata) -> tuple[object, ...]:
    return (data.platform, data.peak_hbm_bw_tbs, data.measured_hbm_bw_tbs, data.max_achievable_tflops, data.memory_gb)


def _peaks(operation: OperationMetrics, data: CategoryMetadata) -> Iterator[str]:
    found = operation.efficiency
    what = f"operation {operation.row}:"
    if found.resolved_peak_hbm_bw is not None:
        yield from equal(f"{what} resolved_peak_hbm_bw", found.resolved_peak_hbm_bw, data.peak_hbm_bw_tbs)
    if found.resolved_peak_maf is not None:
        peak = data.max_achievable_tflops.get(found.compute_spec or "")
        yield from equal(f"{what} resolved_peak_maf", found.resolved_peak_maf, peak)


def _findings(run: RunDir, inputs: Inputs, sources: Sources) -> Iterator[str]:
    for path, file in inputs.files.items():
        yield from (f"{path}: {problem}" for problem in check_findings(file, run, sources))
    ids = [finding.id for file in inputs.files.values() for finding in file.findings]
    yield from (f"the finding {one} stands in two files" for one in sorted({one for one in ids if ids.count(one) > 1}))
