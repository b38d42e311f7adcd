"""The norm sub-agent: batch, layer, group and RMS norms."""

from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.triage.advice import all_rules
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import compute_findings


def analyse(assignment: Assignment) -> FindingsFile:
    """Return the findings by the rules of ``skills/norm``."""
    return compute_findings(assignment, all_rules("norm"), "Normalisations")
