"""Which sub-agents run, and why: each decision is a rule and the number that decided."""

from dataclasses import dataclass

from tracelens_tui.run.findings import Tier
from tracelens_tui.run.manifest import CategoryManifest, ManifestCategory
from tracelens_tui.triage.agents import AgentSpec, agent_of
from tracelens_tui.triage.impact import MIN_MID


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a sub-agent runs on a category."""

    agent: AgentSpec
    category: str
    planned: bool
    rule: str
    number: float
    unit: str = "%"

    @property
    def tier(self) -> Tier:
        """The tier of the sub-agent's findings."""
        return self.agent.tier


def decisions(manifest: CategoryManifest) -> list[Decision]:
    """Return a decision for every category of the manifest, in its order."""
    return [_decide(category, manifest) for category in manifest.categories]


def planned(manifest: CategoryManifest) -> CategoryManifest:
    """Return the manifest with the decisions in it."""
    categories = [
        category.model_copy(
            update={
                "planned": one.planned,
                "plan_rule": one.rule,
                "plan_number": one.number,
                "plan_unit": one.unit,
            }
        )
        for category, one in zip(manifest.categories, decisions(manifest), strict=True)
    ]
    return manifest.model_copy(update={"categories": categories})


def _decide(category: ManifestCategory, manifest: CategoryManifest) -> Decision:
    agent = agent_of(category.name)
    use = manifest.gpu_utilization
    if category.tier == "system":  # decided where its metrics were computed
        return Decision(
            agent, category.name, category.planned, category.plan_rule, category.plan_number or 0.0, category.plan_unit
        )
    time = category.gpu_kernel_time_ms or 0.0
    share = 100 * time / use.total_time_ms if use.total_time_ms else 0.0
    enough = share >= MIN_MID
    rule = f"kernel time of the window {'>=' if enough else '<'} {MIN_MID:g} %, the least that a finding can win"
    return Decision(agent, category.name, enough, rule, share)
