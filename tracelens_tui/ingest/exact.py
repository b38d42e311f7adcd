"""Columns of times in microseconds, as text or as floats, into exact integer nanoseconds."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracelens_tui.ingest.batch import ABSENT, Int64
from tracelens_tui.ingest.numbers import nanoseconds

_EXACT_BELOW = 2.0**43
"""µs; below it floats lie closer than 1 ns, so that only one number with three decimals is near each of them.

The base time of Kineto files keeps theirs below 7.9e12 µs; times since 1970 are beyond.
"""

_MOST_DIGITS = 16  # of whole µs that are read together, if the first of so many is at most a 3: their ns fit 64 bits
_NS_DECIMALS = 3
_PLAIN = np.isin(np.arange(256), np.frombuffer(b"0123456789.\n", np.uint8))
_NEWLINE, _POINT, _THREE = b"\n.3"


def floats_do(ns: Int64) -> bool:
    """Return whether times like these are safe to be read as floats."""
    given = ns[ns != ABSENT]
    return not len(given) or bool(np.abs(given).max() < _EXACT_BELOW * 1000)


def ns_of_floats(values: Sequence[float | None] | NDArray[np.float64]) -> Int64 | None:
    """Return the times in ns, ABSENT for None and nan; None where floats do not tell what the file's digits were.

    Right if the file has at most three decimals: then each value is the float nearest to a whole number of ns, which is
    what is checked.
    """
    times = np.array(values, np.float64)  # a copy
    missing = np.isnan(times)
    times[missing] = 0
    if not len(times):
        return np.empty(0, np.int64)
    if np.abs(times).max() >= _EXACT_BELOW:
        return None
    whole = np.floor(times)
    ns = whole.astype(np.int64) * 1000 + np.rint((times - whole) * 1000).astype(np.int64)
    if (ns / 1000.0 != times).any():
        return None
    ns[missing] = ABSENT
    return ns


def ns_of_texts(values: Sequence[bytes]) -> tuple[Int64, int]:
    """Return the times in ns of JSON number texts, ABSENT for none, and how many lost digits below the ns."""
    if not values:
        return np.empty(0, np.int64), 0
    lines = b"\n".join([*values, b""])
    if lines.count(b"\n") != len(values):  # a list or an object stands where a number belongs
        lines = b"\n".join([*(bytes(value).replace(b"\n", b" ") for value in values), b""])
    ns, plain = _plain_ns(lines, len(values))
    rounded = 0
    for row in np.flatnonzero(~plain).tolist():
        time, inexact = nanoseconds(bytes(values[row]).decode("utf-8", "replace").strip('"'))
        ns[row] = ABSENT if time is None else time
        rounded += inexact
    return ns, rounded


def _plain_ns(lines: bytes, count: int) -> tuple[Int64, NDArray[np.bool_]]:
    """Read the lines that hold nothing but digits and at most a point before up to three decimals; tells which do."""
    chars = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(chars == _NEWLINE)
    starts = np.append(0, ends[:-1] + 1)
    length = ends - starts
    points = np.flatnonzero(chars == _POINT)
    line_of_point = np.searchsorted(ends, points)
    point_count = np.bincount(line_of_point, minlength=count)
    decimals = np.zeros(count, np.int64)
    decimals[line_of_point] = ends[line_of_point] - points - 1
    odd = np.bincount(np.searchsorted(ends, np.flatnonzero(~_PLAIN[chars])), minlength=count) > 0
    plain = ~odd & (point_count <= 1) & (decimals <= _NS_DECIMALS)
    whole = length - point_count - decimals
    plain &= (length > point_count) & (whole <= _MOST_DIGITS) & ((whole < _MOST_DIGITS) | (chars[starts] <= _THREE))
    digits = np.zeros(count, np.int64)
    if plain.any():
        kept = lines if plain.all() else b"".join(_chosen(lines, starts, ends, plain))
        digits[plain] = np.fromstring(kept.replace(b".", b"").decode("ascii"), np.int64, sep="\n")
    return digits * 10 ** np.maximum(_NS_DECIMALS - decimals, 0), plain


def _chosen(lines: bytes, starts: Int64, ends: Int64, which: NDArray[np.bool_]) -> list[bytes]:
    return [lines[start : end + 1] for start, end in zip(starts[which].tolist(), ends[which].tolist(), strict=True)]
