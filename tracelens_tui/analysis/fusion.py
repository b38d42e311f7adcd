"""Candidates for kernel fusion: calls in a row on one stream, each of which reads what the one before wrote.

A candidate instance is a chain of calls.  Two neighbours are linked where their kernels follow each other on a stream,
one host call (a module or an op) encloses both, and the shape that the first writes is one that the second reads.  A
call belongs to at most one chain, so no kernel is counted twice, however deep the modules nest.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.fusion_traffic import Links, links
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.trace.kinds import GPU_KINDS, Kind, Role
from tracelens_tui.trace.tree import EventTree

CONTAINER_KERNELS = 64
"""A call that encloses more GPU work is no neighbourhood: nothing is inferred from it."""
CHAIN_KERNELS = 15
"""A chain of more kernels is no candidate."""

FUSION_SCHEMA: dict[str, type[pl.DataType]] = {
    # one row per call of a chain, in the order of the stream
    "chain": pl.UInt32,
    "event": pl.UInt32,  # the call
    "row": pl.UInt32,  # row of Analysis.ops
    "kernels": pl.UInt32,  # GPU events of the call
    "kernel_ns": pl.Int64,
    "removed": pl.Float64,  # part of the call's traffic that fusing the chain removes, 0..1
    "container": pl.UInt32,  # innermost host call around the whole chain
}

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def fusion_chains(analysis: Analysis) -> pl.DataFrame:
    """Return FUSION_SCHEMA for the chosen device; no rows where nothing can be linked."""
    steps = _steps(analysis)
    if steps.height < 2 or not analysis.ops.height:
        return pl.DataFrame(schema=FUSION_SCHEMA)
    found = links(analysis.ops)
    event, row = steps["event"].to_numpy().astype(np.int64), steps["row"].to_numpy().astype(np.int64)
    linked, written, read = _linked(steps, row, found)
    above = np.full(len(linked), -1, np.int64)
    above[linked] = _enclosing(analysis.tree, event[:-1][linked], event[1:][linked])
    linked &= _neighbourhood(analysis, above)
    removed = np.zeros(len(row))
    removed[:-1] += np.where(linked, written, 0.0)
    removed[1:] += np.where(linked, read, 0.0)
    chain = np.concatenate(([0], np.cumsum(~linked)))
    frame = steps.with_columns(
        chain=pl.Series(chain, dtype=pl.UInt32),
        removed=pl.Series(np.minimum(removed, 1.0)),
    )
    size = pl.col("kernels").sum().over("chain")
    kept = frame.filter((pl.len().over("chain") > 1) & (size <= CHAIN_KERNELS))
    return _with_container(analysis.tree, kept)


def _steps(analysis: Analysis) -> pl.DataFrame:
    """The GPU work of the device by stream and start, with what one call does without a break as one row."""
    trace, tree = analysis.trace, analysis.tree
    calls = analysis.calls
    events = trace.events.select("device", "stream", "kind", "role", "start_ns", "dur_ns", "thread").with_row_index(
        "gpu"
    )
    gpu = events.filter(pl.col("kind").is_in([int(kind) for kind in GPU_KINDS]) & (pl.col("device") == analysis.device))
    gpu = gpu.sort("stream", "start_ns", "gpu")
    owner = _owners(tree, calls["event"].to_numpy().astype(np.int64), gpu["gpu"].to_numpy().astype(np.int64))
    plain = ((gpu["kind"] == int(Kind.KERNEL)) & (gpu["role"] == int(Role.COMPUTE))).to_numpy()
    owner[~plain] = -1
    alone = np.where(owner >= 0, owner, -np.arange(1, len(owner) + 1))
    frame = gpu.select("stream", "dur_ns", run=pl.Series(alone).rle_id(), call=pl.Series(owner))
    runs = frame.group_by("stream", "run", maintain_order=True).agg(
        pl.col("call").first(), pl.len().alias("kernels"), pl.col("dur_ns").sum().alias("kernel_ns")
    )
    once = (pl.col("call") >= 0) & (pl.len().over("call") == 1)
    index = pl.when(once).then("call").otherwise(None)
    found = calls.select("event", "row")[runs.select(pl.col("call").clip(0))["call"].to_list() if calls.height else []]
    if not found.height:
        return pl.DataFrame(schema={"stream": pl.Int64, "event": pl.Int64, "row": pl.Int64})
    known = pl.col("known")
    return (
        runs.with_columns(index.is_not_null().alias("known"))
        .hstack(found)
        .with_columns(
            event=pl.when(known).then(pl.col("event").cast(pl.Int64)).otherwise(-1),
            row=pl.when(known).then(pl.col("row").cast(pl.Int64)).otherwise(-1),
        )
        .select("stream", "event", "row", "kernels", "kernel_ns")
    )


def _owners(tree: EventTree, calls: Ints, gpu: Ints) -> Ints:
    """The index of the call whose subtree holds each GPU event; -1 = none."""
    if not len(calls):
        return np.full(len(gpu), -1, np.int64)
    order = np.argsort(tree.position[calls], kind="stable")
    begins = tree.position[calls][order].astype(np.int64)
    place = tree.position[gpu]
    nearest = np.searchsorted(begins, place, side="right") - 1
    inside = (nearest >= 0) & (place < begins[nearest] + tree.size[calls][order][nearest])
    return np.where(inside, order[nearest], -1).astype(np.int64)


def _linked(steps: pl.DataFrame, row: Ints, found: Links) -> tuple[Bools, NDArray[np.float64], NDArray[np.float64]]:
    """For each pair of neighbours whether shapes link them, and the part of each one's traffic between them."""
    stream = steps["stream"].to_numpy()
    known = (row[:-1] >= 0) & (row[1:] >= 0) & (stream[:-1] == stream[1:])
    pairs = pl.DataFrame({"first": row[:-1], "second": row[1:]})
    distinct = pairs.filter(pl.Series(known)).unique(maintain_order=True)
    traffic = [found.between(first, second) for first, second in distinct.iter_rows()]
    table = distinct.with_columns(
        written=pl.Series([one[0] if one else None for one in traffic], dtype=pl.Float64),
        read=pl.Series([one[1] if one else None for one in traffic], dtype=pl.Float64),
    )
    joined = pairs.join(table, on=["first", "second"], how="left", maintain_order="left")
    linked = known & joined["read"].is_not_null().to_numpy()
    return linked, joined["written"].fill_null(0.0).to_numpy(), joined["read"].fill_null(0.0).to_numpy()


