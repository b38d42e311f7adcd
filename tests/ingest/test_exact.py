"""Times to the nanosecond, whatever way the file writes them; the oracle is rational arithmetic on the digits."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.ingest.batch import ABSENT
from tracelens_tui.ingest.exact import ns_of_floats, ns_of_texts
from tracelens_tui.ingest.numbers import NS_MAX, integer, nanoseconds

EPOCH_US = 1_712_345_678_901_234


def half_even(number: Fraction) -> int:
    return round(number)  # Fraction rounds halves to even


@st.composite
def number_texts(draw: st.DrawFn) -> str:
    """JSON numbers of up to 16 digits before and 12 after the point, some with an exponent."""
    sign = draw(st.sampled_from(["", "-"]))
    whole = str(draw(st.integers(0, NS_MAX // 1000 - 1)))
    decimals = draw(st.text("0123456789", max_size=12))
    exponent = draw(st.sampled_from(["", "", "", "e0", "E-3", "e+2"])) if len(whole) < 13 else ""
    return f"{sign}{whole}{'.' + decimals if decimals else ''}{exponent}"


@given(number_texts())
def test_text_to_ns_is_exact(text: str):
    true = Fraction(text) * 1000
    expected = half_even(true)
    assert nanoseconds(text) == (expected, true != expected)
    assert nanoseconds(Decimal(text)) == (expected, true != expected)


@given(st.lists(number_texts(), min_size=1, max_size=30))
def test_columns_of_texts_are_exact(texts: list[str]):
    quoted = [f'"{text}"' if at % 5 == 4 else text for at, text in enumerate(texts)]
    times, rounded = ns_of_texts([text.encode() for text in quoted])
    true = [Fraction(text) * 1000 for text in texts]
    assert times.tolist() == [half_even(number) for number in true]
    assert rounded == sum(number.denominator != 1 for number in true)


@given(st.lists(st.integers(-(2**43) * 1000 + 1, 2**43 * 1000 - 1), min_size=1))
def test_floats_with_three_decimals_are_exact_below_the_limit(ns: list[int]):
    floats = [float(f"{'-' if t < 0 else ''}{abs(t) // 1000}.{abs(t) % 1000:03d}") for t in ns]
    times = ns_of_floats(floats)
    assert times is not None
    assert times.tolist() == ns


@given(st.lists(number_texts(), min_size=1, max_size=5))
def test_floats_give_the_digits_or_no_answer(texts: list[str]):
    """Digits below the ns that a float still shows are never passed over in silence."""
    times = ns_of_floats([float(text) for text in texts])
    if times is not None:
        for text, time in zip(texts, times.tolist(), strict=True):
            assert abs(time - Fraction(text) * 1000) <= 1
            assert time == half_even(Fraction(text) * 1000) or abs(Fraction(text)) >= 2**42


@pytest.mark.parametrize("value", [0.0005, 1.2345, 2.0**43, -(2.0**43), 1712345678901234.5])
def test_floats_that_do_not_tell_the_digits_give_no_answer(value: float):
    assert ns_of_floats([1.5, value]) is None


def test_values_on_several_lines_are_no_times():
    times, rounded = ns_of_texts([b"1.5", b"[\n1\n]", b'{"a":\n 2}', b"7"])
    assert times.tolist() == [1500, ABSENT, ABSENT, 7000]
    assert rounded == 0


def test_missing_floats_are_absent():
    times = ns_of_floats([None, 2.001, None])
    assert times is not None
    assert times.tolist() == [ABSENT, 2001, ABSENT]
    assert ns_of_floats(np.array([])) is not None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1712345678901234.567", EPOCH_US * 1000 + 567),
        (" 12 ", 12_000),
        ("1.6921085481321545e+15", 1_692_108_548_132_154_500),
        (1692108548132154.5, 1_692_108_548_132_154_500),
        (3, 3000),
        ("-0.5", -500),
        (0.2, 200),
        (4_611_686_018_427_387, 4_611_686_018_427_387_000),
    ],
)
def test_spellings_of_a_time(value, expected):
    assert nanoseconds(value) == (expected, False)
    if isinstance(value, str):
        assert ns_of_texts([value.strip().encode()])[0].tolist() == [expected]


@pytest.mark.parametrize(
    "value",
    [None, True, "", "abc", "1_000", "٣", "NaN", "inf", "-Infinity", float("nan"), float("inf"), [1], {}, "1e999999999",
     10**30, "9" * 5000, 4_611_686_018_427_388, "1" + "0" * 400],
)  # fmt: skip
def test_what_is_no_time(value):
    assert nanoseconds(value) == (None, False)


def test_columns_of_texts_know_where_64_bits_end():
    """Sixteen digits of µs: with a first digit up to 3 they are read together, beyond one by one, or not at all."""
    texts = [
        b"3999999999999999.999",
        b"4000000000000000.001",
        b"4611686018427388",
        b"9999999999999999.999",
        b"12345678901234567",
    ]
    expected = [3999999999999999999, 4000000000000000001, ABSENT, ABSENT, ABSENT]
    assert ns_of_texts(texts)[0].tolist() == expected


def test_the_largest_time_leaves_room_for_a_sum():
    largest, _ = nanoseconds(NS_MAX // 1000)
    assert largest is not None
    assert largest + largest < 2**63


@pytest.mark.parametrize(
    ("value", "expected"),
    [(6, 6), ("6", 6), (6.0, 6), (Decimal("6.0"), 6), ("6e0", 6), (-1, -1), (2**63 - 1, 2**63 - 1), (2**63, None),
     ("18446744073709551617123", None), (6.5, None), ("0x1f", None), (None, None), (False, None)],
)  # fmt: skip
def test_whole_numbers(value, expected):
    assert integer(value) == expected
