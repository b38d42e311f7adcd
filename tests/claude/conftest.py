"""Fixtures of the tests of the Claude analyst."""

from pathlib import Path

import pytest

from tests.triage.making import mixed
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace with findings in four categories."""
    return mixed(tmp_path / "mixed.json")


@pytest.fixture
def rules_run(trace: Path, tmp_path: Path) -> Path:
    """The run directory of the same trace's triage by rules."""
    outcome = run_triage(TriageRequest(trace, run_dir=tmp_path / "rules", use_cache=False))
    assert outcome.exit_code == 0, outcome.message
    return outcome.run_dir
