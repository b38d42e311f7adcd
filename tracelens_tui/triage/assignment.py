"""What one sub-agent gets to work with, for one category: data of the run directory only."""

from dataclasses import dataclass
from typing import TypeVar

from tracelens_tui.run.category_files import CategoryMetrics
from tracelens_tui.run.findings import Schema
from tracelens_tui.run.manifest import ManifestCategory
from tracelens_tui.triage.agents import AgentSpec
from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.pack import CategoryPack, evidence_file

AnySchema = TypeVar("AnySchema", bound=Schema)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One sub-agent, one category: the tables about it and what may be stated."""

    agent: AgentSpec
    entry: ManifestCategory
    metrics: CategoryMetrics | None  # None for a system sub-agent
    system: Schema | None  # the metrics of a system sub-agent, None for a compute one
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

    def system_metrics(self, schema: type[AnySchema]) -> AnySchema:
        """Return the metrics of the system sub-agent; raises TypeError where they are of another one."""
        if not isinstance(self.system, schema):
            raise TypeError(f"{self.agent.id} has no {schema.__name__}")
        return self.system
