"""What the prepare stage leaves for the multi-kernel sub-agent."""

from tracelens_tui.run.manifest import ManifestCategory
from tracelens_tui.run.store import CATEGORY_DATA, metadata_file, metrics_file
from tracelens_tui.triage.agents import MULTI_KERNEL
from tracelens_tui.triage.context import run_context
from tracelens_tui.triage.multi_kernel import CATEGORY, multi_kernel_data, multi_kernel_metrics
from tracelens_tui.triage.multi_kernel_advice import transfer_rules
from tracelens_tui.triage.multi_kernel_pack import multi_kernel_pack
from tracelens_tui.triage.pack import EvidenceFile, evidence_file
from tracelens_tui.triage.prepare_source import PrepareSource, SystemPart, category_metadata

DATA = f"{CATEGORY_DATA}/multi_kernel_data.json"

_DISPLAY = "Multi-Kernel Analysis"


def prepare_multi_kernel(source: PrepareSource) -> SystemPart:
    """Return data, metrics and pack of the transfers; the sub-agent runs where some of them are exposed."""
    data = multi_kernel_data(source.analysis, source.split)
    metrics = multi_kernel_metrics(source.analysis, source.split, data)
    steps = source.analysis.steps["event"].n_unique() or 1
    pack = multi_kernel_pack(metrics, run_context(source.context, {}), transfer_rules(), steps)
    use = source.utilization
    exposed = use.exposed_comm_time_percent + use.exposed_memcpy_time_percent
    runs = exposed > 0
    entry = ManifestCategory(
        name=CATEGORY,
        display_name=_DISPLAY,
        skill=MULTI_KERNEL.id,
        tier="system",
        ops_count=len(metrics.transfers),
        metadata_file=metadata_file(CATEGORY),
        data_file=DATA,
        priority=1,
        planned=runs,
        plan_rule=f"exposed communication and copies {'>' if runs else '='} 0 % of the window",
        plan_number=exposed,
    )
    return SystemPart(
        entry,
        {
            DATA: data,
            metrics_file(CATEGORY): metrics,
            metadata_file(CATEGORY): category_metadata(source, CATEGORY, _DISPLAY),
            evidence_file(MULTI_KERNEL.id): EvidenceFile(agent=MULTI_KERNEL.id, categories={CATEGORY: pack}),
        },
    )
