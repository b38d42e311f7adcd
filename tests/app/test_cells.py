"""Fitting text into terminal cells; widths of wide characters by Unicode: a CJK ideograph takes two cells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tracelens_tui.app.cells import Column, bar, clock, count_of, fit, fit_line, fixed, significant, widths, wrap


@pytest.mark.parametrize(
    ("text", "width", "align", "shown"),
    [
        ("abc", 5, "left", "abc  "),
        ("abc", 5, "right", "  abc"),
        ("abcdef", 4, "left", "abc…"),
        ("abcdef", 4, "right", "abc…"),
        ("日本語", 5, "left", "日本…"),
        ("日本語", 4, "left", "日 …"),
        ("x", 0, "left", ""),
        ("0.5", 4, "bar", "██  "),
    ],
)
def test_fit(text, width, align, shown):
    assert fit(text, width, align) == shown


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cf", "Mn", "Me")), max_size=40),
    st.integers(0, 30),
)
def test_fitted_text_has_exactly_the_width(text, width):
    assert cell_len(fit(text, width)) == width


def test_fit_line_cuts_and_fills():
    assert fit_line([("ab", "x"), ("cdef", "y")], 4) == [("ab", "x"), ("c…", "y")]
    assert fit_line([("ab", "x")], 4) == [("ab", "x"), ("  ", "")]


def test_wrap_hangs_under_its_first_line():
    assert wrap("one two three four", 14, "Label ") == ["Label one two", "      three", "      four"]
    assert wrap("", 20, "Label ") == ["Label "]


def test_wrap_breaks_a_word_that_fits_no_line():
    assert wrap("a" * 20, 8) == ["a" * 8, "a" * 8, "a" * 4]


COLUMNS = (
    Column("a", "A", 3),
    Column("b", "B", 10, "left", grows=True),
    Column("c", "C", 5),
    Column("d", "D", 6),
)


def test_the_growing_column_takes_what_is_left():
    assert widths(COLUMNS, 40, 0) == [(0, 3), (1, 23), (2, 5), (3, 6)]  # with a blank between them: 40


def test_columns_that_do_not_fit_whole_are_left_out():
    assert widths(COLUMNS, 22, 0) == [(0, 3), (1, 12), (2, 5)]


def test_scrolled_columns_go_after_the_growing_one():
    assert widths(COLUMNS, 22, 1) == [(0, 3), (1, 11), (3, 6)]


def test_a_bar_shows_anything_above_nothing():
    assert bar(0.0, 4) == "    "
    assert bar(0.0001, 4) == "▌   "
    assert bar(0.375, 4) == "█▌  "
    assert bar(2.0, 4) == "████"


def test_numbers():
    assert [significant(v) for v in (None, 0, 0.0002, 0.0341, 3.414, 34.14, 1341.4)] == [
        "-", "0.000", "<.001", "0.034", "3.41", "34.1", "1,341",
    ]  # fmt: skip
    assert fixed(1234.5, 2) == "1,234.50"
    assert clock(41) == "00:41"
    assert clock(3723.9) == "1:02:03"
    assert count_of(1, "call") == "1 call"
    assert count_of(1204, "call") == "1,204 calls"
