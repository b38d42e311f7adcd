"""Traits of norms and reductions: how the work divides into rows and channels."""

import math

from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits.shapes import first_shape, sides
from tracelens_tui.triage.traits.types import Facts, Trait

LARGE_VOCABULARY = 32_000
MANY_ROWS = 8_192
LONG_ROW = 1_024
LARGE_MIB = 4.0
ODD = 8

_CHOICES = ("::argmax", "::topk", "::sort", "::multinomial")


def _few_channels(op: OpFacts, run: RunContext) -> Facts | None:
    """A batch norm in channels-first layout whose channels are fewer than the device's compute units."""
    channels = op.param("num_channels")
    if "batch_norm" not in op.name or channels is None or not run.sm_count or channels >= run.sm_count:
        return None
    return {"channels": int(channels), "sms": run.sm_count}


def _few_results(op: OpFacts, run: RunContext) -> Facts | None:
    """A reduction of at least 4 MiB to fewer results than the device has compute units."""
    results = op.param("num_output_elems")
    if results is None or not run.sm_count or results >= run.sm_count or (op.mib or 0.0) < LARGE_MIB:
        return None
    return {"results": int(results), "sms": run.sm_count}


def _long_rows(op: OpFacts, _run: RunContext) -> Facts | None:
    """A softmax over rows of more than 1,024 elements."""
    shape = sides(op.dims[0]) if op.dims else ()
    if "softmax" not in op.name or not shape or shape[-1] <= LONG_ROW:
        return None
    return {"row": shape[-1]}


def _odd_rows(op: OpFacts, _run: RunContext) -> Facts | None:
    """A softmax over long rows whose length is no multiple of eight."""
    found = _long_rows(op, _run)
    return found if found is not None and int(found["row"]) % ODD else None


def _vocabulary(op: OpFacts, _run: RunContext) -> Facts | None:
    """A log-softmax over at least 32,000 classes."""
    shape = sides(op.dims[0]) if op.dims else ()
    if "log_softmax" not in op.name or len(shape) < 2 or shape[-1] < LARGE_VOCABULARY:
        return None
    return {"classes": shape[-1]}


def _mean_and_variance(op: OpFacts, run: RunContext) -> Facts | None:
    """A mean, and a variance of the same shape elsewhere in the run."""
    shape = sides(op.dims[0]) if op.dims else ()
    if not op.name.endswith("::mean") or len(shape) < 2:
        return None
    found = next(
        (other for other in run.others if other.name.endswith(("::var", "::std")) and first_shape(other) == shape), None
    )
    return None if found is None else {"variance": found.name}


def _short_rows(op: OpFacts, _run: RunContext) -> Facts | None:
    """A layer norm of at least 8,192 rows of at most 1,024 elements."""
    shape = sides(op.dims[0]) if op.dims else ()
    if "layer_norm" not in op.name or len(shape) < 2 or shape[-1] > LONG_ROW:
        return None
    rows = math.prod(shape[:-1])
    return {"rows": rows, "row": shape[-1]} if rows >= MANY_ROWS else None


def _sampling(op: OpFacts, _run: RunContext) -> Facts | None:
    """A choice among at least 32,000 entries of a row."""
    shape = sides(op.dims[0]) if op.dims else ()
    if not op.name.endswith(_CHOICES) or not shape or shape[-1] < LARGE_VOCABULARY:
        return None
    return {"classes": shape[-1]}


def _column_sum(op: OpFacts, _run: RunContext) -> Facts | None:
    """A sum of a matrix over its rows: as many results as columns."""
    shape = sides(op.dims[0]) if op.dims else ()
    if not op.name.endswith("::sum") or len(shape) != 2 or shape[0] == shape[1]:
        return None
    return {"rows": shape[0]} if op.param("num_output_elems") == shape[1] else None


TRAITS = {
    "sampling": Trait(_sampling, ("classes",)),
    "column_sum": Trait(_column_sum, ("rows",)),
    "few_channels": Trait(_few_channels, ("channels", "sms")),
    "few_results": Trait(_few_results, ("results", "sms")),
    "long_rows": Trait(_long_rows, ("row",)),
    "odd_rows": Trait(_odd_rows, ("row",)),
    "vocabulary": Trait(_vocabulary, ("classes",)),
    "mean_and_variance": Trait(_mean_and_variance, ("variance",)),
    "short_rows": Trait(_short_rows, ("rows", "row")),
}
