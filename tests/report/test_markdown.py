"""Hostile names cannot change the form of the report; ordinary ones stay as they are."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tracelens_tui.report.document import Document
from tracelens_tui.report.markdown import Md, cell, code, escaped, finalize, prose
from tracelens_tui.run.findings import Evidence
from tracelens_tui.text import plain


@pytest.mark.parametrize(
    "name",
    [
        "aten::_scaled_dot_product_flash_attention", "aten::add_", "Cijk_Alik_Bljk_BBS_BH_MT256x224x64_MI16x16x1",
        "triton_poi_fused__to_copy_add_0", "(8192,2432) bf16", "model.py(12): forward", "nn.Module: Linear_3",
        "void vectorized_elementwise_kernel<4, float*>", "kernel#2", "50 % — α",
    ],
)  # fmt: skip
def test_ordinary_names_are_untouched(name: str) -> None:
    assert escaped(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "a|b", "a`b", "<!-- impact-end -->", "<script>alert(1)</script>", "<at::native::f>", "[x](http://evil)",
        "![x](y)", "http://evil.example", "www.evil.example", "a@evil.example", "&lt;", "&#124;", "&copy",
        "{{PERF_PLOT}}", "{% raw %}", "back\\slash|", "[a]: b", "[a][b]",
    ],
)  # fmt: skip
def test_hostile_names_show_as_they_are_and_do_nothing(name: str) -> None:
    safe = escaped(name)
    assert html.unescape(safe) == name
    rendered = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(f"| h |\n|---|\n| {safe} |\n")
    assert rendered.count("<td>") == 1
    inside = rendered.split("<td>")[1].split("</td>")[0]
    assert html.unescape(inside) == name
    assert "<" not in inside


@pytest.mark.parametrize("text", ["a\n# heading", "a\r\n\r\n---", "a\x1b[2Jb", "a\u2028b", "a\u202eb", "a\x00b"])
def test_control_characters_go(text: str) -> None:
    assert escaped(text) == plain(text)
    assert len(escaped(text).splitlines()) == 1


@given(st.text(max_size=60))
def test_any_text_is_one_cell_of_one_line(text: str) -> None:
    safe = escaped(text)
    assert "|" not in safe
    assert "<!--" not in safe
    assert "{{" not in safe
    assert len(safe.splitlines()) <= 1
    assert html.unescape(safe) == plain(text)


def test_breaks_of_argument_lists_stay_breaks() -> None:
    assert cell("(2,) bf16<br>(3,) <b>") == "(2,) bf16<br>(3,) &#60;b>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.b", "`a.b`"), ("", ""), ("a`b", "a&#96;b"), ("a|b", "a&#124;b"), ("<!-- x", "&#60;!-- x"), (" a ", "`a`"),
        ('<a id="x"></a>', '&#60;a id="x">&#60;/a>'), ("a](#x)", "a&#93;(#x)"), ("{% x", "&#123;% x"),
    ],
)  # fmt: skip
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_prose_keeps_code_spans_and_marks_names_from_the_trace() -> None:
    evidence = [
        Evidence(id="op", label="", value="aten::mm<!-- x -->|", source="a", key="b"),
        Evidence(id="name", label="", value="attn_fwd", source="a", key="b"),
        Evidence(id="time", label="", value=5.0, unit="ms", source="a", key="b"),
    ]
    text = prose("[[name]] and [[op]] take [[time]]: set `X=1` | <b>", evidence)
    assert text == "`attn_fwd` and aten::mm&#60;!-- x -->&#124; take 5.0 ms: set `X=1` &#124; &#60;b>"


def test_nothing_harmful_arises_where_two_pieces_meet() -> None:
    evidence = [
        Evidence(id="op", label="", value="!-- x `-->", source="a", key="b"),
        Evidence(id="time", label="", value=5, unit="](x)", source="a", key="b"),
    ]
    assert prose("<[[op]] [[[time]]", evidence) == "&#60;!-- x &#96;--> [5 &#93;(x)"


def test_a_name_without_a_letter_shows_as_a_dash_and_prose_has_no_margin() -> None:
    evidence = [Evidence(id="op", label="", value=" \x07", source="a", key="b")]
    assert prose("[[op]]", evidence) == "—"
    assert prose(" a [[op]]\n", evidence) == "a —"


@given(st.text(st.characters(exclude_characters="<"), max_size=60))  # lone surrogates as well
def test_a_cell_is_what_a_reader_of_the_table_finds(text: str) -> None:
    (table,) = Document(f"# t\n| h | i |\n|---|---|\n| {cell(text)} | x |\n").blocks(1)[0].tables
    assert table.rows == ((cell(text), "x"),)


def test_templates_escape_unless_told() -> None:
    assert finalize("a|b") == "a&#124;b"
    assert finalize(Md("a|b")) == "a|b"
    assert finalize(3) == "3"
