"""The numbers and texts of a report against the files that they come from."""

from collections.abc import Iterator, Sequence

from tracelens_tui.report import appendix, summary
from tracelens_tui.report.cards import Card, card_of
from tracelens_tui.report.check_equal import same_text
from tracelens_tui.report.check_structure import INSIGHTS, SECTIONS, TIERS, WARNINGS
from tracelens_tui.report.document import Block, Document
from tracelens_tui.report.inputs import Inputs
from tracelens_tui.report.render import hardware_rows, model_rows, priority_rows, report_title
from tracelens_tui.run.findings import Tier

Rows = Sequence[tuple[str, ...]]


def value_problems(document: Document, inputs: Inputs) -> list[str]:
    """Return where the report says other than its sources, one line each.  The report's form must be right."""
    title = document.headings[0].text
    return [
        *same_text("the title", title, report_title(inputs)),
        *_summary(document, inputs),
        *_warnings(document, inputs),
        *_top_operations(document, inputs),
        *_tier(document, inputs, "compute"),
        *_tier(document, inputs, "fusion"),
        *_tier(document, inputs, "system"),
        *_appendix(document, inputs),
    ]


def _summary(document: Document, inputs: Inputs) -> Iterator[str]:
    block = document.section(SECTIONS[0])
    if block is None:
        return
    text = next((line for line in block.lines if line), "")
    yield from same_text("the executive summary", text, summary.paragraph(inputs))
    yield from _rows("executive summary", block.tables[0].rows, summary.metric_rows(inputs))


def _warnings(document: Document, inputs: Inputs) -> Iterator[str]:
    block = document.section(WARNINGS)
    wanted = [
        rows
        for rows in (summary.failed_rows(inputs), summary.variance_rows(inputs), summary.quality_rows(inputs))
        if rows
    ]
    tables = block.tables if block else []
    if len(tables) != len(wanted):
        yield f"warnings: {len(tables)} tables, but there is matter for {len(wanted)}"
    for table, rows in zip(tables, wanted, strict=False):
        yield from _rows(f"warnings, {table.header[0]}", table.rows, rows)


def _top_operations(document: Document, inputs: Inputs) -> Iterator[str]:
    section = document.section(SECTIONS[1])
    block = document.blocks(3, section)[0] if section else None
    if block is None:
        return
    wanted = priority_rows(inputs)
    yield from _rows("Top Operations", block.tables[0].rows, [row[:5] for row in wanted])
    found = [(m.attributes["low"], m.attributes["high"]) for m in block.markers if m.name == "top-ops-row"]
    yield from _rows("Top Operations markers", found, [row[5:] for row in wanted])


def _tier(document: Document, inputs: Inputs, tier: Tier) -> Iterator[str]:
    section, detail = document.section(TIERS[tier]), document.section(SECTIONS[4])
    if section is None or detail is None:
        return
    cards = [card_of(item.finding, item.number) for item in inputs.tier(tier)]
    shown = [block for block in document.blocks(3, section) if block.heading.text != "Top Operations"]
    insights = next(block for block in document.blocks(3, detail) if block.heading.text == INSIGHTS[tier])
    details = document.blocks(4, insights)
    if len(shown) != len(cards):
        yield f"tier {tier} has {len(shown)} cards, but {len(cards)} findings are ranked"
        return
    for card, block, insight in zip(cards, shown, details, strict=True):
        for problem in (*_card(card, block), *_detail(card, insight)):
            yield f"{tier} P{card.number}: {problem}"


def _card(card: Card, block: Block) -> Iterator[str]:
    yield from same_text("heading", block.heading.text, f"{card.icon} P{card.number}: {card.heading}")
    for label, wanted in (
        ("Insight", card.insight),
        ("Action", card.action),
        ("Impact", card.impact),
        ("Confidence", card.confidence),
    ):
        yield from same_text(label, block.labelled(label) or "", wanted)
    found = next(marker for marker in block.markers if marker.name == "impact-begin").attributes
    wanted = {"low": str(card.low), "mid": str(card.mid), "high": str(card.high)}
    if card.tier == "compute":
        wanted["category"] = str(card.category)
    for name, value in wanted.items():
        yield from same_text(f"marker {name}", found.get(name, ""), value)


def _detail(card: Card, block: Block) -> Iterator[str]:
    yield from same_text("detail heading", block.heading.text, f"{card.icon} P{card.number}: {card.title}")
    for label, wanted in (
        ("Identification", card.identification),
        ("Reasoning for Slowdown", card.reasoning),
        ("Resolution", card.resolution),
    ):
        yield from same_text(label, block.labelled(label) or "", wanted)
    rows: Rows = {"compute": card.operations, "fusion": card.kernels, "system": card.metrics}[str(card.tier)]
    yield from _rows("data", block.tables[0].rows, rows)
    estimate = [marker.attributes for marker in block.markers if marker.name == "impact-begin"]
    ends = (("low", card.low), ("high", card.high)) if card.quantified else ()
    if bool(estimate) != card.quantified:
        yield "the estimate's marker does not fit the finding's impact"
        return
    for name, wanted in ends:
        yield from same_text(f"estimate {name}", estimate[0].get(name, ""), wanted)
    for line in (f"- Low end impact_score: {card.low_end}", f"- High end impact_score: {card.high_end}"):
        if card.quantified and line not in block.lines:
            yield f"the line {line!r} is missing"


def _appendix(document: Document, inputs: Inputs) -> Iterator[str]:
    section = document.section(SECTIONS[5])
    if section is None:
        return
    model, hardware, quality, repeat, *_ = document.blocks(3, section)
    yield from _rows("Model Architecture", model.tables[0].rows, model_rows(inputs))
    yield from _rows("Hardware Reference", hardware.tables[0].rows, hardware_rows(inputs))
    yield from _rows("Data Quality", quality.tables[0].rows if quality.tables else [], appendix.quality_rows(inputs))
    yield from _rows("How to Repeat", repeat.tables[0].rows, appendix.repeat_rows(inputs))


def _rows(what: str, found: Rows, wanted: Rows) -> Iterator[str]:
    if len(found) != len(wanted):
        yield f"{what}: {len(found)} rows, its sources give {len(wanted)}"
    for number, (row, source) in enumerate(zip(found, wanted, strict=False), 1):
        yield from same_text(f"{what}, row {number}", " | ".join(row), " | ".join(source))
