"""What the detail pane says of a selection: plain text in named styles, wrapped to a width."""

from collections.abc import Callable, Sequence
from typing import Any

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.agent_rows import agent_label, rule_text
from tracelens_tui.app.args_text import args_text
from tracelens_tui.app.cells import Line, fixed, significant, thousands, wrap
from tracelens_tui.app.time_rows import TimeRow
from tracelens_tui.run.findings import Evidence, Finding, Operation
from tracelens_tui.run.state import AgentState
from tracelens_tui.text import duration, percent, plain
from tracelens_tui.trace.types import NONE_ID, Kind

Resolve = Callable[[str, Sequence[Evidence]], str]
"""Prose with evidence references -> prose with values."""


def prose(label: str, text: str, width: int) -> list[Line]:
    """Return a paragraph with a bold label before it and its other lines under the text."""
    head = f"{label:<9}" if label else ""
    first, *rest = wrap(plain(text), width, head)
    return [((head, "bold"), (first[len(head) :], "")), *(((line, ""),) for line in rest)]


def finding_lines(finding: Finding, resolve: Resolve, width: int) -> list[Line]:
    """Return everything a person needs to judge a finding: what, what to do, what it is worth, and why."""

    def say(label: str, text: str) -> list[Line]:
        return prose(label, resolve(text, finding.evidence), width) if text else []

    lines = prose("", finding.title, width)
    lines = [tuple((text, "bold") for text, _ in line) for line in lines]
    lines += say("Insight", finding.insight)
    lines += say("Action", finding.action)
    lines += prose("Impact", impact_text(finding), width)
    lines += say("Why", finding.reasoning)
    lines += say("How", finding.resolution)
    for caveat in finding.caveats:
        lines += say("But", caveat)
    lines += _operation_lines(finding.operations, width)
    for metric in finding.metrics:
        lines += prose("! Metric" if metric.flagged else "Metric", f"{metric.metric}: {metric.value}", width)[:1]
    for item in finding.evidence:
        lines.append(((f"{'Evidence':<9}", "bold"), (_evidence_text(item), ""), (_source_text(item), "dim")))
    return lines


def impact_text(finding: Finding) -> str:
    """Return what can be won, in words."""
    impact = finding.impact
    if impact.mid is None:
        worth = "cannot be computed from the trace"
    else:
        worth = f"{percent(impact.mid)} of the window ({fixed(impact.low, 1)} to {fixed(impact.high, 1)} %)"
    return f"{worth} · confidence {finding.confidence} · {finding.tier} · {finding.agent} ({finding.analyst})"


def _operation_lines(operations: Sequence[Operation], width: int) -> list[Line]:
    """One line per operation: time, share, count, efficiency, name and arguments."""
    lines: list[Line] = []
    for op in operations:
        args = plain(op.args.replace("<br>", ", "))
        roof = "" if op.efficiency_percent is None else f" {op.efficiency_percent:.0f}% roof"
        numbers = f"{op.time_ms:,.3f} ms {op.percent_of_window:.1f}% n {thousands(op.count)}{roof}  "
        lines.append(((f"{'Op':<9}", "bold"), (numbers, ""), (f"{plain(op.name)}  {args}", "accent")))
    return lines


def _evidence_text(item: Evidence) -> str:
    value = item.value
    number = (
        f"{value:,.{item.digits}f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
    )
    return plain(f"{item.label}: {number} {item.unit}".rstrip())


def _source_text(item: Evidence) -> str:
    return plain(f"  {item.source} › {item.key}")


def op_lines(analysis: Analysis, row: dict[str, Any], width: int) -> list[Line]:
    """Return an op row in full: name, arguments, roof, and where it was called."""
    op = analysis.ops.row(by_predicate=_is_row(row["row"]), named=True) if "intensity" in row else row
    name = prose("Op", op["name"], width)
    args = args_text(op["dims"], op["types"])
    lines = [*name, *prose("Args", args or "not recorded (profile with record_shapes=True)", width)]
    lines += prose("Roof", _roof_text(op, analysis), width)
    thread = f"{op['category']} · {op['thread_name']} · {op['process_name']}".strip(" ·")
    lines += prose("Where", f"{thread}; host time {duration(op['host_ns_sum'])}", width)
    if op["params"] and op["params"] != "{}":
        lines += prose("Model", op["params"], width)
    return lines


