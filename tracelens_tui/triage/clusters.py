"""The evidence pack of a compute category: clusters, the rules that apply to them, and what may be stated."""

import math
from collections.abc import Mapping, Sequence

from tracelens_tui.run.category_files import CategoryFinding
from tracelens_tui.run.store import metrics_file, table_file
from tracelens_tui.text import plain
from tracelens_tui.triage.advice import Rule, references
from tracelens_tui.triage.facts import OpFacts, RunContext, Scalar
from tracelens_tui.triage.impact import UNKNOWN, impact_of
from tracelens_tui.triage.match import Subject, applies, subjects
from tracelens_tui.triage.pack import CategoryPack, Cluster, Fact, Facts, Match, span
from tracelens_tui.triage.traits import Facts as TraitFacts

UNMODELLED_PERCENT = 5.0
"""Share of the window from which time without a model is told when nothing else can be said of it."""
UNMODELLED_RULE_PERCENT = 2.0
"""The same where a rule knows what to do about it."""
GENERAL = "U-01"

_TABLE = table_file("unified_perf_summary")
_KERNEL_LIMIT = 90
_MANY_ROWS = 40  # sums over more rows are cited as computed
_TRAIT_UNITS = {
    "fill": "%",
    "head_waste": "%",
    "hidden": "%",
    "softmax_time": "ms",
    "product_time": "ms",
    "forward_mean": "µs",
    "waves": "",
    "bwd_ratio": "",
}
_DIFFERING = (
    ("varying", "spread", "standard deviation over mean of the calls' times"),
    ("several_kernels", "slower", "slowest over fastest kernel of one shape"),
)
_BOUNDS = {"0-30": (0, 30), "30-60": (30, 60), "60-100": (60, 100)}


def compute_pack(
    category: str,
    ops: Sequence[OpFacts],
    found: Sequence[CategoryFinding],
    run: RunContext,
    rules: Sequence[Rule],
) -> CategoryPack:
    """Return the pack of a compute category.

    ``found`` are its clusters with a gain; ``rules`` are the agent's, the general ones for time without a model last.
    """
    by_row = {one.op.view.row: one for one in subjects(ops, run)}
    clusters = [_gain_cluster(one, by_row, run, rules) for one in found]
    clusters += _unknown_clusters(category, len(found), list(by_row.values()), run, rules)
    return CategoryPack(category=category, clusters=clusters)


def _gain_cluster(
    found: CategoryFinding, by_row: Mapping[int, Subject], run: RunContext, rules: Sequence[Rule]
) -> Cluster:
    members = [by_row[one.row] for one in found.members if one.row is not None]
    gaps = {one.row: one.impact_score_high for one in found.members if one.row is not None}
    low, high = _BOUNDS.get(found.eff_bucket, (0, 100))
    band = {
        "band_low": Fact(value=low, label="lower end of the efficiency band", unit="%", digits=0),
        "band_high": Fact(value=high, label="upper end of the efficiency band", unit="%", digits=0),
    }
    return Cluster(
        id=found.id or f"{members[0].op.category}-{found.rank}",
        bound="compute" if found.bound_type == "compute" else "memory",
        library=members[0].op.library,
        band=found.eff_bucket,
        impact=impact_of(found.impact_score_high, low=found.impact_score_low if _ranged(members) else None),
        rows=[one.op.view.row for one in members],
        facts=_totals(members, run) | band | _beyond_totals(members, run),
        matches=_matches(members, gaps, run, rules),
    )


def _ranged(members: Sequence[Subject]) -> bool:
    return any(one.op.ranged for one in members)


def _unknown_clusters(
    category: str, taken: int, every: Sequence[Subject], run: RunContext, rules: Sequence[Rule]
) -> list[Cluster]:
    """One cluster for each rule on the operations without a roofline that take a significant share."""
    groups: dict[str, list[Subject]] = {}
    for subject in every:
        rule = None if subject.op.efficiency is not None else _first(subject, rules, run)
        if rule is not None and not (rule.id == GENERAL and _nothing_rated(run)):
            groups.setdefault(rule.id, []).append(subject)
    by_id = {rule.id: rule for rule in rules}
    told = [(by_id[rule], members) for rule, members in groups.items() if _share(members, run) >= _needed(rule)]
    told.sort(key=lambda pair: (-_share(pair[1], run), pair[0].id))
    return [
        Cluster(
            id=f"{category}-{number}",
            bound="unknown",
            library=_common_library(members),
            impact=UNKNOWN,
            rows=[one.op.view.row for one in members],
            facts=_totals(members, run),
            matches=_matches(members, {one.op.view.row: one.op.view.time_ms for one in members}, run, [rule]),
        )
        for number, (rule, members) in enumerate(told, taken + 1)
    ]


