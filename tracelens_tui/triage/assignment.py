"""What one sub-agent gets to work with, for one category: data of the run directory only."""

from dataclasses import dataclass

from tracelens_tui.run.manifest import CategoryMetrics, CpuIdleMetrics, ManifestCategory
from tracelens_tui.triage.agents import AgentSpec
from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.pack import CategoryPack, evidence_file


@dataclass(frozen=True, slots=True)
class Assignment:
    """One sub-agent, one category: the tables about it and what may be stated."""

    agent: AgentSpec
    entry: ManifestCategory
    metrics: CategoryMetrics | None  # None for the idle analysis
    idle: CpuIdleMetrics | None  # None for every other
    ops: tuple[OpFacts, ...]
    run: RunContext
    pack: CategoryPack

    @property
    def category(self) -> str:
        """The category's name in the manifest."""
        return self.entry.name

    @property
    def evidence_file(self) -> str:
        """Where the pack stands, relative to the run directory."""
        return evidence_file(self.agent.id)
