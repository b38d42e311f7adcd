"""The evidence pack of the idle analysis: one cluster for each cause that is worth a finding."""

import re
from collections.abc import Mapping, Sequence

from tracelens_tui.run.idle_files import CpuIdleMetrics
from tracelens_tui.run.store import metrics_file
from tracelens_tui.triage.advice import references
from tracelens_tui.triage.facts import RunContext
from tracelens_tui.triage.idle import CauseFacts, LaunchFacts
from tracelens_tui.triage.idle_advice import IdleRule, IdleWhen
from tracelens_tui.triage.impact import MIN_MID, impact_of
from tracelens_tui.triage.pack import CategoryPack, Cluster, Fact, Facts, Match, span

CATEGORY = "cpu_idle"
_FILE = metrics_file(CATEGORY)


def idle_pack(
    metrics: CpuIdleMetrics,
    causes: Sequence[CauseFacts],
    launches: LaunchFacts,
    run: RunContext,
    rules: Sequence[IdleRule],
) -> CategoryPack:
    """Return the pack: a cluster for each cause whose idle time can win a card, by impact."""
    clusters: list[Cluster] = []
    kernel_us = None if launches.kernel_ns is None else launches.kernel_ns / 1e3
    for index, (cause, estimate) in enumerate(zip(causes, metrics.impact_estimates, strict=True)):
        if estimate.impact_score < MIN_MID:
            continue
        low = 0.0 if run.with_stack else None
        facts = _facts(index, cause, metrics, launches)
        clusters.append(
            Cluster(
                id=f"{CATEGORY}-{len(clusters) + 1}",
                band=cause.cause,
                impact=impact_of(estimate.impact_score_high, low=low),
                rows=[],
                facts=facts,
                matches=[_match(cause, facts, run, rules, kernel_us)],
            )
        )
    return CategoryPack(category=CATEGORY, clusters=clusters)


def _match(
    cause: CauseFacts, facts: Facts, run: RunContext, rules: Sequence[IdleRule], kernel_us: float | None
) -> Match:
    """The first rule that applies and whose title and observation can be told; the last applies to everything."""
    for rule in rules:
        told = {*facts, *rule.constants}
        if _applies(rule.when, cause, facts, run, kernel_us) and told.issuperset(
            references([rule.title, rule.observation])
        ):
            break
    else:
        raise ValueError(f"no idle rule applies to the cause {cause.cause}")
    used = {"idle", *references(rule.texts())}
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


def _applies(when: IdleWhen, cause: CauseFacts, facts: Facts, run: RunContext, kernel_us: float | None) -> bool:
    return (
        when.vendor in (None, run.vendor)
        and (not when.cause or cause.cause in when.cause)
        and _found(when.function, cause.function)
        and _found(when.call, cause.call)
        and when.host_recorded in (None, "no_host" not in run.quality)
        and (when.busy is None or when.busy.holds(_number(facts, "busy")))
        and (when.kernel_time_us is None or when.kernel_time_us.holds(kernel_us))
    )


def _found(pattern: str | None, name: str | None) -> bool:
    return pattern is None or (name is not None and re.search(pattern, name) is not None)


def _number(facts: Mapping[str, Fact], name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return value if isinstance(value, int | float) else None


def _facts(index: int, cause: CauseFacts, metrics: CpuIdleMetrics, launches: LaunchFacts) -> Facts:
    """What may be stated about the idle time of one cause."""
    place = f"causes[{index}]"
    busy = 100 - metrics.gpu_utilization.idle_time_percent
    facts: Facts = {
        "idle": _cell(cause.idle_ns / 1e6, "idle time in steps", "ms", f"{place}.time_ms", digits=2),
        "share": _cell(metrics.causes[index].percent_of_total, "share of the window", "%", f"{place}.percent_of_total"),
        "gaps": _cell(cause.gaps, "gaps", "", f"{place}.count"),
        "mean": span(cause.idle_ns / cause.gaps / 1e3, "mean gap"),
        "longest": span(cause.longest_ns / 1e3, "longest gap"),
        "busy": Fact(value=busy, label="busy time of the window", unit="%"),
    }
    if cause.function is not None:
        facts["function"] = Fact(value=cause.function, label="function responsible for most of it")
        facts["function_share"] = Fact(
            value=100 * cause.function_ns / cause.idle_ns, label="its part of this idle time", unit="%", digits=0
        )
    if cause.call is not None:
        facts["call"] = Fact(value=cause.call, label="innermost host event that takes most of it")
    return facts | _launch_facts(launches)


def _launch_facts(launches: LaunchFacts) -> Facts:
    medians = (
        ("interval", launches.interval_ns, "median launch interval"),
        ("delay", launches.delay_ns, "median time from launch to start"),
        ("kernel_time", launches.kernel_ns, "median kernel duration"),
    )
    facts: Facts = {name: span(ns / 1e3, label) for name, ns, label in medians if ns is not None}
    if launches.launches:
        facts["launches"] = Fact(value=launches.launches, label="launches")
    return facts


def _cell(value: float, label: str, unit: str, key: str, digits: int = 1) -> Fact:
    return Fact(value=value, label=label, unit=unit, digits=digits, source=_FILE, key=key)
