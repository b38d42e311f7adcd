"""What can be done with a run: follow it, cancel it, run again, judge findings, export and read the report."""

import asyncio
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tracelens_tui.app.dialogs import AskPath, Confirm
from tracelens_tui.app.in_thread import in_thread
from tracelens_tui.app.messages import ReportRead, RunChanged, RunFailed, RunStarted
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.report_lines import sections_of
from tracelens_tui.app.services import Services
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import Finding
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.state import RunState
from tracelens_tui.run.store import REPORT

LOOK_S = 0.5
"""How often the process of a triage is looked at that this app started."""


class RunScreen(Screen[None]):
    """A screen with a run directory behind it; the panes are the business of the subclass."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "export the report", id="export"),
        Binding("o", "pager", "report in the pager", id="pager"),
        Binding("c", "cancel_run", "cancel the run", id="cancel"),
        Binding("r", "run_again", "run again", id="again"),
        Binding("a", "mark('accepted')", "accept", id="accept"),
        Binding("x", "mark('rejected')", "reject", id="reject"),
        Binding("u", "mark('')", "undo", id="undo"),
        Binding("q,ctrl+c", "quit_app", "quit", id="quit"),
    ]

    def __init__(self, services: Services, options: AppOptions, trace: Path | None, run_dir: Path | None) -> None:
        super().__init__()
        self.services, self.options = services, options
        self.trace, self.run_dir = trace, run_dir
        self.run_state: RunState | None = None

    # What the subclass shows ---------------------------------------------------------------------------------------

    def flash(self, text: str) -> None:
        """Say something in one line for a while."""
        raise NotImplementedError

    def finding_chosen(self) -> Finding | None:
        """Return the finding that verdicts are for."""
        raise NotImplementedError

    def show_marks(self, marks: dict[str, Mark]) -> None:
        """Show the user's verdicts."""
        raise NotImplementedError

    # Following -----------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="start", exit_on_error=True)
    async def start_run(self, trace: Path, *, fresh: bool = False) -> None:
        """Start a triage, or take the run that is there; tell if it dies before there is a run."""
        try:
            started = await in_thread(lambda: self.services.start(trace, self.options, fresh=fresh))
        except UserError as error:
            self.post_message(RunFailed(str(error)))
            return
        self.post_message(RunStarted(started.run_dir))
        while started.alive():  # noqa: ASYNC110 - a process sets no event
            await asyncio.sleep(LOOK_S)
        fault = await in_thread(started.fault)
        if fault is not None:
            self.post_message(RunFailed(fault))

    @work(exclusive=True, group="follow", exit_on_error=True)
    async def follow_run(self, run_dir: Path) -> None:
        """Post every state of the run directory, as long as the screen lives."""
        try:
            async for state in self.services.follow(run_dir):
                self.post_message(RunChanged(state))
        except UserError as error:
            self.post_message(RunFailed(str(error)))

    @work(exclusive=True, group="report")
    async def read_report(self, run_dir: Path) -> None:
        """Read the report."""
        try:
            text = await in_thread(lambda: self.services.report(run_dir))
        except UserError as error:
            self.flash(str(error))
            return
        self.post_message(ReportRead(text))

    @work(exclusive=True, group="marks")
    async def read_marks(self, run_dir: Path) -> None:
        """Read the user's verdicts and note that the run was looked at."""
        try:
            marks = await in_thread(lambda: self.services.marks(run_dir))
            await in_thread(lambda: self.services.remember(run_dir))
        except UserError as error:
            self.flash(str(error))
            return
        self.show_marks(marks)

    # Acting --------------------------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """True while a triage works on the run."""
        return self.run_state is not None and self.run_state.live

    @work(exclusive=True, group="cancel")
    async def action_cancel_run(self) -> None:
        """Ask, then ask the triage to stop."""
        run_dir = self.run_dir
        if run_dir is None or not self.live:
            self.flash("no run goes on")
            return
        question = Confirm("Cancel the run?", "What it found so far stays in its directory.")
        if not await self.app.push_screen_wait(question):
            return
        try:
            await in_thread(lambda: self.services.cancel(run_dir))
        except UserError as error:
            self.flash(str(error))
            return
        self.flash("the triage was asked to stop")

    def action_run_again(self) -> None:
        """Ask, then start a triage into a fresh directory."""
        if self.trace is None:
            self.flash("the trace of this run is not here, so it cannot run again")
        elif self.live:
            self.flash("a run goes on: c cancels it")
        else:
            self.app.push_screen(Confirm("Run the triage again, into a fresh directory?"), self._again)

    def _again(self, yes: bool | None) -> None:  # noqa: FBT001 - the dialog's answer
        if yes and self.trace is not None:
            self.start_run(self.trace, fresh=True)

    @work(exclusive=True, group="mark")
    async def action_mark(self, verdict: str) -> None:
        """Keep a verdict on the chosen finding."""
        finding, run_dir = self.finding_chosen(), self.run_dir
        if finding is None or run_dir is None:
            self.flash("no finding is chosen")
            return
        mark = Mark.model_validate({"verdict": verdict or None})
        try:
            marks = await in_thread(lambda: self.services.mark(run_dir, finding.id, mark))
        except UserError as error:
            self.flash(str(error))
            return
        self.show_marks(marks)

    @work(exclusive=True, group="export")
    async def action_export(self) -> None:
        """Ask for a path, ask before a file is replaced, write whole or not at all."""
        run_dir = self.run_dir
        if run_dir is None or self.run_state is None or self.run_state.report is None:
            self.flash("no report yet: it is written when the run ends")
            return
        answer = await self.app.push_screen_wait(
            AskPath("Export the report to", str(_export_path(run_dir)), ".md, .json or .html by the name's ending")
        )
        if answer is None:
            return
        target, replace = await in_thread(lambda: _target(answer))
        if replace and not await self.app.push_screen_wait(Confirm("Replace this file?", str(target))):
            self.flash("not exported")
            return
        try:
            written = await in_thread(lambda: self.services.export(run_dir, target, overwrite=replace))
        except UserError as error:
            self.flash(str(error))
            return
        self.flash(f"written: {written}")

    @work(exclusive=True, group="pager")
    async def action_pager(self) -> None:
        """Open the report in the pager, without its pictures."""
        run_dir = self.run_dir
        if run_dir is None or self.run_state is None or self.run_state.report is None:
            self.flash("no report yet: it is written when the run ends")
            return
        try:
            text = await in_thread(lambda: self.services.report(run_dir))
        except UserError as error:
            self.flash(str(error))
            return
        self._page(text)

    def _page(self, markdown: str) -> None:
        """Give the terminal to the pager for as long as it runs."""
        pager = shlex.split(os.environ.get("PAGER", "")) or ["less" if shutil.which("less") else "more"]
        sections = sections_of(markdown)
        text = "\n".join("\n".join(["#" * one.level + " " + one.title, *one.body]) for one in sections)
        with tempfile.TemporaryDirectory(prefix="tracelens-tui-") as folder:
            file = Path(folder) / "analysis.md"
            file.write_text(text, encoding="utf-8")
            try:
                with self.app.suspend():
                    subprocess.run([*pager, str(file)], check=False)  # noqa: S603 - the user's own pager
            except SuspendNotSupported:
                self.flash("this terminal cannot be handed to a pager")
            except OSError as error:
                self.flash(f"{pager[0]}: {error.strerror}; set PAGER")
        self.refresh()

    @work(exclusive=True, group="quit")
    async def action_quit_app(self) -> None:
        """Quit; ask where a run goes on, and tell how to see it again."""
        if not self.live or self.run_dir is None:
            self.app.exit()
            return
        command = f"tracelens-tui watch {shlex.quote(str(self.run_dir))}"
        question = Confirm("Quit? The run goes on without the app.", f"See it again with: {command}", quits=True)
        if await self.app.push_screen_wait(question):
            self.app.exit(f"The run goes on. See it again with:\n  {command}")


def _target(answer: str) -> tuple[Path, bool]:
    """The path that was typed, and whether something lies there."""
    path = Path(answer).expanduser()
    path = path / REPORT if path.is_dir() else path
    return path, path.exists()


def _export_path(run_dir: Path) -> Path:
    """Where a report goes if the user says nothing else."""
    return Path.cwd() / f"{run_dir.name}_report.md"