def _enclosing(tree: EventTree, first: Ints, second: Ints) -> Ints:
    """The innermost event around both events of each pair; -1 = none."""
    above = tree.parent[first].astype(np.int64)
    place = tree.position[second]
    while True:
        begins = tree.position[above]
        outside = (above >= 0) & ((place < begins) | (place >= begins + tree.size[above]))
        if not outside.any():
            return above
        above[outside] = tree.parent[above[outside]]


def _neighbourhood(analysis: Analysis, above: Ints) -> Bools:
    """Whether an event is an op, or a module or something in one, with little enough work below it."""
    trace, tree = analysis.trace, analysis.tree
    names = trace.names.str.starts_with("nn.Module: ").fill_null(value=False).to_numpy()
    module = names[trace.events["name"].to_numpy()] & (trace.events["kind"].to_numpy() == int(Kind.PYTHON_FUNCTION))
    opens = np.zeros(len(trace) + 1, np.int64)
    np.add.at(opens, tree.position[module], 1)
    np.add.at(opens, tree.position[module] + tree.size[module], -1)
    in_module = np.cumsum(opens)[tree.position] > 0
    op = trace.events["kind"].to_numpy() == int(Kind.CPU_OP)
    return (above >= 0) & (in_module | op)[above] & (tree.gpu_count[above] <= CONTAINER_KERNELS)


def _with_container(tree: EventTree, chains: pl.DataFrame) -> pl.DataFrame:
    """Add the innermost event around each chain: the one around its calls of the least and the greatest position."""
    place = pl.Series("place", tree.position[chains["event"].to_numpy()])
    ends = (
        chains.with_columns(place)
        .group_by("chain", maintain_order=True)
        .agg(
            pl.col("event").get(pl.col("place").arg_min()).alias("first"),
            pl.col("event").get(pl.col("place").arg_max()).alias("last"),
        )
    )
    around = _enclosing(tree, ends["first"].to_numpy().copy(), ends["last"].to_numpy())
    ends = ends.select("chain", container=pl.Series(around, dtype=pl.UInt32))
    joined = chains.join(ends, on="chain", how="left", maintain_order="left")
    return joined.select(*FUSION_SCHEMA).cast(pl.Schema(FUSION_SCHEMA))
