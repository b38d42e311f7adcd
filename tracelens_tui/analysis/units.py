"""Nanoseconds as the tables and ``info`` print them: microseconds, exact to the last digit."""

import polars as pl


def us_number(ns: int) -> int | float:
    """Return ``ns`` in µs: an int where it is whole, else the float whose shortest text is the exact decimal."""
    whole, rest = divmod(ns, 1_000)
    return whole if rest == 0 else ns / 1_000


def us_text(column: str) -> pl.Expr:
    """Return an expression: an integer column in ns as exact decimal text in µs, without trailing zeros."""
    ns = pl.col(column)
    size = ns.abs()
    text = pl.format(
        "{}{}.{}",
        pl.when(ns < 0).then(pl.lit("-")).otherwise(pl.lit("")),
        size // 1_000,
        (size % 1_000).cast(pl.String).str.zfill(3),
    )
    return text.str.strip_chars_end("0").str.strip_chars_end(".").alias(column)


def us(column: str) -> pl.Expr:
    """Return an expression: a column in ns as a float in µs."""
    return pl.col(column) / 1_000


def percent_of_total(column: str) -> tuple[pl.Expr, pl.Expr]:
    """Return the columns ``Percentage (%)`` and ``Cumulative Percentage (%)`` of a column, 0 where its sum is 0."""
    total = pl.col(column).sum()
    share = pl.when(total > 0).then(100.0 * pl.col(column) / total).otherwise(0.0)
    return share.alias("Percentage (%)"), share.cum_sum().alias("Cumulative Percentage (%)")
