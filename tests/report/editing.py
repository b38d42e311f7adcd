"""Changing a run's files and looking at its report."""

import json
from collections.abc import Callable
from typing import Any

from tests.report.fixture_run import write_csv
from tracelens_tui.report.inputs import read_inputs
from tracelens_tui.report.render import report_markdown
from tracelens_tui.run.store import RunDir

QUALITY = ("code", "count", "message", "effect", "share_of_busy", "gates")


def edit(run: RunDir, relative: str, change: Callable[[Any], object]) -> None:
    """Change the JSON of a file."""
    path = run.path / relative
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def text_of(run: RunDir) -> str:
    return report_markdown(read_inputs(run), chart=False)


def section(text: str, title: str) -> str:
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def set_quality(run: RunDir, *rows: tuple[object, ...]) -> None:
    """Give the trace these defects."""
    write_csv(run, "perf_report_csvs/quality.csv", QUALITY, rows)
