"""Commands without a terminal: follow a run as lines of text, print what the demo finds."""

import asyncio
import json
import tempfile
from pathlib import Path

from tracelens_tui.console import err, out
from tracelens_tui.errors import UserError
from tracelens_tui.progress import line_of, progress
from tracelens_tui.run.follow import follow
from tracelens_tui.run.journal import JournalReader
from tracelens_tui.run.state import RunState
from tracelens_tui.text import percent, plain


def print_run(run_dir: Path) -> int:
    """Print a run's progress until it ends; return 0 with a report, 3 without."""
    state = asyncio.run(_print_until_ended(run_dir))
    if state.status != "finished":
        out(f"run {state.status}: {plain(state.reason) or 'it ended without a report'}")
        return 3
    out(f"report: {run_dir / (state.report or 'analysis.md')}")
    return 0


async def _print_until_ended(run_dir: Path) -> RunState:
    """Print the journal's lines as they come; return the last state."""
    journal = JournalReader(run_dir / "events.jsonl")
    if not (run_dir / "events.jsonl").exists():
        err(f"waiting for a run to begin in {run_dir}; ctrl+c ends the waiting")
    state = RunState()
    async for state in follow(run_dir):
        for event in journal.read():
            line = line_of(event)
            if line is not None:
                out(line)
        if not state.live:
            break
    return state


def print_demo(trace: Path) -> int:
    """Run the triage on the sample trace in a temporary directory and print what it found."""
    from tracelens_tui.triage.orchestrator import TriageRequest, run_triage

    with tempfile.TemporaryDirectory(prefix="tracelens-tui-demo-") as folder:
        run_dir = Path(folder) / "run"
        with progress(live=False) as listener:
            outcome = run_triage(TriageRequest(trace=trace, run_dir=run_dir), listener=listener)
        if outcome.exit_code:
            raise UserError(f"the demo run ended without a report: {outcome.message}")
        for line in summary_lines(run_dir):
            out(line)
    return 0


def summary_lines(run_dir: Path) -> list[str]:
    """Return the report's executive summary and its findings by rank, one line each."""
    report = (run_dir / "analysis.md").read_text(encoding="utf-8")
    title, _, rest = report.partition("\n")
    summary = rest.partition("## Executive Summary")[2].partition("\n## ")[0].strip()
    lines = [title.lstrip("# "), "", *(line for line in summary.splitlines() if not line.startswith("!["))]
    findings = json.loads((run_dir / "analysis.json").read_text(encoding="utf-8"))["findings"]
    lines += ["", f"{len(findings)} findings, by what they can win of the window:"]
    for finding in findings:
        mid = finding["impact"]["mid"]
        lines.append(f"  {finding['rank']:>2}. {percent(mid):>8}  {finding['tier']:<8} {finding['title']}")
    return lines
