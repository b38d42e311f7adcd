"""The hand-made run, with and without its report."""

import shutil
from pathlib import Path

import pytest

from tests.report.fixture_run import make_run
from tracelens_tui.report.render import write_report
from tracelens_tui.run.store import RunDir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """The run before its report."""
    return make_run(tmp_path / "run")


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its report, made once: drawing the chart takes a while."""
    run = make_run(tmp_path_factory.mktemp("original") / "run")
    write_report(run)
    return run.path


@pytest.fixture
def reported(original: Path, tmp_path: Path) -> RunDir:
    """The run with its report, a copy for one test."""
    shutil.copytree(original, tmp_path / "run")
    return RunDir(tmp_path / "run")
