"""The report: ``analysis.md``, ``analysis.json`` and the chart, made from the files of a run directory alone.

The same files give the same bytes: nothing in the report depends on when or where it was rendered.
"""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tracelens_tui.report import appendix, charts, summary
from tracelens_tui.report.cards import card_of
from tracelens_tui.report.inputs import Inputs, read_inputs
from tracelens_tui.report.machine import report_json
from tracelens_tui.report.markdown import Md, cell, escaped, finalize
from tracelens_tui.report.numbers import NONE, figure, marker, number, pct
from tracelens_tui.resources import TEMPLATES
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.manifest import UNKNOWN_MODEL
from tracelens_tui.run.store import CHART, REPORT, REPORT_JSON, RunDir
from tracelens_tui.text import plain

UNNAMED_MODEL = "Workload"
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
            defects=appendix.quality_rows(inputs),
            repeat=appendix.repeat_rows(inputs),
            device=inputs.manifest.device,
            part=inputs.manifest.part is not None,
        )
    )


def findings_markdown(file: FindingsFile) -> str:
    """Return the text of ``<category>_findings.md``: cards and details, best first, or in the order of the analyst."""
    ordered = list(file.findings)
    if file.analyst == "rules":
        ordered.sort(key=lambda finding: -(finding.impact.mid or 0.0))
    cards = [card_of(finding, number) for number, finding in enumerate(ordered, 1)]
    return (
        _environment()
        .get_template("findings.md.j2")
        .render(file=file, cards=cards, asides=[summary.set_aside(one) for one in file.set_aside])
    )


def report_title(inputs: Inputs) -> Md:
    """Return the report's title."""
    model = UNNAMED_MODEL if inputs.model.model == UNKNOWN_MODEL else inputs.model.model
    names = [escaped(plain(model).strip() or UNNAMED_MODEL), escaped(plain(inputs.manifest.platform).strip() or NONE)]
    return Md(f"{' - '.join(names)} Standalone Analysis")


def priority_rows(inputs: Inputs) -> list[tuple[Md, ...]]:
    """Return the rows of Top Operations: rank, category, time, share, ops, and low and high of the row's marker."""
    return [
        (
            Md(str(row.rank)),
            cell(row.display_name),
            Md(number(row.gpu_kernel_time_ms)),
            Md(pct(row.percent_of_compute, 1)),
            Md(str(row.operation_count)),
            Md(marker(row.impact_score_low)),
            Md(marker(row.impact_score_high)),
        )
        for row in inputs.priority.priorities
    ]


def model_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return what is known of the model."""
    names = ("model", "architecture", "scale", "precision", "family", "mode", "parallelism")
    return [(Md(name.capitalize()), cell(str(getattr(inputs.model, name)))) for name in names]


def hardware_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return what is known of the GPU."""
    rows = [(Md("Platform"), cell(inputs.manifest.platform))]
    data = inputs.metadata
    known = data is not None and data.peak_hbm_bw_tbs is not None
    rows.append((Md("Peak HBM BW"), Md(f"{figure(data.peak_hbm_bw_tbs)} TB/s" if data and known else NONE)))
    peaks = data.max_achievable_tflops if data else {}
    rows += [(Md(label), Md(f"{figure(peaks[spec])} TFLOPS")) for spec, label in _PEAKS if spec in peaks]
    if inputs.manifest.platform_note:
        rows.append((Md("Recognised by"), cell(inputs.manifest.platform_note)))
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
