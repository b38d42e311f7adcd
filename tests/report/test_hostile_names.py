"""Whatever a name is, the report that is written with it is the report that validation expects."""

import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.report.editing import QUALITY, edit
from tests.report.fixture_run import UNIFIED, every_file, make_run
from tracelens_tui.analysis.tables.cells import plain_cells
from tracelens_tui.analysis.tables.write import csv_bytes
from tracelens_tui.report import charts
from tracelens_tui.report.render import write_report
from tracelens_tui.report.validate import validate_run
from tracelens_tui.run.store import MANIFEST, PRIORITY, RunDir

FRAGMENTS = (
    " ", "\t", "\n", "\r\n", "\x00", "\x07", "\x1b[31m", "\x85", "\u2028", "\u00a0", "\u3000", "\u200b", "\u202e", "|",
    "`", "``", "\\", "<", "<br>", "<!--", "-->", "<!-- impact-end -->", "<a id=\"detailed-analysis-compute-p1\"></a>",
    "<script>", "<Library>", "](#x)", "[a](b)", "{{", "}}", "{% x %}", "&lt;", "#", "## Appendix", "- ", "* ", "**",
    "Not quantifiable from trace data", "=1+1", "+", "-", "@", "'", "\"", ",", "007", "1e5", "nan", "é", "\U0001f600",
)  # fmt: skip

names = st.lists(st.sampled_from(FRAGMENTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4)).map(
    "".join
)


def hostile_run(path: Path, name: str) -> RunDir:
    """The hand-made run in which everything that a trace names has this name."""
    run = make_run(path)
    titles = ("name", "op category", "operation_count", "Kernel Time (µs)_sum")
    _table(run, "unified_perf_summary", titles, [(name, *row[1:]) for row in UNIFIED])
    _table(run, "quality", QUALITY, [("no_host", 1, name, name, None, True)])
    for category in ("gemm", "elementwise", "other"):
        edit(run, f"category_data/{category}_metrics.json", lambda data: _metrics(data, name))
        edit(run, f"metadata/{category}_metadata.json", lambda data: data.update(category=name, platform=name))
    for category in ("gemm", "elementwise"):
        edit(run, f"category_findings/{category}_findings.json", lambda data: _findings(data, name))
    edit(run, "category_findings/gemm_findings.json", lambda data: _titles(data, name))
    edit(run, "category_findings/other_findings.json", lambda data: data.update(status="error", message=f"x{name}"))
    edit(run, "system_findings/kernel_fusion_findings.json", lambda data: _kernels(data, name))
    edit(
        run, "metadata/model_info.json", lambda data: data.update(dict.fromkeys(data.keys() - {"schema_version"}, name))
    )
    edit(run, MANIFEST, lambda data: _manifest(data, name))
    edit(run, PRIORITY, lambda data: _priority(data, name))
    run.finish(*every_file(run))
    return run


def _table(run: RunDir, name: str, titles: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    table = pl.DataFrame(rows, schema=titles, orient="row")
    run.write_bytes(f"perf_report_csvs/{name}.csv", csv_bytes(plain_cells(table)))


def _metrics(data: Any, name: str) -> None:
    for one in data["operations"]:
        one.update(name=name, args=name, launcher_path=name, kernel_name_trunc=name, high_variance=True)


def _findings(data: Any, name: str) -> None:
    for one in data["findings"][0]["operations"]:
        one.update(name=name, args=name, kernel_path=name, kernel_name=name)


def _titles(data: Any, name: str) -> None:
    """Prose that is nothing but the name, begins and ends with it."""
    found = data["findings"][0]
    found.update(title="[[op]] is slow", library=name, insight="[[op]]", action="Tune `[[op]]` or <[[op]]")
    found["evidence"][0]["value"] = name


def _kernels(data: Any, name: str) -> None:
    data["findings"][0].update(pattern=name)
    for one in data["findings"][0]["kernels"]:
        one.update(name=name, type=name)


def _manifest(data: Any, name: str) -> None:
    data.update(platform=name, platform_note=name)
    for one in data["categories"]:
        if one["tier"] == "compute_kernel":
            one["display_name"] = name


def _priority(data: Any, name: str) -> None:
    data["findings"][0].update(title="[[op]] is slow", library=name)
    for one in data["priorities"]:
        one["display_name"] = name


@pytest.fixture(scope="module", autouse=True)
def no_chart():
    """Drawing takes a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "draw", lambda _: None)
        yield


@settings(max_examples=60, deadline=None)
@given(names)
@example("")
@example(" ")
@example("bell\x07")
@example(" tab\t")
@example("\u3000wide\u3000")
@example("!-- x `")
@example('<a id="detailed-analysis-compute-p1"></a>')
@example("x](#nowhere)")
@example("not quantifiable from trace data")
@example("007")
@example("1e5")
@example("=HYPERLINK(1)")
@example("{x}}")
def test_writer_and_validator_agree(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = hostile_run(Path(folder) / "run", name)
        write_report(run)
        assert validate_run(run.path) == []
        text = run.report.read_text("utf-8")
        assert {one for one in text if unicodedata.category(one) in {"Cc", "Zl", "Zp"}} == {"\n"}
