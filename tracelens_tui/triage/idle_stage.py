"""What the prepare stage leaves for the cpu-idle sub-agent."""

from tracelens_tui.run.manifest import ManifestCategory
from tracelens_tui.run.store import metadata_file, metrics_file
from tracelens_tui.triage.agents import CPU_IDLE
from tracelens_tui.triage.context import run_context
from tracelens_tui.triage.idle import IDLE_PERCENT, idle_causes, idle_metrics, launch_facts
from tracelens_tui.triage.idle_advice import idle_rules
from tracelens_tui.triage.idle_pack import CATEGORY, idle_pack
from tracelens_tui.triage.pack import EvidenceFile, evidence_file
from tracelens_tui.triage.prepare_source import PrepareSource, SystemPart, category_metadata

_DISPLAY = "CPU/Idle Analysis"


def prepare_idle(source: PrepareSource) -> SystemPart:
    """Return the metrics and the pack of the idle analysis; it runs where the device is idle for long enough."""
    causes = idle_causes(source.analysis)
    metrics = idle_metrics(source.analysis, source.split, causes)
    pack = idle_pack(metrics, causes, launch_facts(source.analysis), run_context(source.context, {}), idle_rules())
    idle = source.utilization.idle_time_percent
    runs, rule = idle_decision(idle)
    entry = ManifestCategory(
        name=CATEGORY,
        display_name=_DISPLAY,
        skill=CPU_IDLE.id,
        tier="system",
        ops_count=0,
        metadata_file=metadata_file(CATEGORY),
        data_file=metrics_file(CATEGORY),
        priority=0,
        planned=runs,
        plan_rule=rule,
        plan_number=idle,
    )
    return SystemPart(
        entry,
        {
            metrics_file(CATEGORY): metrics,
            metadata_file(CATEGORY): category_metadata(source, CATEGORY, _DISPLAY),
            evidence_file(CPU_IDLE.id): EvidenceFile(agent=CPU_IDLE.id, categories={CATEGORY: pack}),
        },
    )


def idle_decision(percent: float) -> tuple[bool, str]:
    """Return whether so much idle time of the window (in %) calls for the sub-agent, and the rule as a clause."""
    runs = percent > IDLE_PERCENT
    return runs, f"idle time of the window {'>' if runs else '<='} {IDLE_PERCENT:g} %"
