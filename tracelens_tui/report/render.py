"""The report: ``analysis.md``, ``analysis.json`` and the chart, made from the files of a run directory alone.

The same files give the same bytes: nothing in the report depends on when or where it was rendered.
"""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tracelens_tui.report import charts, summary
from tracelens_tui.report.cards import card_of
from tracelens_tui.report.evidence import resolve
from tracelens_tui.report.inputs import Inputs, Ranked, read_inputs
from tracelens_tui.report.markdown import Md, escaped, finalize
from tracelens_tui.report.numbers import NONE, figure, marker, ms, pct
from tracelens_tui.resources import TEMPLATES
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.manifest import (
    UNKNOWN_MODEL,
    AnalysisFinding,
    AnalysisJson,
    AnalysisOperation,
    TimeUs,
)
from tracelens_tui.run.store import CHART, REPORT, REPORT_JSON, RunDir

_PEAKS = (("matrix_bf16", "Peak MAF BF16"), ("matrix_fp8", "Peak MAF FP8"), ("matrix_fp4", "Peak MAF FP4"))


def write_report(run: RunDir) -> None:
    """Write ``analysis.md``, ``analysis.json`` and, where matplotlib is installed, ``perf_improvement.png``.

    UserError that names the file where an input is missing or wrong; then nothing is written.
    """
    inputs = read_inputs(run)
    chart = charts.draw(inputs)
    text = report_markdown(inputs, chart=chart is not None)
    machine = report_json(inputs)
    if chart is None:
        run.absolute(CHART).unlink(missing_ok=True)
        run.forget(CHART)
    else:
        run.write_bytes(CHART, chart)
        run.finish(CHART)
    run.write_json(REPORT_JSON, machine)
    run.write_text(REPORT, text)
    run.finish(REPORT_JSON, REPORT)


def write_findings(run: RunDir, relative: str) -> None:
    """Write the Markdown of a findings file beside it."""
    text = findings_markdown(run.read_json(relative, FindingsFile))
    run.write_text(f"{relative.removesuffix('.json')}.md", text)


def report_markdown(inputs: Inputs, *, chart: bool) -> str:
    """Return the text of ``analysis.md``."""
    cards = {
        tier: [card_of(item.finding, item.number) for item in inputs.tier(tier)]
        for tier in ("compute", "fusion", "system")
    }
    return (
        _environment()
        .get_template("report.md.j2")
        .render(
            title=report_title(inputs),
            summary=summary.paragraph(inputs),
            metrics=summary.metric_rows(inputs),
            chart=Md(CHART) if chart else None,
            failed=summary.failed_rows(inputs),
            varying=summary.variance_rows(inputs),
            quality=summary.quality_rows(inputs),
            priorities=priority_rows(inputs),
            cards=cards,
            nothing_compute=summary.nothing_compute(inputs),
            nothing_fusion=Md(summary.NO_FUSION),
            nothing_system=summary.nothing_system(inputs),
            model=model_rows(inputs),
            hardware=hardware_rows(inputs),
            device=inputs.manifest.device,
        )
    )


def findings_markdown(file: FindingsFile) -> str:
    """Return the text of ``<category>_findings.md``: cards and details, best first."""
    ordered = sorted(file.findings, key=lambda finding: -(finding.impact.mid or 0.0))
    cards = [card_of(finding, number) for number, finding in enumerate(ordered, 1)]
    return _environment().get_template("findings.md.j2").render(file=file, cards=cards)


def report_json(inputs: Inputs) -> AnalysisJson:
    """Return the content of ``analysis.json``."""
    manifest = inputs.manifest
    time = manifest.time_ns
    return AnalysisJson(
        model=inputs.model.model,
        platform=manifest.platform,
        time_us=None if time is None else TimeUs(**{name: ns / 1000 for name, ns in time.model_dump().items()}),
        findings=[_machine(item) for item in inputs.ranked],
        warnings=summary.warnings(inputs),
    )


def _machine(item: Ranked) -> AnalysisFinding:
    finding = item.finding
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
        operations=[
            AnalysisOperation(
                name=operation.name,
                dims=operation.dims,
                dtype=operation.dtype,
                count=operation.count,
                time_ms=operation.time_ms,
                efficiency_percent=operation.efficiency_percent,
            )
            for operation in finding.operations
        ],
        insight=resolve(finding.insight, finding.evidence),
        action=resolve(finding.action, finding.evidence),
    )


def report_title(inputs: Inputs) -> Md:
    """Return the report's title."""
    model = "Workload" if inputs.model.model == UNKNOWN_MODEL else inputs.model.model
    return Md(f"{escaped(model)} - {escaped(inputs.manifest.platform)} Standalone Analysis")


def priority_rows(inputs: Inputs) -> list[tuple[Md, ...]]:
    """Return the rows of Top Operations: rank, category, time, share, ops, and low and high of the row's marker."""
    return [
        (
            Md(str(row.rank)),
            escaped(row.display_name),
            Md(ms(row.gpu_kernel_time_ms)),
            Md(pct(row.percent_of_compute, 1)),
            Md(str(row.operation_count)),
            Md(marker(row.impact_score_low)),
            Md(marker(row.impact_score_high)),
        )
        for row in inputs.priority.priorities
    ]


def model_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return what is known of the model."""
    names = ("model", "architecture", "scale", "precision")
    return [(Md(name.capitalize()), escaped(str(getattr(inputs.model, name)))) for name in names]


def hardware_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return what is known of the GPU."""
    rows = [(Md("Platform"), escaped(inputs.manifest.platform))]
    data = inputs.metadata
    known = data is not None and data.peak_hbm_bw_tbs is not None
    rows.append((Md("Peak HBM BW"), Md(f"{figure(data.peak_hbm_bw_tbs)} TB/s" if data and known else NONE)))
    peaks = data.max_achievable_tflops if data else {}
    rows += [(Md(label), Md(f"{figure(peaks[spec])} TFLOPS")) for spec, label in _PEAKS if spec in peaks]
    if inputs.manifest.platform_note:
        rows.append((Md("Recognised by"), escaped(inputs.manifest.platform_note)))
    return rows


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 — finalize escapes everything, for Markdown instead of HTML
    )
