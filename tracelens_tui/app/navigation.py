"""Where enter, t, K and the brackets lead: from a selection to another one, without widgets."""

from dataclasses import dataclass, replace

from tracelens_tui.app.drill import calls_of_kernel, calls_of_op, op_of_event, ops_of_finding
from tracelens_tui.app.lanes import gpu_event_under
from tracelens_tui.app.selection import JumpList, Place, Selection
from tracelens_tui.app.time_rows import TimeRow
from tracelens_tui.app.view import TraceView
from tracelens_tui.run.findings import Finding
from tracelens_tui.trace.partners import partner_of


@dataclass(frozen=True, slots=True)
class NoWay:
    """A jump that cannot be made, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Uses:
    """Where else a thing stands: op rows of a finding, or calls of an op."""

    word: str
    values: tuple[int, ...] = ()


class Navigator:
    """The jump list and the ways between findings, op rows and events."""

    def __init__(self) -> None:
        self.view: TraceView | None = None
        self.jumps = JumpList()
        self._uses: dict[str, Uses] = {}

    def from_finding(self, finding: Finding, selection: Selection) -> Place | NoWay:
        """Return the kernels row of the finding's first operation, or the time split where it has none."""
        if self.view is None:
            return NoWay("the trace is not open")
        rows = ops_of_finding(self.view.analysis, finding)
        self._uses["kernels"] = Uses("operation", tuple(rows))
        if rows:
            return Place("kernels", replace(selection, op=rows[0], kernel=None))
        if finding.operations:
            return NoWay("its operations are not in this trace's table")
        return Place("time", selection)

    def from_kernels(self, selection: Selection) -> Place | NoWay:
        """Return the tree node of the costliest call of the op or kernel row."""
        if self.view is None:
            return NoWay("the trace is not open")
        analysis = self.view.analysis
        if selection.kernel is not None:
            calls = calls_of_kernel(analysis, analysis.kernels.row(selection.kernel, named=True))
        elif selection.op is not None:
            calls = calls_of_op(analysis, selection.op)
        else:
            return NoWay("no row is chosen")
        self._uses["tree"] = Uses("call, by cost,", tuple(calls))
        return Place("tree", replace(selection, event=calls[0])) if calls else NoWay("it has no call in the trace")

    def from_event(self, event: int | None, selection: Selection) -> Place | NoWay:
        """Return the kernels row that an event is counted under."""
        if self.view is None or event is None or event < 0:
            return NoWay("no event is chosen")
        row = op_of_event(self.view.analysis, event)
        if row is None:
            return NoWay("it is counted under no op")
        return Place("kernels", replace(selection, op=row, kernel=None))

    def to_timeline(self, pane: str, selection: Selection, finding: Finding | None) -> Place | NoWay:
        """Return the GPU event of the selection on the timeline: the longest at or below it."""
        if self.view is None:
            return NoWay("the trace is not open")
        if pane == "findings" and finding is not None:
            found = self.from_finding(finding, selection)
            if isinstance(found, NoWay) or found.pane != "kernels":
                return found if isinstance(found, NoWay) else NoWay("the finding names no operation")
            pane, selection = found.pane, found.selection
        if pane == "kernels":
            found = self.from_kernels(selection)
            if isinstance(found, NoWay):
                return found
            selection = found.selection
        if selection.event is None or selection.event < 0:
            return NoWay("no event is chosen")
        event = gpu_event_under(self.view.analysis, selection.event)
        if event is None:
            return NoWay("nothing below it ran on a GPU")
        return Place("timeline", replace(selection, event=event))

    def from_linked(self, event: int | None, selection: Selection) -> Place | NoWay:
        """Return the backward op of a forward op or the other way round, see :func:`partner_of`."""
        if self.view is None or event is None or event < 0:
            return NoWay("no event is chosen")
        relations = self.view.relations
        partner = partner_of(relations.links, relations.recompute.events, self.view.analysis.tree, event)
        if partner < 0:
            return NoWay("no forward or backward op is linked to it")
        return Place("tree", replace(selection, event=partner))

    def from_time(self, row: TimeRow, selection: Selection) -> Place | NoWay:
        """Return what is behind a bar: the kernels of a category, the mark of a step, the event after a gap."""
        if row.event is not None:
            return Place("tree", replace(selection, event=row.event))
        if row.category is not None:
            return Place("kernels", replace(selection, op=None, kernel=None))
        return NoWay("nothing is behind this line")

    def other_use(self, pane: str, selection: Selection, step: int) -> tuple[Place, str] | NoWay:
        """Return the next or previous op of the finding, or call of the op, and its number in words."""
        if pane == "tree" and self._call_around(selection) is None:
            self._learn_calls(selection)
        uses = self._uses.get(pane)
        if uses is None or not uses.values:
            return NoWay("no other uses: come here by enter from a finding or a kernels row")
        current = selection.op if pane == "kernels" else self._call_around(selection)
        at = (uses.values.index(current) + step) % len(uses.values) if current in uses.values else 0
        value = uses.values[at]
        chosen = replace(selection, op=value, kernel=None) if pane == "kernels" else replace(selection, event=value)
        return Place(pane, chosen), f"{uses.word} {at + 1:,} of {len(uses.values):,}"

    def _call_around(self, selection: Selection) -> int | None:
        """The call among the known ones that is the selected event or around it."""
        uses = self._uses.get("tree")
        if self.view is None or uses is None or selection.event is None or selection.event < 0:
            return None
        calls = set(uses.values)
        around = [selection.event, *self.view.analysis.tree.ancestors(selection.event)]
        return next((event for event in around if event in calls), None)

    def _learn_calls(self, selection: Selection) -> None:
        """Take the calls of the op that the selected event belongs to."""
        if self.view is None or selection.event is None or selection.event < 0:
            return
        row = op_of_event(self.view.analysis, selection.event)
        if row is not None:
            self._uses["tree"] = Uses("call, by cost,", tuple(calls_of_op(self.view.analysis, row)))
