"""The app with nothing faked: the child reads a generated trace, a triage runs in its own session, the panes fill."""

from pathlib import Path

import pytest

from tests.app.conftest import ready, screen_text, until
from tracelens_tui.app.app import TraceLensApp
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.report_view import ReportView
from tracelens_tui.app.services import Services
from tracelens_tui.evals.demo import demo_trace


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return demo_trace()


def app_on(target: Path, tmp_path: Path) -> TraceLensApp:
    return TraceLensApp(target, AppOptions(), Services(), tmp_path / "scratch")


async def test_open_triage_read_drill_and_watch_again(trace: Path, tmp_path: Path):
    (tmp_path / "scratch").mkdir()
    async with app_on(trace, tmp_path).run_test(size=(120, 40)) as pilot:
        bench = await ready(pilot)
        await until(pilot, lambda: bench.run_state is not None and bench.run_state.status == "finished", limit=60)
        findings = bench.query_one(FindingList)
        await until(pilot, lambda: len(findings.source) > 0 and bool(bench.query_one(ReportView).sections))
        run_dir = bench.run_dir
        with_kernels = next(one for one in findings.source.items if one.finding.operations)
        findings.focus()
        findings.move_to_key(with_kernels.finding.id)
        await pilot.pause()
        await pilot.press("enter")
        table = bench.query_one(KernelTable)
        assert table.has_focus
        assert with_kernels.finding.operations[0].name in table.source.text(table.cursor)
        await pilot.press("enter", "7")
        assert "section 1 of" in screen_text(pilot)
        count = len(findings.source)
    assert run_dir is not None
    assert run_dir.is_relative_to(tmp_path / "tracelens_runs")
    async with app_on(run_dir, tmp_path).run_test(size=(80, 24)) as pilot:
        bench = await ready(pilot)
        assert len(bench.query_one(FindingList).source) == count
        assert len(bench.query_one(KernelTable).source) > 0


async def test_a_file_that_is_no_trace(tmp_path: Path):
    picture = tmp_path / "x.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    async with app_on(picture, tmp_path).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "error:" in screen_text(pilot), limit=30)
        assert "PNG" in screen_text(pilot)
