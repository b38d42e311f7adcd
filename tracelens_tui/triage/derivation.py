"""The column ``derivation`` of a category's ops table: what the row's metrics were computed from, exact, as JSON.

With it the metrics file can be made again from the table alone, so that ``validate`` notices a changed value in either.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from tracelens_tui.analysis.model import OPS_SCHEMA
from tracelens_tui.errors import UserError
from tracelens_tui.triage.origins import Origin

COLUMN = "derivation"

_OPS = (
    "row", "name", "dims", "types", "count", "kernel_ns_sum", "exposed_ns", "flops", "bytes", "spec", "precision",
    "bound", "efficiency", "efficiency_low", "efficiency_high", "pct_roofline_mean", "library", "modelled",
    "kernel_time_cov",
)  # fmt: skip
"""Columns of ``Analysis.ops`` that the metrics are computed from."""


def derivations(ops: pl.DataFrame, kernels: Mapping[int, Sequence[str]], origins: Mapping[int, Origin]) -> pl.Series:
    """Return the column for the rows of ``Analysis.ops``."""
    texts: list[str] = []
    for row in ops.select(_OPS).iter_rows(named=True):
        origin = origins.get(row["row"])
        told = {"kernels": list(kernels.get(row["row"], ())), "origin": None if origin is None else asdict(origin)}
        texts.append(json.dumps(row | told, ensure_ascii=True, allow_nan=False))
    return pl.Series(COLUMN, texts, dtype=pl.String)


def derived(rows: Sequence[Mapping[str, str]]) -> tuple[pl.DataFrame, dict[int, list[str]], dict[int, Origin]]:
    """Return the rows of ``Analysis.ops``, their kernels and origins from the table's rows.

    Raises UserError that names the line whose cell is not as this program writes it.
    """
    told = [_told(row, line) for line, row in enumerate(rows, 2)]
    kernels = {int(one["row"]): [str(name) for name in one["kernels"]] for one in told}
    origins = {int(one["row"]): _origin(one["origin"]) for one in told if one["origin"] is not None}
    values = [{name: one[name] for name in _OPS} for one in told]
    try:
        frame = pl.DataFrame(values, schema={name: OPS_SCHEMA[name] for name in _OPS}, strict=True)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise UserError(f"column {COLUMN} holds a value of another type: {error}") from error
    return frame, kernels, origins


def _told(row: Mapping[str, str], line: int) -> dict[str, Any]:
    """The object in a row's cell, with every field that is read of it."""
    try:
        told = json.loads(row.get(COLUMN, ""))
    except ValueError:
        told = None
    if not isinstance(told, dict) or not {*_OPS, "kernels", "origin"} <= told.keys() or not _well_formed(told):
        raise UserError(f"line {line}, column {COLUMN} is not as the metrics were made from it")
    return told


def _well_formed(told: Mapping[str, Any]) -> bool:
    origin = told["origin"]
    lists = [told["kernels"]] if origin is None else [told["kernels"], origin.get("modules"), origin.get("chain")]
    return isinstance(told["row"], int) and all(isinstance(one, list) for one in lists)


def _origin(told: Mapping[str, Any]) -> Origin:
    return Origin(str(told.get("path")), tuple(map(str, told["modules"])), tuple(map(str, told["chain"])))
