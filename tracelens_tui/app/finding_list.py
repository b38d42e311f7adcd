"""Pane 1: the findings of a run, live."""

from collections.abc import Mapping, Sequence

from tracelens_tui.app.cells import thousands
from tracelens_tui.app.finding_rows import Ranked, finding_source
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.rows import Rows
from tracelens_tui.run.findings import Finding
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.state import RunState


class FindingList(Rows):
    """Findings by rank; new ones join without moving the cursor and stay marked until it has been on them."""

    keys = "enter kernels  a accept  x reject  u undo  . next new  s sort  e export"
    source: ListSource[Ranked]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's own name
        super().__init__(finding_source(()), label="1 Findings", id=id)
        self.fresh: set[str] = set()
        self.marks: dict[str, Mark] = {}
        self._words = ("no run yet",)
        self._known: frozenset[str] | None = None

    def show_run(self, run: RunState) -> None:
        """Show the findings of a state of the run."""
        ids = frozenset(finding.id for finding in run.findings)
        if self._known is not None:
            self.fresh |= ids - self._known
        elif run.live:
            self.fresh |= ids
        self._known = ids
        self.fresh &= ids
        self.explain(empty_words(run))
        if [ranked.finding for ranked in self.source.items] != list(run.findings):
            self.show(finding_source(run.findings, self.fresh, self.marks))
            self.look()

    def show_marks(self, marks: Mapping[str, Mark]) -> None:
        """Show the user's verdicts."""
        self.marks.clear()
        self.marks.update(marks)
        self.forget_strips()
        self.refresh()

    def finding(self) -> Finding | None:
        """Return the finding under the cursor."""
        return self.source.item(self.cursor).finding if self.cursor < len(self.source) else None

    def look(self) -> None:
        """Take the mark of a new finding off the row under the cursor, while the user is here."""
        if self.has_focus and self.key in self.fresh:
            self.fresh.discard(str(self.key))
            self.redraw(self.cursor)
            self.refresh_title()

    def next_fresh(self) -> bool:
        """Move to the next new finding; False where there is none."""
        shown = [str(self.source.key(row)) for row in range(len(self.source))]
        for row in [*range(self.cursor + 1, len(shown)), *range(self.cursor)]:
            if shown[row] in self.fresh:
                self.move_to(row)
                return True
        return False

    def status(self) -> str:
        """Return the count, and how many are new."""
        new = f"({thousands(len(self.fresh))} new)" if self.fresh else ""
        return f"{new} {super().status()}".strip()


def empty_words(run: RunState) -> Sequence[str]:
    """Return what an empty list of findings says of the run."""
    planned = [agent for agent in run.agents if agent.status != "skipped"]
    ended = [agent for agent in planned if agent.status in {"finished", "failed", "cancelled"}]
    if run.status == "starting":
        return ("the triage is starting…",)
    if run.status == "running":
        if not planned:
            stage = run.stages[-1].name if run.stages else "start"
            return (f"the triage is at work: {stage}…", "findings appear here as they land")
        return (f"agents are working ({len(ended)}/{len(planned)})…", "findings appear here as they land")
    if run.status == "finished":
        return ("no findings: nothing in this trace is worth a card", "2 Kernels and 4 Time show where the time goes")
    return (f"the run {_ENDS[run.status]} without findings", *([run.reason] if run.reason else []), _AGAIN)


_AGAIN = "r runs the triage again"
_ENDS = {"stale": "is stale, so far", "crashed": "crashed", "failed": "failed", "cancelled": "was cancelled"}
