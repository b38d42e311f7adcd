"""The rules analyst: deterministic, offline, the default."""

from collections.abc import Callable, Mapping

from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.triage.analyzers import (
    attention,
    convolution,
    cpu_idle,
    elementwise,
    gemm,
    generic,
    kernel_fusion,
    moe,
    multi_kernel,
    norm,
    reduce,
    triton,
)
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.session import Session

_ANALYZERS: Mapping[str, Callable[[Assignment], FindingsFile]] = {
    "gemm": gemm.analyse,
    "attention": attention.analyse,
    "moe": moe.analyse,
    "elementwise": elementwise.analyse,
    "reduce": reduce.analyse,
    "norm": norm.analyse,
    "convolution": convolution.analyse,
    "triton": triton.analyse,
    "generic": generic.analyse,
    "cpu-idle": cpu_idle.analyse,
    "multi-kernel": multi_kernel.analyse,
    "kernel-fusion": kernel_fusion.analyse,
}


class RulesAnalyst:
    """Picks the analyzer of the sub-agent."""

    name = "rules"

    def analyse(self, assignment: Assignment) -> FindingsFile:
        """Return the findings by rule."""
        return _ANALYZERS[assignment.agent.id](assignment)


def rules_analyst(_session: Session) -> RulesAnalyst:
    """Return the rules analyst of a run."""
    return RulesAnalyst()
