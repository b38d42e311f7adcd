"""The form of a report: sections, headings, markers, anchors, labels.  Looks at nothing but the text."""

import re
from collections.abc import Iterator, Sequence

from tracelens_tui.report.document import Block, Document, Marker

SECTIONS = (
    "Executive Summary",
    "Compute Kernel Optimizations",
    "Kernel Fusion Opportunities (Experimental)",
    "System-Level Optimizations",
    "Detailed Analysis",
    "Appendix",
)
WARNINGS = "Warnings"
TIERS = {"compute": SECTIONS[1], "fusion": SECTIONS[2], "system": SECTIONS[3]}
INSIGHTS = {"compute": "Compute Kernel Insights", "fusion": "Kernel Fusion Insights", "system": "System-Level Insights"}
METRICS = ("Total Time", "Compute %", "Idle %", "Exposed Communication %", "Top Bottleneck Category")
TOP_OPERATIONS = ("Rank", "Category", "Time (ms)", "% of Compute Time", "Ops")
DATA = {
    "compute": (
        "Operation", "Args", "Kernel Path", "Kernel Name", "Time (ms)", "%E2E", "Count", "FLOPS/Byte", "Efficiency",
        "Bound",
    ),
    "fusion": ("Kernel", "Type", "Duration (us)", "Perf model"),
    "system": ("Metric", "Value", "Flagged"),
}  # fmt: skip
WARNING_TABLES = (
    ("Analysis", "Tier", "Error Summary"),
    ("Operation", "Category", "CoV", "Reported Time (ms)"),
    ("Data quality", "Count", "Effect"),
)
LABELS = ("Identification", "Data", "Reasoning for Slowdown", "Resolution", "Impact estimate")
SENTINEL = "not quantifiable from trace data"

_P_HEADING = re.compile(r"(🔴|🟡|🟢) P(\d+): (\S.*)")
_LABEL = re.compile(r"\*\*([^*]+):\*\*")
_NUMBER = re.compile(r"-?\d+(\.\d+)?|null")
_ATTRIBUTES = {"p_item": ("low", "mid", "high"), "detail_estimate": ("low", "high"), "top_ops": ()}


def structure_problems(document: Document) -> list[str]:
    """Return what is wrong with the report's form, one line each."""
    return [
        *_section_problems(document),
        *_summary_problems(document),
        *_warning_problems(document),
        *_marker_problems(document),
        *_anchor_problems(document),
        *(problem for tier in TIERS for problem in _tier_problems(document, tier)),
    ]


def _section_problems(document: Document) -> Iterator[str]:
    titles = [heading for heading in document.headings if heading.level == 1]
    if not titles or titles[0].line != 1 or len(titles) > 1:
        yield "the report begins with its title and has no other"
    elif not re.fullmatch(r"\S.* - \S.* Standalone Analysis", titles[0].text):
        yield f"the title is not '<Model> - <Platform> Standalone Analysis': {titles[0].text}"
    found = [block.heading.text for block in document.blocks(2)]
    if found not in ([*SECTIONS], [SECTIONS[0], WARNINGS, *SECTIONS[1:]]):
        yield f"the sections are {found}"
    yield from _subheadings(document, SECTIONS[1], ["Top Operations"])
    yield from _subheadings(document, SECTIONS[4], list(INSIGHTS.values()))
    yield from _subheadings(
        document, SECTIONS[5], ["Model Architecture", "Hardware Reference", "Data Quality", "How to Repeat"]
    )
    text = re.sub(r"`[^`\n]*`", "", document.text)  # in a code span it is a name: a kernel's template holds <BF16>
    placeholders = re.findall(r"\{\{.*?\}\}|<[A-Z][\w ]*>", text)
    yield from (f"a placeholder is left: {found}" for found in placeholders)


def _subheadings(document: Document, section: str, wanted: list[str]) -> Iterator[str]:
    block = document.section(section)
    if block is not None:
        found = [b.heading.text for b in document.blocks(3, block)][: len(wanted)]
        if found != wanted:
            yield f"section {section} begins with the headings {found}, not {wanted}"


def _summary_problems(document: Document) -> Iterator[str]:
    block = document.section(SECTIONS[0])
    tables = block.tables if block else []
    names = tuple(row[0] for row in tables[0].rows) if tables else ()
    if len(tables) != 1 or tables[0].header != ("Metric", "Value") or names != METRICS:
        yield f"the executive summary has the rows {names}, not {METRICS}"
    if block and not next((line for line in block.lines if line and not line.startswith(("|", "!"))), ""):
        yield "the executive summary has no text"


def _warning_problems(document: Document) -> Iterator[str]:
    block = document.section(WARNINGS)
    if block is None:
        return
    headers = [table.header for table in block.tables]
    if not headers or headers != [header for header in WARNING_TABLES if header in headers]:
        yield f"the warnings have the tables {headers}"
    yield from (f"line {table.line}: a table of warnings has no rows" for table in block.tables if not table.rows)


def _marker_problems(document: Document) -> Iterator[str]:
    opened: Marker | None = None
    for marker in document.markers:
        yield from (f"line {marker.line}: {problem}" for problem in _form_problems(marker))
        if marker.name == "impact-begin":
            if opened is not None:
                yield f"line {marker.line}: impact-begin inside the one of line {opened.line}"
            opened = marker
        elif marker.name == "impact-end":
            if opened is None:
                yield f"line {marker.line}: impact-end without a begin"
            opened = None
    if opened is not None:
        yield f"line {opened.line}: impact-begin is never ended"
    if document.text.count("<!--") != len(document.markers):
        yield "a comment is not closed on its line"
    if sum(marker.attributes.get("kind") == "top_ops" for marker in document.markers) != 1:
        yield "there is not exactly one top_ops marker"


