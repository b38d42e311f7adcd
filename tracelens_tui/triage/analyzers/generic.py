"""The generic sub-agent: every category that has no sub-agent of its own."""

from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.triage.advice import all_rules
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import compute_findings

_NOUNS = {
    "other": "Ops without a category of their own",
    "multi_tensor_apply": "Multi-tensor ops",
}


def analyse(assignment: Assignment) -> FindingsFile:
    """Return the findings by the rules of ``skills/generic``."""
    noun = _NOUNS.get(assignment.category, "Ops of this category")
    return compute_findings(assignment, all_rules("generic"), noun)
