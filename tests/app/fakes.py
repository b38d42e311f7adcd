"""Services that need no files, no processes and no clock."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

from tests.app import data
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.preparing import Step
from tracelens_tui.app.services import Services
from tracelens_tui.app.starting import Started
from tracelens_tui.errors import UserError
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.recent import RecentRun
from tracelens_tui.run.state import RunState


class FakeServices(Services):
    """States are pushed by the test; every call is written down."""

    def __init__(self, states: Sequence[RunState] = (), analysis: Analysis | None = None) -> None:
        self.queue: asyncio.Queue[RunState] = asyncio.Queue()
        for state in states:
            self.queue.put_nowait(state)
        self.made = analysis or data.make_analysis()
        self.calls: list[str] = []
        self.clock = data.NOW
        self.steps: Sequence[Step] = (Step("start"), Step("parse", 512, 1024), Step("ready", ready=True))
        self.fault: str | None = None
        self.trace_fault: str | None = None
        self.kept: dict[str, Mark] = {}
        self.runs: list[RecentRun] = []
        self.exported: dict[Path, str] = {}
        self.hold: asyncio.Event | None = None
        self.started: Started | None = None

    def now(self) -> datetime:
        return self.clock

    async def prepare(self, trace: Path, options: AppOptions, folder: Path) -> AsyncIterator[Step]:  # type: ignore[override]
        self.calls.append(f"prepare {trace}")
        for step in self.steps:
            if step.ready and self.hold is not None:
                await self.hold.wait()
            yield step
        if self.fault is not None:
            raise UserError(self.fault)

    def analysis(self, folder: Path) -> Analysis:
        return self.made

    async def follow(self, run_dir: Path) -> AsyncIterator[RunState]:  # type: ignore[override]
        self.calls.append(f"follow {run_dir}")
        while True:
            yield await self.queue.get()

    def start(self, trace: Path, options: AppOptions, *, fresh: bool) -> Started:
        self.calls.append(f"start {trace.name} fresh={fresh}")
        return self.started or Started(Path("/runs/llama-2") if fresh else Path("/runs/llama"))

    def cancel(self, run_dir: Path) -> None:
        self.calls.append(f"cancel {run_dir}")

    def trace_of(self, run_dir: Path) -> Path:
        if self.trace_fault is not None:
            raise UserError(self.trace_fault)
        return Path("/traces/llama_step.json.gz")

    def options_of(self, run_dir: Path, options: AppOptions) -> AppOptions:
        return options

    def report(self, run_dir: Path) -> str:
        return data.REPORT

    def export(self, run_dir: Path, target: Path, *, overwrite: bool) -> Path:
        self.calls.append(f"export {target.name} overwrite={overwrite}")
        target.write_text(data.REPORT)
        return target

    def marks(self, run_dir: Path) -> dict[str, Mark]:
        return dict(self.kept)

    def mark(self, run_dir: Path, finding: str, mark: Mark) -> dict[str, Mark]:
        self.kept[finding] = mark
        return dict(self.kept)

    def recent(self) -> list[RecentRun]:
        return self.runs

    def remember(self, run_dir: Path) -> None:
        self.calls.append(f"remember {run_dir}")
