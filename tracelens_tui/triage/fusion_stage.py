"""What the prepare stage leaves for the kernel-fusion sub-agent."""

from tracelens_tui.run.manifest import ManifestCategory
from tracelens_tui.run.store import CATEGORY_DATA, metadata_file, metrics_file
from tracelens_tui.triage.agents import agent_of
from tracelens_tui.triage.context import run_context
from tracelens_tui.triage.fusion import CATEGORY, fusion_candidates, fusion_groups, fusion_metrics
from tracelens_tui.triage.fusion_advice import fusion_rules
from tracelens_tui.triage.fusion_pack import fusion_pack
from tracelens_tui.triage.pack import EvidenceFile, evidence_file
from tracelens_tui.triage.prepare_source import PrepareSource, SystemPart, category_metadata

CANDIDATES = f"{CATEGORY_DATA}/fusion_candidates.json"

_DISPLAY = "Kernel Fusion"


def prepare_fusion(source: PrepareSource) -> SystemPart:
    """Return candidates, metrics and pack of the chains; the sub-agent runs where there are some."""
    agent = agent_of(CATEGORY).id
    groups = fusion_groups(source)
    candidates = fusion_candidates(source, groups)
    metrics = fusion_metrics(source, groups, candidates)
    pack = fusion_pack(metrics, run_context(source.context, {}), fusion_rules())
    runs = bool(candidates.candidates)
    entry = ManifestCategory(
        name=CATEGORY,
        display_name=_DISPLAY,
        skill=agent,
        tier="system",
        ops_count=len(candidates.candidates),
        metadata_file=metadata_file(CATEGORY),
        data_file=CANDIDATES,
        priority=1,
        planned=runs,
        plan_rule=f"candidates for fusion {'>' if runs else '='} 0",
        plan_number=float(len(candidates.candidates)),
        plan_unit="candidates",
    )
    return SystemPart(
        entry,
        {
            CANDIDATES: candidates,
            metrics_file(CATEGORY): metrics,
            metadata_file(CATEGORY): category_metadata(source, CATEGORY, _DISPLAY),
            evidence_file(agent): EvidenceFile(agent=agent, categories={CATEGORY: pack}),
        },
    )
