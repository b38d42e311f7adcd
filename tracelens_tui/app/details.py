"""What the detail pane says of a selection, as labelled paragraphs; drawn in full or in two lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.agent_rows import agent_label, rule_text
from tracelens_tui.app.args_text import args_text
from tracelens_tui.app.cells import Line, count_of, fit, fixed, thousands, wrap
from tracelens_tui.app.time_rows import TimeRow
from tracelens_tui.errors import UserError
from tracelens_tui.report.evidence import resolve, shown
from tracelens_tui.run.findings import Evidence, Finding, Operation
from tracelens_tui.run.state import AgentState
from tracelens_tui.text import duration, percent, plain
from tracelens_tui.trace.types import NONE_ID, Kind

_LABEL = 9


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A label and its text; ``brief`` ones make up the short form."""

    label: str
    text: str
    brief: bool = False
    style: str = ""


def full(paragraphs: Sequence[Paragraph], width: int) -> list[Line]:
    """Return all paragraphs, wrapped, each with its label before it."""
    lines: list[Line] = []
    for one in paragraphs:
        head = f"{one.label:<{_LABEL}}" if one.label else ""
        first, *rest = wrap(plain(one.text), width, head)
        lines.append(((head, "bold"), (first[len(head) :], one.style)))
        lines += [((line, one.style),) for line in rest]
    return lines


def brief(paragraphs: Sequence[Paragraph], width: int) -> list[Line]:
    """Return the two paragraphs that matter most, one line each; a lonely one has both lines."""
    chosen = [paragraph for paragraph in paragraphs if paragraph.brief][:2]
    if len(chosen) == 1:
        return full(chosen, width)[:2]
    lines: list[Line] = []
    for one in chosen:
        head = f"{one.label:<{_LABEL}}" if one.label else ""
        text = plain(one.text)
        room = width - len(head)
        lines.append(((head, "bold"), (fit(text, room).rstrip(), one.style)))
    return lines


def finding_details(finding: Finding) -> list[Paragraph]:
    """Return everything a person needs to judge a finding: what, what to do, what it is worth, and why."""

    def say(label: str, text: str, *, brief: bool = False) -> Paragraph:
        return Paragraph(label, resolved(text, finding.evidence), brief)

    out = [
        Paragraph("", finding.title, style="bold"),
        say("Insight", finding.insight, brief=True),
        say("Action", finding.action, brief=True),
        Paragraph("Impact", impact_text(finding)),
        say("Why", finding.reasoning),
        say("How", finding.resolution),
        *(say("But", caveat) for caveat in finding.caveats),
        *(Paragraph("Op", _operation_text(operation), style="accent") for operation in finding.operations),
        *(say("! Metric" if one.flagged else "Metric", f"{one.metric}: {one.value}") for one in finding.metrics),
        *(Paragraph("Evidence", _evidence_text(item)) for item in finding.evidence),
    ]
    return [paragraph for paragraph in out if paragraph.text]


def resolved(text: str, evidence: Sequence[Evidence]) -> str:
    """Return prose with its values; as it is where it refers to what is not there."""
    try:
        return resolve(text, evidence)
    except UserError:
        return text


def impact_text(finding: Finding) -> str:
    """Return what can be won, in words."""
    impact = finding.impact
    if impact.mid is None:
        worth = "cannot be computed from the trace"
    else:
        worth = f"{percent(impact.mid)} of the window ({fixed(impact.low, 1)} to {fixed(impact.high, 1)} %)"
    return f"{worth} · confidence {finding.confidence} · {finding.tier} · {finding.agent} ({finding.analyst})"


def _operation_text(op: Operation) -> str:
    """Name and arguments, then time, share, count and efficiency."""
    args = "" if op.args == "—" else f" {op.args.replace('<br>', ', ')}"
    roof = "" if op.efficiency_percent is None else f", {percent(op.efficiency_percent)} of the roof"
    share = percent(op.percent_of_window)
    return f"{op.name}{args} · {fixed(op.time_ms, 3)} ms ({share}) in {count_of(op.count, 'call')}{roof}"


def _evidence_text(item: Evidence) -> str:
    return f"{item.label}: {shown(item)} · {item.source} › {item.key}"


