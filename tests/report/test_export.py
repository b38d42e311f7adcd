"""The report as one file somewhere else."""

import base64
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report.test_render_hostile import poison
from tracelens_tui.errors import UserError
from tracelens_tui.report.export import export_report, read_report, to_html
from tracelens_tui.report.render import write_report
from tracelens_tui.run.store import RunDir


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words += data


def test_markdown_carries_its_chart(reported: RunDir, tmp_path: Path) -> None:
    out = export_report(reported.path, tmp_path / "out.md")
    text, original = out.read_text(), read_report(reported.path)
    start, _, rest = text.partition("(data:image/png;base64,")
    image = rest.partition(")")[0]
    assert base64.b64decode(image) == (reported.path / "perf_improvement.png").read_bytes()
    assert f"{start}(perf_improvement.png){rest.partition(')')[2]}" == original


def test_a_folder_takes_analysis_md(reported: RunDir, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert export_report(reported.path, tmp_path / "out") == tmp_path / "out" / "analysis.md"


def test_without_a_chart_the_picture_goes(reported: RunDir, tmp_path: Path) -> None:
    (reported.path / "perf_improvement.png").unlink()
    assert "![" not in export_report(reported.path, tmp_path / "out.md").read_text()


def test_json(reported: RunDir, tmp_path: Path) -> None:
    out = export_report(reported.path, tmp_path / "out.JSON")
    assert json.loads(out.read_text()) == json.loads((reported.path / "analysis.json").read_text())


def test_html_has_everything_and_needs_nothing(reported: RunDir, tmp_path: Path) -> None:
    page = Page(export_report(reported.path, tmp_path / "out.html").read_text())
    assert page.tags.count("table") == 9
    assert [value for name, value in page.attributes if name == "id"] == [
        "detailed-analysis-compute-p1",
        "detailed-analysis-compute-p2",
        "detailed-analysis-fusion-P1",
        "detailed-analysis-system-p1",
    ]
    sources = [value or "" for name, value in page.attributes if name in {"src", "href"}]
    assert all(source.startswith(("data:image/png;base64,", "#detailed-analysis-")) for source in sources)
    assert page.tags.count("img") == 1
    assert "<!--" not in page.words
    assert "impact-begin" not in page.words
    for text in ("Tune the long bf16 products", "(8192,2432) bf16", "60.0% of 708 TFLOPS", "impact_score: 17.5"):
        assert text in page.words


def test_html_of_a_hostile_run_runs_nothing(run: RunDir, tmp_path: Path) -> None:
    poison(run)
    write_report(run)
    page = Page(export_report(run.path, tmp_path / "out.html").read_text())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.words
    assert not [value for name, value in page.attributes if name == "href" and not (value or "").startswith("#")]


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        '<a id="detailed-analysis-x" onclick="alert(1)"></a>',
        "<!-- impact-begin --><script>alert(1)</script>",
        "&lt;br onclick=1&gt;",
        "![x](perf_improvement.png)<svg onload=alert(1)>",
    ],
)
def test_a_tampered_report_runs_nothing_either(evil: str) -> None:
    page = Page(to_html(f"# {evil}\n\n{evil}\n\n| a |\n|---|\n| {evil} |\n", None))
    assert not {"script", "svg", "img"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not [value for name, value in page.attributes if name == "href" and "javascript" in (value or "")]


@pytest.mark.parametrize("suffix", [".pdf", "", ".MDX"])
def test_other_endings_are_refused(reported: RunDir, tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UserError, match=r"exported as one of \.md, \.json, \.html"):
        export_report(reported.path, tmp_path / f"out{suffix}")


def test_nothing_is_overwritten_unasked(reported: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    out.write_text("mine")
    with pytest.raises(UserError, match="is there already"):
        export_report(reported.path, out)
    assert out.read_text() == "mine"
    export_report(reported.path, out, overwrite=True)
    assert out.read_text().startswith("# Toy")


def test_a_place_that_cannot_be_written(reported: RunDir, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        export_report(reported.path, tmp_path / "missing" / "out.md")


@pytest.mark.parametrize("suffix", [".md", ".html", ".json"])
def test_a_run_without_a_report(run: RunDir, tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UserError, match="the run has no report yet"):
        export_report(run.path, tmp_path / f"out{suffix}")
    assert list(tmp_path.glob("out*")) == []


def test_no_such_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such run directory"):
        read_report(tmp_path / "missing")
