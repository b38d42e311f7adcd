"""Run a whole triage against the tests' own server."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.claude.speaking import Talker
from tracelens_tui.claude.analyst import ClaudeAnalyst, Plan, plan_of
from tracelens_tui.claude.client import Patience
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.orchestrator import TriageOutcome, TriageRequest, run_triage
from tracelens_tui.triage.request import ClaudeOptions

KEY = "sk-ant-a-key-that-must-not-leak-0123456789"
FAST = Patience(connect_s=2.0, idle_s=0.6, attempts=3, first_wait_s=0.01, longest_wait_s=0.02, longest_asked_s=1.0)


def plan(server: Talker, monkeypatch: pytest.MonkeyPatch, **options) -> Plan:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    return replace(plan_of(ClaudeOptions(**options)), patience=FAST)


def triage(trace: Path, run: Path, made: Plan, **options) -> TriageOutcome:
    request = TriageRequest(trace, run_dir=run, use_cache=False, analyst="claude", claude=ClaudeOptions(), **options)
    return run_triage(request, analyst=lambda session: ClaudeAnalyst(session, made))


def findings(run: Path) -> dict[str, FindingsFile]:
    return {file.category: file for file in RunDir(run).read_findings().values()}