def _nothing_rated(run: RunContext) -> bool:
    """True where no operation can have a roofline, which the report says once for all of them."""
    return run.platform is None or not run.shapes


def _needed(rule: str) -> float:
    return UNMODELLED_PERCENT if rule == GENERAL else UNMODELLED_RULE_PERCENT


def _share(members: Sequence[Subject], run: RunContext) -> float:
    return 100 * math.fsum(one.op.view.time_ms for one in members) / run.window_ms if run.window_ms else 0.0


def _common_library(members: Sequence[Subject]) -> str | None:
    libraries = {one.op.library for one in members}
    return libraries.pop() if len(libraries) == 1 else None


def _matches(
    members: Sequence[Subject], gaps: Mapping[int, float], run: RunContext, rules: Sequence[Rule]
) -> list[Match]:
    """The members by the first rule that applies to each, most of the gap first."""
    groups: dict[str, list[Subject]] = {}
    for subject in members:
        rule = _first(subject, rules, run)
        if rule is not None:
            groups.setdefault(rule.id, []).append(subject)
    by_id = {rule.id: rule for rule in rules}
    total = math.fsum(gaps.values())
    out = [_match(by_id[rule], found, gaps, total, run) for rule, found in groups.items()]
    return sorted(out, key=lambda one: (-one.gap_share, one.rule))


def _match(rule: Rule, members: Sequence[Subject], gaps: Mapping[int, float], total: float, run: RunContext) -> Match:
    members = sorted(members, key=lambda one: (-gaps[one.op.view.row], one.op.view.row))
    gap = math.fsum(gaps[one.op.view.row] for one in members)
    return Match(
        rule=rule.id,
        rows=[one.op.view.row for one in members],
        gap_share=gap / total if total else 1.0,
        facts=_used(rule, _totals(members, run) | _heaviest(members[0], rule)),
        constants={
            name: Fact(value=one.value, label=f"{one.label} ({one.source})", unit=one.unit, digits=one.digits)
            for name, one in rule.constants.items()
        },
    )


def _first(subject: Subject, rules: Sequence[Rule], run: RunContext) -> Rule | None:
    """The first rule that applies and whose title and observation can be told."""
    for rule in rules:
        if applies(rule.when, subject):
            facts = {**_totals([subject], run), **_heaviest(subject, rule), **rule.constants}
            if all(name in facts for name in references([rule.title, rule.observation])):
                return rule
    return None


def _used(rule: Rule, facts: Facts) -> Facts:
    """The facts that the rule's texts refer to, and the time, which a card of several rules states."""
    wanted = {"time", *references(rule.texts())}
    return {name: fact for name, fact in facts.items() if name in wanted}


def _totals(members: Sequence[Subject], run: RunContext) -> Facts:
    """What holds for all members together."""
    ops = [one.op for one in members]
    time = math.fsum(op.view.time_ms for op in ops)
    facts = {
        "time": _summed(ops, "Kernel Time (µs)_sum", 1e-3, time, "kernel time", "ms", 2),
        "share": Fact(value=_share(members, run), label="share of the window", unit="%"),
        "calls": _summed(ops, "operation_count", 1, sum(op.view.count for op in ops), "calls", "calls", 0),
        "shapes": Fact(value=len(ops), label="distinct operations", digits=0),
    }
    if all(op.efficiency is not None for op in ops) and time:
        roof = math.fsum((op.surest or 0.0) * op.view.time_ms for op in ops)
        label = "least roof time over kernel time" if _ranged(members) else "roof time over kernel time"
        facts["efficiency"] = Fact(value=100 * roof / time, label=label, unit="%")
        if _ranged(members):
            most = math.fsum(
                (op.view.efficiency_high_percent or 100 * (op.efficiency or 0.0)) * op.view.time_ms for op in ops
            )
            facts["efficiency_high"] = Fact(value=most / time, label="most roof time over kernel time", unit="%")
    return facts


