"""What every analyst does: turn an assignment into findings."""

from collections.abc import Callable
from typing import Protocol

from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.session import Session


class Analyst(Protocol):
    """Writes the findings of one sub-agent on one category; called from worker threads."""

    @property
    def name(self) -> str:
        """The analyst's name in journal and findings."""
        ...

    def analyse(self, assignment: Assignment) -> FindingsFile:
        """Return the findings; raises TriageError where the sub-agent cannot do its work."""
        ...


MakeAnalyst = Callable[[Session], Analyst]
"""Makes the analyst of a run that begins."""
