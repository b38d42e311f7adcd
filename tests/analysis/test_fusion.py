"""Chains of calls that fusion could join: what links two calls, what does not, and what each removes."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.making import analysed, kernel, launch, mm, op, python
from tracelens_tui.analysis.fusion import CHAIN_KERNELS, FUSION_SCHEMA, fusion_chains
from tracelens_tui.analysis.source import open_analysis_of

BF16 = "c10::BFloat16"
MODULE = "nn.Module: MLP_0"


def pointwise(name, ts, *shapes):
    return op(name, ts, 8, dims=[list(shape) for shape in shapes], types=[BF16] * len(shapes), concrete=[""])


def run(calls, *, around=MODULE, streams=()):
    """The calls, 10 µs apart, each with a kernel of 100 µs; the given calls' kernels on another stream."""
    events = [python(around, 0, 10 * len(calls) + 5)] if around else []
    for number, make in enumerate(calls):
        start = 10 * number + 1
        stream = 9 if number in streams else 7
        events += [make(start), launch(number + 1, start + 1)]
        events.append(kernel(f"k{number}", 1000 + 100 * number, 100, number + 1, stream=stream))
    return analysed(events)


def silu(ts):
    return pointwise("aten::silu", ts, (64, 128))


def mul(ts):
    return pointwise("aten::mul", ts, (64, 128), (64, 128))


def names(analysis):
    chains = fusion_chains(analysis).join(analysis.ops.select("row", "name"), on="row", maintain_order="left")
    return [tuple(group["name"]) for _, group in chains.group_by("chain", maintain_order=True)]


def test_the_removed_traffic_by_hand():
    """silu reads and writes n: the half that it writes; mul reads 2 n and writes n: the third that it reads."""
    chains = fusion_chains(run([silu, mul]))
    assert chains["removed"].to_list() == pytest.approx([1 / 2, 1 / 3])
    assert chains["kernel_ns"].to_list() == [100_000, 100_000]
    assert chains.schema == pl.Schema(FUSION_SCHEMA)


def test_the_middle_of_a_chain_loses_what_it_reads_and_writes():
    chains = fusion_chains(run([silu, mul, lambda ts: pointwise("aten::gelu", ts, (64, 128))]))
    assert chains["removed"].to_list() == pytest.approx([1 / 2, 2 / 3, 1 / 2])


def test_a_product_begins_a_chain_and_loses_nothing():
    """The product writes what its epilogue would: all of silu's traffic goes, none of the product's."""
    chains = fusion_chains(run([lambda ts: mm(ts, 8, 64, 128, 32), silu]))
    assert chains["removed"].to_list() == pytest.approx([0.0, 1.0])


def test_a_product_ends_a_chain():
    assert names(run([silu, lambda ts: mm(ts, 8, 64, 32, 128)])) == []


@pytest.mark.parametrize(
    ("calls", "fields"),
    [
        ([silu, lambda ts: pointwise("aten::mul", ts, (64, 64), (64, 64))], {}),  # another shape
        ([silu, lambda ts: pointwise("aten::mul", ts, (128, 64), (128, 64))], {}),  # as many elements, other rows
        ([mul, mul, mul], {}),  # the same op with the same arguments
        ([silu, mul], {"streams": (1,)}),
        ([silu, mul], {"around": "script.py(1): main"}),  # no module
        ([silu, mul], {"around": None}),
        ([lambda ts: mm(ts, 8, 64, 128, 32), lambda ts: mm(ts, 8, 64, 64, 128)], {}),
    ],
)
def test_what_is_not_linked(calls, fields):
    assert names(run(calls, **fields)) == []


def test_other_work_between_two_calls_breaks_the_chain():
    events = [python(MODULE, 0, 50)]
    for number, make in enumerate((silu, mul)):
        events += [make(10 * number + 1), launch(number + 1, 10 * number + 2)]
    events += [kernel("a", 1000, 100, 1), kernel("unlinked", 1100, 5, 99), kernel("b", 1200, 100, 2)]
    assert names(analysed(events)) == []


def test_a_long_chain_is_no_candidate():
    assert len(names(run([silu, mul] * (CHAIN_KERNELS // 2)))) == 1
    assert names(run([silu, mul] * (CHAIN_KERNELS // 2 + 1))) == []


def test_a_chain_without_gpu_work():
    assert fusion_chains(analysed([op("aten::add", 0, 5)])).is_empty()


KINDS = (silu, mul, lambda ts: mm(ts, 8, 64, 128, 128), lambda ts: pointwise("aten::add", ts, (64, 128), (1, 128)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(KINDS), min_size=2, max_size=12), st.sets(st.integers(0, 11), max_size=3))
def test_no_call_is_in_two_chains(calls, streams):
    analysis = run(calls, streams=streams)
    chains = fusion_chains(analysis)
    assert chains["event"].is_unique().all()
    assert (chains["removed"].to_numpy() <= 1).all()
    assert int(chains["kernel_ns"].sum()) <= int(analysis.ops["kernel_ns_sum"].sum())
    products = chains.join(analysis.ops.filter(category="GEMM"), on="row", how="semi")
    assert (products["removed"].to_numpy() == 0).all()
    assert np.all(chains.group_by("chain").len()["len"].to_numpy() > 1)


def test_norms_of_a_real_trace(shared):
    """24 layers with two norms each and one at the end: 24 follow a residual, 25 do not."""
    analysis = open_analysis_of(shared / "traces/mi300_qwen.json.gz", use_cache=False)
    norms = [chain for chain in names(analysis) if "aten::rsqrt" in chain]
    assert len(norms) == 49
    assert sum(chain[0] == "aten::mm" for chain in norms) == 24


def test_independent_additions_of_a_real_trace(shared):
    analysis = open_analysis_of(shared / "traces/units/elem_01_add_poor_bw.json.gz", use_cache=False)
    assert names(analysis) == []


def test_the_norm_kernels_of_a_real_trace_are_not_exceeded(shared):
    """All kernels of batch norm take 3.96 ms there (``norm_fwd`` of the oracle's table by category)."""
    analysis = open_analysis_of(shared / "traces/mi300_resnet_ckpt.json.gz", use_cache=False)
    chains = fusion_chains(analysis).join(analysis.ops.select("row", "category"), on="row")
    assert chains["event"].is_unique().all()
    norms = chains.filter(pl.col("category") == "NORM_fwd")
    removed = float((norms["kernel_ns"] * norms["removed"]).sum())
    assert 0 < removed < 3.96e6
