"""The preview of a report."""

from tests.app import data
from tracelens_tui.app.report_lines import Section, section_lines, sections_of, spans


def shown(section: Section, width: int = 60) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in section_lines(section, width)]


def test_sections_follow_the_headings_and_lose_comments_and_pictures():
    sections = sections_of(data.REPORT)
    assert [(section.level, section.title) for section in sections] == [
        (1, "Llama - MI300X Standalone Analysis"),
        (2, "Executive Summary"),
        (2, "Compute Kernel Optimizations"),
        (3, "🔴 P1: GEMM runs at half of its roof (Tensile)"),
    ]
    text = "\n".join(line for section in sections for line in section.body)
    assert "<!--" not in text
    assert "base64" not in text


def test_tables_are_aligned_with_numbers_to_the_right():
    assert shown(sections_of(data.REPORT)[1]) == [
        "Executive Summary",
        "",
        "The window is 0.76 ms; aten::addmm takes 39.5 % of it.",
        "",
        "Metric        Value",
        "Total Time  0.76 ms",
        "Idle %        34.21",
        "",
        "(picture: Performance Improvement)",
    ]


def test_table_cells_keep_their_text():
    last = shown(sections_of(data.REPORT)[3])[-1]
    assert last == "aten::addmm  (8944, 1024) bf16, (1024, 2816) bf16  k<a>[/b][red]      0.300"


def test_spans():
    assert spans("a **b** `c` **d") == [("a ", ""), ("b", "bold"), (" ", ""), ("c", "accent"), (" **d", "")]


def test_lists_and_quotes_hang():
    section = Section("T", 2, ("- one two three four five", "> a quote that is long enough to wrap"))
    quote = ["│ a quote that is", "│ long enough to", "│ wrap"]
    assert shown(section, 20)[2:] == ["• one two three four", "  five", *quote]


def test_escapes_are_gone():
    assert sections_of("# a\x1b[31m\n\nb\x07c")[0] == Section("a", 1, ("", "b c"))
