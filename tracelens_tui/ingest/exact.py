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

_LARGEST = 4 * 10**15  # µs whose ns fit 64 bits with room for a sum


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
    text = pl.col("text")
    whole, decimals = (text.str.split_exact(".", 1).struct.field(f"field_{part}") for part in (0, 1))
    columns = (
        pl.LazyFrame({"text": values})
        .select(
            text,
            whole=whole.cast(pl.Int64, strict=False),
            decimals=decimals.str.strip_chars_end("0").fill_null(""),
        )
        .with_columns(ns=pl.col("decimals").str.pad_end(3, "0").cast(pl.Int64, strict=False))
        .select(
            pl.col("whole") * 1000 + pl.when(text.str.starts_with("-")).then(-pl.col("ns")).otherwise(pl.col("ns")),
            plain=(pl.col("decimals").str.len_bytes() <= 3) & (pl.col("whole").abs() < _LARGEST) & (pl.col("ns") >= 0),
            given=text != "",
        )
        .collect()
    )
    plain = columns["plain"].fill_null(value=False)
    result = columns["whole"]
    odd = (~plain & columns["given"]).arg_true()
    if not plain.all():
        result = result.set(~plain, None)
    read = [nanoseconds(value.strip('"')) for value in values[odd].to_list()]
    result = result.scatter(odd, pl.Series([time for time, _ in read], dtype=pl.Int64)) if read else result
    return result, sum(rounded for _, rounded in read)