def op_details(analysis: Analysis, row: int) -> list[Paragraph]:
    """Return a row of ``Analysis.ops`` in full: name, arguments, roof, and where it was called."""
    op = analysis.ops.row(by_predicate=pl.col("row") == row, named=True)
    args = args_text(op["dims"], op["types"])
    thread = " · ".join(text for text in (op["category"], op["thread_name"], op["process_name"]) if text)
    out = [
        Paragraph("Op", f"{op['name']}  {args or 'no shapes recorded'}", brief=True),
        Paragraph("Roof", _roof_text(op, analysis), brief=True),
        Paragraph("Where", f"{thread}; host time {duration(op['host_ns_sum'])} in {count_of(op['count'], 'call')}"),
    ]
    if op["params"] and op["params"] != "{}":
        out.append(Paragraph("Model", op["params"]))
    return out


def _roof_text(op: dict[str, Any], analysis: Analysis) -> str:
    """Why an op has the roof it has, or none."""
    per_call = duration(op["kernel_ns_sum"] / op["count"])
    if op["roof_ns"] is not None:
        return (
            f"{per_call} per call, at least {duration(op['roof_ns'])} by {op['bound']} ({op['spec']}): "
            f"{percent(100 * op['efficiency'])} of the roof, mean of calls {percent(op['pct_roofline_mean'])}"
        )
    if analysis.platform is None:
        return f"{per_call} per call; {analysis.platform_note or 'no roofline: the GPU is not known'}"
    why = "no roofline for these types" if op["modelled"] else "no roofline: no perf model covers this op"
    return f"{per_call} per call; {why}"


def kernel_details(row: dict[str, Any]) -> list[Paragraph]:
    """Return a kernel row in full."""
    where = f"stream {row['stream']} of GPU {row['device']} · {row['category']} · {row['library'] or 'library unknown'}"
    return [
        Paragraph("Kernel", row["kernel"], brief=True),
        Paragraph("Op", row["op"] or "none: no launch owns it", brief=True),
        Paragraph("Where", where),
    ]


def event_details(analysis: Analysis, event: int) -> list[Paragraph]:
    """Return an event of the tree in full."""
    trace, tree = analysis.trace, analysis.tree
    row = trace.events.row(event, named=True)
    names, codes = trace.names, trace.events["name"]
    facts = [Kind(row["kind"]).name.lower().replace("_", " "), _start_text(row["start_ns"], analysis)]
    facts.append(f"takes {duration(row['dur_ns'])}")
    if row["device"] >= 0:
        facts.append(f"GPU {row['device']} stream {row['stream']}")
    if row["correlation"] != NONE_ID:
        facts.append(f"correlation {row['correlation']}")
    args = trace.args.row(row["args"], named=True)
    out = [
        Paragraph("Event", f"{names[row['name']]}  {args_text(args['dims'], args['types'])}".rstrip(), brief=True),
        Paragraph("Facts", " · ".join(facts), brief=True),
    ]
    if tree.gpu_count[event]:
        work = f"{duration(int(tree.gpu_ns[event]))} in {count_of(int(tree.gpu_count[event]), 'GPU event')} below it"
        out.append(Paragraph("GPU", work))
    if args["concrete"]:
        out.append(Paragraph("Inputs", args["concrete"]))
    out.append(Paragraph("uid", f"{row['uid']}: --node {row['uid']} opens this part alone"))
    path = " › ".join(str(names[codes[above]]) for above in tree.ancestors(event)[:12])
    return [*out, Paragraph("Inside", path)] if path else out


def _start_text(start_ns: int, analysis: Analysis) -> str:
    """When an event starts, told from the start of the window."""
    offset = start_ns - (0 if analysis.split is None else analysis.split.start_ns)
    side = "into" if offset >= 0 else "before"
    return f"starts {duration(abs(offset))} {side} the window"


def agent_details(agent: AgentState) -> list[Paragraph]:
    """Return a sub-agent in full."""
    out = [
        Paragraph("Agent", f"{agent_label(agent)} · {agent.tier} · {agent.category} · {agent.status}"),
        Paragraph("Failed", agent.reason, brief=True, style="bad"),
        Paragraph("Rule", rule_text(agent), brief=True),
        Paragraph("Says", agent.text or agent.note, brief=True),
        Paragraph("Retries", thousands(agent.retries) if agent.retries else ""),
    ]
    return [paragraph for paragraph in out if paragraph.text]


def time_details(row: TimeRow) -> list[Paragraph]:
    """Return a bar in full."""
    amount = "" if row.ns is None else f": {duration(row.ns)}"
    share = "" if row.share is None else f", {percent(100 * row.share, 2)} of the window"
    return [Paragraph("", f"{row.label}{amount}{share}. {row.detail}".strip(), brief=True)]
