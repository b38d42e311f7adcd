"""The hand-made run, with and without its report."""

from pathlib import Path

import pytest

from tests.report.fixture_run import make_run
from tracelens_tui.report.render import write_report
from tracelens_tui.run.store import RunDir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """The run before its report."""
    return make_run(tmp_path / "run")


@pytest.fixture
def reported(run: RunDir) -> RunDir:
    """The run with its report."""
    write_report(run)
    return run
