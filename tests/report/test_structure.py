"""The form of the report, judged from its text alone: each way to break it is a problem."""

import re

import pytest

from tests.report.editing import text_of
from tracelens_tui.report.check_structure import structure_problems
from tracelens_tui.report.document import Document
from tracelens_tui.run.store import RunDir

CARD = "<!-- impact-begin kind=p_item category=gemm low=15.00 mid=17.50 high=20.00 -->"
CANDIDATE = "<!-- reasoning-candidate tier=compute rank=1 -->\n"
ANCHOR = '<a id="detailed-analysis-compute-p1"></a>\n'


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# Toy - MI300X Standalone Analysis", "# Report", "the title is not"),
        ("# Toy", "Toy", "the report begins with its title"),
        ("## Executive Summary", "## Summary", "the sections are"),
        ("## Appendix\n", "", "the sections are"),
        ("## Detailed Analysis", "## Warnings\n\n## Detailed Analysis", "the sections are"),
        ("### Top Operations", "### Operations", "begins with the headings"),
        ("### Kernel Fusion Insights", "### Fusion", "begins with the headings"),
        ("### Model Architecture", "### Model", "begins with the headings"),
        ("| Idle % |", "| Waiting |", "the executive summary has the rows"),
        ("| Metric | Value |\n|--------|-------|\n| Total", "| A | B |\n|--|--|\n| Total", "the executive summary"),
        (CARD, "<!-- impact-begin kind=p_item category=gemm low=15.00 high=20.00 -->", "has the attributes"),
        (CARD, CARD.replace("17.50", "much"), "'much' is no score"),
        (CARD, CARD.replace("17.50", "null"), "mixes null and numbers"),
        (CARD, CARD.replace("p_item", "item"), "unknown kind 'item'"),
        (CARD, CARD.replace(" category=gemm", ""), "name the category in the compute tier"),
        (CARD, CARD.replace("impact-begin", "impact-start"), "a comment that is no marker"),
        (CARD, CARD.replace(" -->", ""), "impact-end without a begin"),
        (CARD, "", "impact-end without a begin"),
        (CARD, f"{CARD}\n{CARD}", "impact-begin inside the one of line"),
        ("<!-- impact-end -->\n\n**Confidence**: medium", "\n**Confidence**: medium", "inside the one of line"),
        ("kind=top_ops", "kind=detail_estimate low=1 high=2", "not exactly one top_ops marker"),
        ("<!-- top-ops-row low=7.50 high=10.00 -->", "<!-- top-ops-row low=7.50 -->", "top-ops-row has the attributes"),
        ("tier=compute rank=1 -->", "tier=compute -->", "reasoning-candidate has the attributes"),
        (CANDIDATE, "", "is not preceded by"),
        (CANDIDATE, CANDIDATE.replace("rank=1", "rank=2"), "is not preceded by"),
        (ANCHOR, "", "the link #detailed-analysis-compute-p1 leads nowhere"),
        (ANCHOR, ANCHOR * 2, "stands twice"),
        ("(#detailed-analysis-compute-p1)", "(#detailed-analysis-compute-p2)", "no link to detailed-analysis-compute"),
        ("### 🔴 P1: Tune", "### 🔴 P3: Tune", "card of tier compute P3 stands at place 1"),
        ("### 🔴 P1: Tune", "### P1: Tune", "not the heading of a card"),
        ("#### 🔴 P1: Tune", "#### 🔴 P2: Tune", "detail block of tier compute P2 stands at place 1"),
        ("**Insight**: `aten", "Insight: `aten", "the card has no Insight"),
        ("**Action**: Pass", "Pass", "the card has no Action"),
        ("**Impact**: impact_score: 17.5", "impact_score: 17.5", "the card has no Impact"),
        ("**Resolution:** A longer", "A longer", "has not the labels"),
        ("**Reasoning for Slowdown:** One", "**Resolution:** One", "has not the labels"),
        ("| Bound |", "| Limit |", "data table is"),
        ("| Metric | Value | Flagged |", "| Metric | Flagged | Value |", "data table is"),
        ("detail_estimate low=15.00 high=20.00", "p_item low=1 mid=1 high=20.00", "not exactly one detail_estimate"),
        ("of its roof.", "of {{ROOF}}.", r"a placeholder is left: {{ROOF}}"),
        ("Toy - MI300X", "<Model> - MI300X", "a placeholder is left: <Model>"),
    ],
)  # fmt: skip
def test_each_breach_is_found(run: RunDir, old: str, new: str, problem: str) -> None:
    text = text_of(run)
    assert old in text
    problems = structure_problems(Document(text.replace(old, new, 1)))
    assert any(problem in line for line in problems), problems


def test_a_card_without_its_detail(run: RunDir) -> None:
    text = text_of(run)
    cut = re.sub(
        r"<!-- reasoning-candidate tier=compute rank=2 -->.*?(?=### Kernel Fusion Insights)", "", text, flags=re.S
    )
    assert "tier compute has 2 cards and 1 detail blocks" in structure_problems(Document(cut))


def test_a_tier_that_says_nothing(run: RunDir) -> None:
    text = re.sub(r"### 🟡 P1: Fuse.*?(?=## System)", "", text_of(run), flags=re.DOTALL)
    assert "tier fusion has neither cards nor a sentence that says so" in structure_problems(Document(text))


@pytest.mark.parametrize(
    "text",
    ["", "\n", "# a - b Standalone Analysis\n", "|", "| a", "<!-- impact-begin -->", "## Detailed Analysis\n#### x"],
)
def test_any_text_can_be_judged(text: str) -> None:
    assert structure_problems(Document(text))


def test_every_prefix_of_a_report_is_invalid(run: RunDir) -> None:
    text = text_of(run)
    last = text.index("### Hardware Reference")
    assert all(structure_problems(Document(text[:end])) for end in range(0, last, 97))


def test_tables_as_a_consumer_reads_them(run: RunDir) -> None:
    document = Document(text_of(run))
    section = document.section("Compute Kernel Optimizations")
    assert section is not None
    table = document.blocks(3, section)[0].tables[0]
    assert table.header == ("Rank", "Category", "Time (ms)", "% of Compute Time", "Ops")
    assert table.rows[0] == ("1", "GEMM", "50.00", "62.5%", "1")
    assert [m.attributes for m in document.markers if m.name == "top-ops-row"] == [
        {"low": "15.00", "high": "20.00"},
        {"low": "7.50", "high": "10.00"},
        {"low": "null", "high": "null"},
    ]