def _is_row(row: int) -> Any:
    """Predicate for one row of a frame."""
    import polars as pl

    return pl.col("row") == row


def _roof_text(op: dict[str, Any], analysis: Analysis) -> str:
    """Why an op has the roof it has, or none."""
    if op["roof_ns"] is None:
        if analysis.platform is None:
            return analysis.platform_note or "no roofline: the GPU is not known"
        return "no roofline: no perf model covers this op" if not op["modelled"] else "no roofline for these types"
    per_call = op["kernel_ns_sum"] / op["count"]
    return (
        f"least {duration(op['roof_ns'])} per call by {op['bound']} ({op['spec']}); takes {duration(per_call)}: "
        f"{percent(100 * op['efficiency'])} of the roof, mean of calls {percent(op['pct_roofline_mean'])}"
    )


def kernel_lines(row: dict[str, Any], width: int) -> list[Line]:
    """Return a kernel row in full."""
    lines = prose("Kernel", row["kernel"], width)
    where = f"stream {row['stream']} of GPU {row['device']} · {row['category']} · {row['library'] or 'library unknown'}"
    lines += prose("Op", f"{row['op'] or 'none: no launch owns it'}", width)
    return lines + prose("Where", where, width)


def event_lines(analysis: Analysis, event: int, width: int) -> list[Line]:
    """Return an event of the tree in full."""
    trace, tree = analysis.trace, analysis.tree
    row = trace.events.row(event, named=True)
    lines = prose("Event", str(trace.names[row["name"]]), width)
    kind = Kind(row["kind"])
    facts = [kind.name.lower(), f"starts {duration(row['start_ns'] - _origin(analysis))}", duration(row["dur_ns"])]
    if row["device"] >= 0:
        facts.append(f"GPU {row['device']} stream {row['stream']}")
    if row["correlation"] != NONE_ID:
        facts.append(f"correlation {row['correlation']}")
    if tree.gpu_count[event]:
        facts.append(f"GPU {duration(int(tree.gpu_ns[event]))} in {thousands(int(tree.gpu_count[event]))} events")
    lines += prose("Facts", " · ".join(facts), width)
    if row["args"]:
        args = trace.args.row(row["args"], named=True)
        lines += prose("Args", args_text(args["dims"], args["types"]) or args["dims"], width)
        if args["concrete"]:
            lines += prose("Inputs", args["concrete"], width)
    path = " › ".join(str(trace.names[trace.events["name"][above]]) for above in tree.ancestors(event)[:12])
    return lines + (prose("Inside", path, width) if path else [])


def _origin(analysis: Analysis) -> int:
    """The time that starts are told from: the window's start, else 0."""
    return 0 if analysis.split is None else analysis.split.start_ns


def agent_lines(agent: AgentState, width: int) -> list[Line]:
    """Return a sub-agent in full."""
    lines = prose("Agent", f"{agent_label(agent)} · {agent.tier} · {agent.category} · {agent.status}", width)
    lines += prose("Rule", rule_text(agent) or "none given", width)
    if agent.reason:
        lines += prose("Failed", agent.reason, width)
    if agent.text or agent.note:
        lines += prose("Says", agent.text or agent.note, width)
    if agent.retries:
        lines += prose("Retries", f"{agent.retries}", width)
    return lines


def time_lines(row: TimeRow, width: int) -> list[Line]:
    """Return a bar in full."""
    if row.ns is None:
        return prose("", f"{row.label}. {row.detail}".rstrip(". ") if row.detail else row.label, width)
    share = "" if row.share is None else f", {percent(100 * row.share, 2)} of the window"
    return prose("", f"{row.label}: {duration(row.ns)}{share}. {row.detail}", width)


def rate(value: float | None, unit: str) -> str:
    """Return a rate with its unit, ``n/a`` where there is none."""
    return "n/a" if value is None else f"{significant(value)} {unit}"
