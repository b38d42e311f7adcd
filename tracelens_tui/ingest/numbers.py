"""Exact numbers from whatever a file holds: ints, decimals, numeric strings, scientific notation."""

import hashlib
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any

INT64_MAX = 2**63 - 1
NS_MAX = 2**62  # so that a start and a duration can be added

_EXACT = Context(prec=120, rounding=ROUND_HALF_EVEN)
_DIGITS_OF_INT64 = 19
_LONGEST_NUMBER = 400  # characters; a longer text is no time and no id, and must not cost quadratic time
_LARGE = re.compile(rf"0*([1-9]\d{{{_DIGITS_OF_INT64 - 1},{_LONGEST_NUMBER}}})", re.ASCII)
_ALL_BITS = str(2**64 - 1)  # -1 as an unsigned number
_STANDS_FOR_LARGE = 1 << 62


def decimal_of(value: Any) -> Decimal | None:  # noqa: ANN401 - decoded JSON
    """Return the finite number that ``value`` stands for, exactly; None for anything else.

    A float is read by its shortest text, which is what the file held if it had at most 15 digits.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) <= INT64_MAX else None
    if isinstance(value, float):
        value = repr(value)
    if isinstance(value, str):
        value = _parsed(value)
    return value if isinstance(value, Decimal) and value.is_finite() else None


def _parsed(text: str) -> Decimal | None:
    text = text.strip()
    if not text or len(text) > _LONGEST_NUMBER or not text.isascii() or "_" in text:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def whole_number(text: str) -> int | None:
    """Return the number of JSON text without a point, None for one of so many digits that it means nothing."""
    return int(text) if len(text) <= _LONGEST_NUMBER else None


def point_number(text: str) -> Decimal | None:
    """Return the number of JSON text with a point or an exponent, None for one that is beyond Decimal."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def nanoseconds(value: Any) -> tuple[int | None, bool]:  # noqa: ANN401 - decoded JSON
    """Return a time of ``value`` microseconds in ns, and whether digits below the ns were rounded (half to even).

    The time is None where there is no number or where it is beyond 146 years.
    """
    if type(value) is int and abs(value) <= NS_MAX // 1000:
        return value * 1000, False
    number = decimal_of(value)
    if number is None or number.adjusted() >= _DIGITS_OF_INT64:
        return None, False
    exact = _EXACT.scaleb(number, 3)
    whole = _EXACT.to_integral_value(exact)
    result = int(whole)
    return (result, whole != exact) if abs(result) <= NS_MAX else (None, False)


def integer(value: Any) -> int | None:  # noqa: ANN401 - decoded JSON
    """Return the 64-bit whole number that ``value`` stands for (``6``, ``"6"``, ``6.0``), else None."""
    if type(value) is int:
        return value if abs(value) <= INT64_MAX else None
    number = decimal_of(value)
    if number is None or number.adjusted() >= _DIGITS_OF_INT64:
        return None
    whole = int(number)
    return whole if whole == number and abs(whole) <= INT64_MAX else None


def identifier(value: Any) -> int | None:  # noqa: ANN401 - decoded JSON
    """Return the 64-bit number that tells the id ``value`` from others, None for what is no whole number.

    It is the number itself where that fits; -1 where a file has -1 as an unsigned number; else one from 2**62 on.
    """
    number = integer(value)
    if number is not None or not isinstance(value, (int, str)):
        return number
    large = _LARGE.fullmatch(str(value).strip())
    if large is None:
        return None
    if large[1] == _ALL_BITS:
        return -1
    digest = hashlib.blake2b(large[1].encode(), digest_size=8).digest()
    return _STANDS_FOR_LARGE | int.from_bytes(digest, "big") >> 2
