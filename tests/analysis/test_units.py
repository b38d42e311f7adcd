"""Microseconds from nanoseconds, exact."""

from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens_tui.analysis.units import percent_of_total, us_number, us_text


@pytest.mark.parametrize(
    ("ns", "us"), [(0, 0), (9_200, 9.2), (110_000, 110), (23_250, 23.25), (-1_500, -1.5), (1, 0.001)]
)
def test_numbers_are_whole_where_they_can_be(ns: int, us: float) -> None:
    assert us_number(ns) == us
    assert type(us_number(ns)) is type(us)


@settings(deadline=None)
@given(st.integers(-(10**15), 10**15))
def test_numbers_print_every_digit(ns: int) -> None:
    assert Decimal(str(us_number(ns))) == Decimal(ns) / 1000


@settings(deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_texts_are_exact_and_short(values: list[int]) -> None:
    texts = pl.DataFrame({"ns": values}).select(us_text("ns"))["ns"].to_list()
    for ns, text in zip(values, texts, strict=True):
        assert Decimal(text) == Decimal(ns) / 1000
        assert "." not in text or text[-1] not in "0."


def test_percentages_of_nothing_are_zero() -> None:
    frame = pl.DataFrame({"x": [0.0, 0.0]}).select(percent_of_total("x"))
    assert frame.rows() == [(0.0, 0.0), (0.0, 0.0)]
