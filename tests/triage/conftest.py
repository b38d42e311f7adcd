"""Fixtures of the triage tests."""

from pathlib import Path

import pytest

from tests.triage.making import mixed
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace with findings in four categories."""
    return mixed(tmp_path / "mixed.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of a finished triage of that trace; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    outcome = run_triage(TriageRequest(mixed(folder / "mixed.json"), run_dir=folder / "run", use_cache=False))
    assert outcome.exit_code == 0, outcome.message
    return folder / "run"
