"""Columns of times in microseconds, as text or as floats, into exact integer nanoseconds."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.numbers import nanoseconds

_EXACT_BELOW = 2.0**43
"""µs; below it floats lie closer than 1 ns, so that only one number with three decimals is near each of them.

The base time of Kineto files keeps theirs below 7.9e12 µs; times since 1970 are beyond.
"""

_PLAIN = r"^-?\d{1,15}(?:\.\d+)?$|^[1-3]\d{15}(?:\.\d+)?$"
_DECIMALS = r"\.(\d+)$"
_MORE_THAN_NS = r"\.\d{3}\d*[1-9]"


def floats_do(ns: pl.Series) -> bool:
    """Return whether times like these are safe to be read as floats."""
    most = ns.abs().max()
    return most is None or most < _EXACT_BELOW * 1000  # type: ignore[operator]


def ns_of_floats(values: Sequence[float | None] | NDArray[np.float64]) -> pl.Series | None:
    """Return the times in ns, null for None and nan; None where floats do not tell what the file's digits were.

    Right if the file has at most three decimals: then each value is the float nearest to a whole number of ns, which is
    what is checked.
    """
    times = np.array(values, np.float64)  # a copy
    missing = np.isnan(times)
    times[missing] = 0
    if not len(times):
        return pl.Series([], dtype=pl.Int64)
    if np.abs(times).max() >= _EXACT_BELOW:
        return None
    whole = np.floor(times)
    ns = whole.astype(np.int64) * 1000 + np.rint((times - whole) * 1000).astype(np.int64)
    if (ns / 1000.0 != times).any():
        return None
    result = pl.Series(ns)
    return result.set(pl.Series(missing), None) if missing.any() else result


def ns_of_texts(values: pl.Series) -> tuple[pl.Series, int]:
    """Return the times in ns of JSON number texts, null where there is none, and how many lost digits below the ns."""
    texts = values.str.strip_chars('"')
    plain = texts.str.contains(_PLAIN) & ~texts.str.contains(_MORE_THAN_NS)
    digits = texts.str.extract(_DECIMALS).fill_null("").str.head(3).str.pad_end(3, "0")
    number = texts.str.extract(r"^(-?\d+)") + digits
    result = number.zip_with(plain.fill_null(value=False), pl.Series([None], dtype=pl.String)).cast(pl.Int64)
    odd = (~plain & (values != "")).fill_null(value=False).arg_true()
    if not len(odd):
        return result, 0
    read = [nanoseconds(text) for text in texts[odd].to_list()]
    result = result.scatter(odd, pl.Series([time for time, _ in read], dtype=pl.Int64))
    return result, sum(rounded for _, rounded in read)