def _beyond_totals(members: Sequence[Subject], run: RunContext) -> Facts:
    """What a cluster states besides: the mean of ratios, hidden time, and the gain that its siblings make likely."""
    ops = [one.op for one in members]
    time = math.fsum(op.view.time_ms for op in ops)
    exposed = math.fsum(op.exposed_ms for op in ops)
    facts: Facts = {}
    calls = sum(op.view.count for op in ops)
    known = [op for op in ops if op.view.mean_efficiency_percent is not None]
    if known and len(known) == len(ops) and calls:
        mean = math.fsum((op.view.mean_efficiency_percent or 0.0) * op.view.count for op in ops) / calls
        facts["mean_efficiency"] = Fact(value=mean, label="mean of the calls' own ratios", unit="%")
    if time and exposed < 0.99 * time:
        facts["hidden"] = Fact(value=100 * (1 - exposed / time), label="time beside other work", unit="%")
    gain = math.fsum(_sibling_gain(one) for one in members)
    if gain and run.window_ms:
        facts["sibling_gain"] = Fact(
            value=100 * gain / run.window_ms, label="gain at the best sibling's rate", unit="%"
        )
    return facts | _differing(members)


def _differing(members: Sequence[Subject]) -> Facts:
    """What the heaviest members whose calls differ say of it: spread of times, ratio of kernels."""
    heaviest = sorted(members, key=lambda one: (-one.op.view.time_ms, one.op.view.row))
    facts: Facts = {}
    for trait, name, label in _DIFFERING:
        found = next((one.traits[trait] for one in heaviest if trait in one.traits), None)
        if found is not None:
            facts[name] = Fact(value=found[name], label=label)
    return facts


def _sibling_gain(subject: Subject) -> float:
    """Exposed time that the best sibling's efficiency would save, in ms."""
    own, best = subject.op.surest, subject.best.surest if subject.best else None
    return subject.op.exposed_ms * (1 - own / best) if own is not None and best else 0.0


def _heaviest(subject: Subject, rule: Rule) -> Facts:
    """What is told of the heaviest member: name, shape, time of a call, and the traits that the rule asks for."""
    op = subject.op
    place = f"operations[row={op.view.row}]"
    file = metrics_file(op.category)
    facts: Facts = {
        "op": Fact(value=op.name, label="heaviest operation", source=file, key=f"{place}.name"),
        "args": Fact(value=op.view.args, label="its inputs", source=file, key=f"{place}.args"),
        "mean": span(op.mean_us, "kernel time of a call", _TABLE, f"row={op.view.row},column=Kernel Time (µs)_mean"),
    }
    if op.kernels:
        facts["kernel"] = Fact(value=plain(op.kernels[0].name, _KERNEL_LIMIT), label="its longest kernel")
    for name, text in (("library", op.library), ("precision", op.precision), ("platform", subject.run.platform)):
        if text:
            facts[name] = Fact(value=text, label=name)
    return facts | _roofline(subject, file) | _trait_facts(subject, rule)


def _roofline(subject: Subject, file: str) -> Facts:
    op, best = subject.op, subject.best
    facts: Facts = {}
    if op.ranged:
        facts["floor"] = span((op.surest or 0.0) * op.mean_us, "time of a call with the least work")
    elif op.roof_us is not None:
        key = f"row={op.view.row},column=Roofline Time (µs)_first"
        facts["floor"] = span(op.roof_us, "least time of a call", _TABLE, key)
    if op.view.flops_per_byte is not None:
        key = f"operations[row={op.view.row}].efficiency.flops_per_byte"
        facts["intensity"] = Fact(
            value=op.view.flops_per_byte, label="arithmetic intensity", unit="FLOP/B", source=file, key=key
        )
    if best is not None and best.view.surest_percent is not None:
        column = "efficiency_low_percent" if best.ranged else "efficiency_percent"
        key = f"operations[row={best.view.row}].efficiency.{column}"
        facts["best"] = Fact(value=best.view.surest_percent, label="best similar op", unit="%", source=file, key=key)
    return facts


def _trait_facts(subject: Subject, rule: Rule) -> Facts:
    """The facts of the traits that the rule asks for."""
    out: Facts = {}
    for trait in rule.when.traits:
        found: TraitFacts = subject.traits.get(trait, {})
        out |= {name: _trait_fact(name, value) for name, value in found.items()}
    return out


def _trait_fact(name: str, value: Scalar) -> Fact:
    return Fact(value=value, label=name.replace("_", " "), unit=_TRAIT_UNITS.get(name, ""))


def _summed(
    ops: Sequence[OpFacts], column: str, scale: float, value: float, label: str, unit: str, digits: int
) -> Fact:
    """A sum over the ops, cited as the cells of the table where they are few."""
    if len(ops) > _MANY_ROWS:
        return Fact(value=value, label=label, unit=unit, digits=digits)
    rows = "+".join(str(op.view.row) for op in ops)
    key = f"row={rows},column={column}" + (f",scale={scale:g}" if scale != 1 else "")
    return Fact(value=value, label=label, unit=unit, digits=digits, source=_TABLE, key=key)
