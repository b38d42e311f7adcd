"""The triton sub-agent: kernels that torch.compile generated, and a user's own."""

from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.triage.advice import all_rules
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import compute_findings


def analyse(assignment: Assignment) -> FindingsFile:
    """Return the findings by the rules of ``skills/triton``."""
    return compute_findings(assignment, all_rules("triton"), "Compiled kernels")