def _form_problems(marker: Marker) -> Iterator[str]:
    """What is wrong with one marker's attributes."""
    found = marker.attributes
    if marker.name == "impact-begin":
        scores = _ATTRIBUTES.get(found.get("kind", ""))
        if scores is None:
            yield f"impact-begin of unknown kind {found.get('kind')!r}"
            return
        category = ("category",) if found.get("kind") == "p_item" and "category" in found else ()
        yield from _attribute_problems(marker, ("kind", *category, *scores), scores)
    elif marker.name == "top-ops-row":
        yield from _attribute_problems(marker, ("low", "high"), ("low", "high"))
    elif marker.name == "reasoning-candidate":
        yield from _attribute_problems(marker, ("tier", "rank"), ())
    elif marker.name != "impact-end":
        yield "a comment that is no marker"
    elif found:
        yield "impact-end has attributes"


def _attribute_problems(marker: Marker, wanted: Sequence[str], scores: Sequence[str]) -> Iterator[str]:
    if tuple(marker.attributes) != tuple(wanted):
        yield f"{marker.name} has the attributes {tuple(marker.attributes)}, not {tuple(wanted)}"
        return
    values = [marker.attributes[name] for name in scores]
    yield from (f"{marker.name}: {value!r} is no score" for value in values if not _NUMBER.fullmatch(value))
    if 0 < values.count("null") < len(values):
        yield f"{marker.name} mixes null and numbers"


def _anchor_problems(document: Document) -> Iterator[str]:
    names = [name for _, name in document.anchors]
    yield from (f"the anchor {name} stands twice" for name in sorted({n for n in names if names.count(n) > 1}))
    yield from (f"line {line}: the link #{name} leads nowhere" for line, name in document.links if name not in names)


def _tier_problems(document: Document, tier: str) -> Iterator[str]:
    section, detail = document.section(TIERS[tier]), document.section(SECTIONS[4])
    if section is None or detail is None:
        return
    cards = [block for block in document.blocks(3, section) if block.heading.text != "Top Operations"]
    insights = [block for block in document.blocks(3, detail) if block.heading.text == INSIGHTS[tier]]
    details = document.blocks(4, insights[0]) if insights else []
    yield from _numbering(cards, f"card of tier {tier}")
    yield from _numbering(details, f"detail block of tier {tier}")
    if len(cards) != len(details):
        yield f"tier {tier} has {len(cards)} cards and {len(details)} detail blocks"
    for number, card in enumerate(cards, 1):
        yield from (f"{tier} P{number}: {problem}" for problem in _card_problems(card, tier, number))
    for number, block in enumerate(details, 1):
        yield from (f"{tier} P{number}: {problem}" for problem in _detail_problems(document, block, tier, number))
    if cards == [] and not any(line and line[0] not in "#|<>" for line in section.lines):
        yield f"tier {tier} has neither cards nor a sentence that says so"


def _numbering(blocks: Sequence[Block], what: str) -> Iterator[str]:
    for number, block in enumerate(blocks, 1):
        match = _P_HEADING.fullmatch(block.heading.text)
        if match is None:
            yield f"line {block.heading.line}: not the heading of a {what}: {block.heading.text}"
        elif int(match[2]) != number:
            yield f"line {block.heading.line}: {what} P{match[2]} stands at place {number}"


def _card_problems(card: Block, tier: str, number: int) -> Iterator[str]:
    yield from (f"the card has no {label}" for label in ("Insight", "Action", "Impact") if not card.labelled(label))
    begins = [marker for marker in card.markers if marker.name == "impact-begin"]
    if [marker.attributes.get("kind") for marker in begins] != ["p_item"]:
        yield "the card has not exactly one p_item marker"
    elif ("category" in begins[0].attributes) != (tier == "compute"):
        yield "p_item markers name the category in the compute tier and only there"
    if not any(f"](#{anchor_of(tier, number)})" in line for line in card.lines):
        yield f"the card has no link to {anchor_of(tier, number)}"


def anchor_of(tier: str, number: int) -> str:
    """Return the anchor of a detail block."""
    return f"detailed-analysis-{tier}-{'P' if tier == 'fusion' else 'p'}{number}"


def _detail_problems(document: Document, block: Block, tier: str, number: int) -> Iterator[str]:
    before = document.lines[max(0, block.heading.line - 3) : block.heading.line - 1]
    wanted = (f"<!-- reasoning-candidate tier={tier} rank={number} -->", f'<a id="{anchor_of(tier, number)}"></a>')
    if before != wanted:
        yield f"the detail block is not preceded by {wanted[0]} and {wanted[1]}"
    labels = [match[1] for line in block.lines if (match := _LABEL.match(line)) and match[1] in LABELS]
    if labels != list(LABELS):
        yield f"the detail block has not the labels {LABELS} in this order"
    headers = [table.header for table in block.tables]
    if headers != [DATA[tier]] or not block.tables[0].rows:
        yield f"the detail block's data table is {headers}"
    estimates = [marker for marker in block.markers if marker.attributes.get("kind") == "detail_estimate"]
    if len(estimates) != (0 if any(line.lower() == SENTINEL for line in block.lines) else 1):
        yield "the detail block has not exactly one detail_estimate marker or the sentence that stands for it"
