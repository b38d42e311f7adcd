"""The evidence pack of the multi-kernel sub-agent: one cluster for each group of transfers that is worth a finding."""

import re
from collections.abc import Mapping, Sequence

from tracelens_tui.run.multi_kernel_files import MultiKernelMetrics, TransferGroup
from tracelens_tui.run.store import metrics_file
from tracelens_tui.triage.advice import references
from tracelens_tui.triage.facts import MIB, RunContext
from tracelens_tui.triage.impact import MIN_MID, impact_of
from tracelens_tui.triage.multi_kernel import CATEGORY
from tracelens_tui.triage.multi_kernel_advice import TransferRule, TransferWhen
from tracelens_tui.triage.pack import CategoryPack, Cluster, Fact, Facts, Match, span

_FILE = metrics_file(CATEGORY)
_KINDS = {
    "H2D": "copies from host to device",
    "D2H": "copies from device to host",
    "D2D": "copies inside the device",
    "P2P": "copies between devices",
    "other": "copies of unknown direction",
    "unnamed": "collectives of unknown kind",
}


def multi_kernel_pack(
    metrics: MultiKernelMetrics, run: RunContext, rules: Sequence[TransferRule], steps: int
) -> CategoryPack:
    """Return the pack: a cluster for each group whose exposed time can win a card; ``steps`` is at least 1."""
    clusters: list[Cluster] = []
    for index, group in enumerate(metrics.transfers):
        impact = impact_of(group.winnable_percent)
        if (impact.mid or 0.0) < MIN_MID:
            continue
        facts = _facts(index, group)
        clusters.append(
            Cluster(
                id=f"{CATEGORY}-{len(clusters) + 1}",
                band=group.name,
                impact=impact,
                rows=[],
                facts=facts,
                matches=[_match(group, facts, run, rules, steps)],
            )
        )
    return CategoryPack(category=CATEGORY, clusters=clusters)


def _match(group: TransferGroup, facts: Facts, run: RunContext, rules: Sequence[TransferRule], steps: int) -> Match:
    """The first rule that applies and whose title and observation can be told; the last apply to everything."""
    for rule in rules:
        told = {*facts, *rule.constants}
        if _applies(rule.when, group, run, steps) and told.issuperset(references([rule.title, rule.observation])):
            break
    else:
        raise ValueError(f"no rule applies to the transfers {group.name}")
    used = {"exposed", *references(rule.texts())}
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


def _applies(when: TransferWhen, group: TransferGroup, run: RunContext, steps: int) -> bool:
    size = None if group.median_bytes is None else group.median_bytes / MIB
    kind = group.name.lower().replace("_", "")
    pairs = (
        (when.size_mib, size),
        (when.count, float(group.count)),
        (when.per_step, group.count / steps),
        (when.rate_gbps, group.rate_gbps),
        (when.hidden, group.hidden_percent),
        (when.same_stream, group.same_stream_percent),
    )
    return (
        when.vendor in (None, run.vendor)
        and when.kind in (None, group.kind)
        and (not when.direction or group.name in when.direction)
        and when.memory in (None, group.memory)
        and (when.collective is None or re.search(when.collective, kind) is not None)
        and when.training in (None, run.training)
        and all(wanted is None or wanted.holds(value) for wanted, value in pairs)
    )


def _facts(index: int, group: TransferGroup) -> Facts:
    """What may be stated about the transfers of one group."""
    place = f"transfers[{index}]"
    facts: Facts = {
        "kind": Fact(value=_KINDS.get(group.name, group.name), label="what they are"),
        "exposed": _cell(group.exposed_ms, "time that nothing hides", "ms", f"{place}.exposed_ms", digits=2),
        "share": _cell(group.exposed_percent, "share of the window", "%", f"{place}.exposed_percent"),
        "time": _cell(group.time_ms, "their time", "ms", f"{place}.time_ms", digits=2),
        "count": _cell(group.count, "transfers", "", f"{place}.count", digits=0),
        "mean": span(group.mean_us, "mean time", _FILE, f"{place}.mean_us"),
        "longest": span(group.longest_us, "longest", _FILE, f"{place}.longest_us"),
    }
    numbers: Mapping[str, tuple[float | None, str, str, str]] = {
        "hidden": (group.hidden_percent, "part beside other work", "%", "hidden_percent"),
        "rate": (group.rate_gbps, "rate", "GB/s", "rate_gbps"),
        "bus": (group.bus_gbps, "bus bandwidth", "GB/s", "bus_gbps"),
        "same_stream": (
            group.same_stream_percent or None,
            "part on a stream that computes",
            "%",
            "same_stream_percent",
        ),
        "winnable": (
            group.winnable_percent if group.winnable_percent < group.exposed_percent else None,
            "what compute has room to hide, of the window",
            "%",
            "winnable_percent",
        ),
    }
    facts |= {
        name: _cell(value, label, unit, f"{place}.{key}")
        for name, (value, label, unit, key) in numbers.items()
        if value is not None
    }
    if group.median_bytes is not None:
        scale = f"{place}.median_bytes,scale={1 / MIB!r}"
        facts["size"] = _cell(group.median_bytes / MIB, "median message", "MiB", scale, digits=2)
    if group.group_size is not None:
        facts["ranks"] = _cell(group.group_size, "ranks", "ranks", f"{place}.group_size", digits=0)
    for name, text in (("group", group.group), ("waiter", group.waiter)):
        if text:
            facts[name] = _cell(
                text, {"group": "process group", "waiter": "what waits for them"}[name], "", f"{place}.{name}"
            )
    return facts


def _cell(value: float | str, label: str, unit: str, key: str, digits: int = 1) -> Fact:
    return Fact(value=value, label=label, unit=unit, digits=digits, source=_FILE, key=key)
