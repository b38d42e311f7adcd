"""The evidence pack of the kernel-fusion sub-agent: one cluster for each candidate that is worth a finding."""

import re
from collections.abc import Sequence

from tracelens_tui.run.fusion_files import FusionSaving, KernelFusionMetrics
from tracelens_tui.run.store import metrics_file
from tracelens_tui.triage.advice import references
from tracelens_tui.triage.facts import RunContext
from tracelens_tui.triage.fusion import CATEGORY
from tracelens_tui.triage.fusion_advice import FusionRule, FusionWhen
from tracelens_tui.triage.impact import impact_of
from tracelens_tui.triage.pack import CategoryPack, Cluster, Fact, Facts, Match

_FILE = metrics_file(CATEGORY)


def fusion_pack(metrics: KernelFusionMetrics, run: RunContext, rules: Sequence[FusionRule]) -> CategoryPack:
    """Return the pack: a cluster for each candidate whose claim can win a card."""
    clusters: list[Cluster] = []
    for index, saving in enumerate(metrics.savings):
        if saving.finding is None:
            continue
        facts = _facts(index, saving, run.window_ms)
        clusters.append(
            Cluster(
                id=saving.finding,
                bound=saving.bound_type,
                impact=impact_of(saving.claimed_percent),
                rows=[],
                facts=facts,
                matches=[_match(saving, facts, run, rules)],
            )
        )
    return CategoryPack(category=CATEGORY, clusters=clusters)


def _match(saving: FusionSaving, facts: Facts, run: RunContext, rules: Sequence[FusionRule]) -> Match:
    """The first rule that applies and whose title and observation can be told; the last apply to everything."""
    for rule in rules:
        told = {*facts, *rule.constants}
        if _applies(rule.when, saving, run) and told.issuperset(references([rule.title, rule.observation])):
            break
    else:
        raise ValueError(f"no rule applies to the chain {saving.operation}")
    used = {"removed", *references(rule.texts())}
    return Match(
        rule=rule.id,
        rows=[],
        gap_share=1.0,
        facts={name: fact for name, fact in facts.items() if name in used},
        constants={
            name: Fact(value=one.value, label=f"{one.label} ({one.source})", unit=one.unit, digits=one.digits)
            for name, one in rule.constants.items()
        },
    )


def _applies(when: FusionWhen, saving: FusionSaving, run: RunContext) -> bool:
    return (
        when.vendor in (None, run.vendor)
        and when.training in (None, run.training)
        and when.matrix in (None, saving.fusion_type == "matrix_compute")
        and (when.ops is None or re.search(when.ops, saving.operation) is not None)
        and (when.module is None or re.search(when.module, saving.module.lower()) is not None)
        and (when.kernels is None or when.kernels.holds(saving.kernel_count))
    )


def _facts(index: int, saving: FusionSaving, window_ms: float) -> Facts:
    """What may be stated about the chains of one candidate."""
    place = f"savings[{index}]"
    share = 100 * saving.time_ms / window_ms if window_ms else 0.0
    mean = 1e3 * saving.time_ms / saving.instance_count
    facts: Facts = {
        "time": _cell(saving.time_ms, "time of all chains", "ms", f"{place}.time_ms", digits=2),
        "share": Fact(value=share, label="share of the window", unit="%"),
        "mean": Fact(value=mean, label="time of one chain", unit="µs"),
        "count": _cell(saving.instance_count, "chains", "", f"{place}.instance_count", digits=0),
        "kernels": _cell(saving.kernel_count, "kernels in a chain", "", f"{place}.kernel_count", digits=0),
        "ops": _cell(saving.operation, "ops in order", "", f"{place}.operation"),
        "removed": _cell(saving.removed_ms, "time of moving intermediates", "ms", f"{place}.removed_ms", digits=2),
        "part": _cell(
            saving.removed_percent, "part of the other kernels' time", "%", f"{place}.removed_percent", digits=0
        ),
        "claimed": _cell(saving.claimed_ms, "part that no other finding claims", "ms", f"{place}.claimed_ms", digits=2),
    }
    if saving.matrix_ms:
        facts["matrix"] = _cell(saving.matrix_ms, "matrix products in it", "ms", f"{place}.matrix_ms", digits=2)
    for text, key in ((saving.module, "module"), (saving.host_call, "host_call")):
        if text:
            facts.setdefault("module", _cell(text, "innermost call around the chain", "", f"{place}.{key}"))
    return facts


def _cell(value: float | str, label: str, unit: str, key: str, digits: int = 1) -> Fact:
    return Fact(value=value, label=label, unit=unit, digits=digits, source=_FILE, key=key)
