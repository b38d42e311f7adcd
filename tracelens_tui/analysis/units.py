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


def per(column: str, unit: float) -> pl.Expr:
    """Return an expression: a numeric column over ``unit``, each value the float nearest to the exact quotient.

    Polars multiplies by the reciprocal of a constant divisor: 5879 ns would print as 5.8790000000000004 µs.
    """

    def divided(values: pl.Series) -> pl.Series:
        return pl.Series(values.name, values.to_numpy() / unit).fill_nan(None)

    return pl.col(column).cast(pl.Float64).map_batches(divided, return_dtype=pl.Float64)


def in_us(*columns: str) -> list[pl.Expr]:
    """Return expressions: columns in ns, by the same names in µs."""
    return [per(column, 1_000.0) for column in columns]


def share_of(column: str, whole: pl.Expr) -> pl.Expr:
    """Return an expression: a column in % of ``whole``, 0 of nothing."""
    return pl.when(whole > 0).then(100.0 * pl.col(column) / whole).otherwise(0.0)


def percent_of_total(column: str) -> tuple[pl.Expr, pl.Expr]:
    """Return the columns ``Percentage (%)`` and ``Cumulative Percentage (%)`` of a column, 0 where its sum is 0."""
    share = share_of(column, pl.col(column).sum())
    return share.alias("Percentage (%)"), share.cum_sum().alias("Cumulative Percentage (%)")
