"""The analysis of every scenario reproduces what was planted."""

from collections import defaultdict
from dataclasses import dataclass

import polars as pl
import pytest

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.evals.planted import OpTruth, Planted
from tracelens_tui.evals.scenarios import SCENARIOS

MODELLED = {
    "aten::mm",
    "aten::_scaled_dot_product_flash_attention",
    *(
        f"aten::{name}"
        for name in ["add", "add_", "mul", "mul_", "div", "pow", "neg", "silu", "silu_backward", "copy_", "rsqrt"]
    ),
}
"""Ops that must have a roofline; others may."""

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Opened:
    planted: Planted
    analysis: Analysis

    def rows(self) -> dict[Key, pl.DataFrame]:
        """Rows of the op table by name, dims and types; calls that differ otherwise are several rows."""
        frame = self.analysis.ops
        return {key: part for key, part in frame.group_by("name", "dims", "types")}  # noqa: C416

    def truths(self) -> dict[Key, list[OpTruth]]:
        grouped: dict[Key, list[OpTruth]] = defaultdict(list)
        for truth in self.planted.ops:
            grouped[truth.op, truth.dims, truth.types].append(truth)
        return grouped


@pytest.fixture(scope="module", params=list(SCENARIOS))
def opened(request, tmp_path_factory) -> Opened:
    planted = SCENARIOS[request.param].into(tmp_path_factory.mktemp("scenario"))
    return Opened(planted, open_analysis_of(planted.path, use_cache=False))


def test_time_split_to_the_nanosecond(opened):
    found, planted = opened.analysis.split, opened.planted.split
    if planted.window == 0:
        assert found is None
        return
    names = ("window", "busy", "idle", "compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy")
    assert {name: getattr(found, name) for name in names} == {name: getattr(planted, name) for name in names}


def test_healthy_data_raise_no_doubt(opened):
    assert opened.analysis.trace.quality.gated == (opened.planted.split.window == 0)
    codes = {item.code for item in opened.analysis.trace.quality.items}
    assert codes <= {"no_shapes", "no_gpu", "no_host", "repaired_text"}


def test_calls_and_kernel_time_of_every_op(opened):
    rows = opened.rows()
    for key, truths in opened.truths().items():
        if key[0] not in MODELLED:
            continue
        assert rows[key]["count"].sum() == sum(truth.calls for truth in truths)
        assert rows[key]["kernel_ns_sum"].sum() == sum(truth.kernel_ns for truth in truths)


def test_efficiency_and_bound_of_every_op(opened):
    rows = opened.rows()
    for key, truths in opened.truths().items():
        for row in rows[key].iter_rows(named=True) if key in rows else ():
            if row["efficiency"] is None:
                assert key[0] not in MODELLED
                continue
            matches = [truth for truth in truths if truth.efficiency == pytest.approx(row["efficiency"], rel=1e-6)]
            assert matches, (key, row["efficiency"], [truth.efficiency for truth in truths])
            assert row["bound"] == matches[0].bound
            assert row["pct_roofline_mean"] == pytest.approx(100 * matches[0].mean_ratio, rel=1e-6)


def test_platform_is_recognised(opened):
    platform = opened.analysis.platform
    assert (platform.name if platform else None) == (None if opened.planted.split.window == 0 else "MI300X")


@pytest.mark.parametrize("opened", ["article"], indirect=True)
def test_article_gemms_in_the_op_table(opened):
    gemms = opened.analysis.ops.filter(pl.col("category") == "GEMM")
    assert gemms["dims"].n_unique() == gemms.height == 18
    assert gemms["kernel_ns_sum"].sum() == 45_700_000_000
    assert f"{100 * gemms['kernel_ns_sum'].sum() / opened.analysis.split.compute:.1f}" == "80.6"
    assert set(gemms["bound"]) == {"compute"}
    assert set(gemms["library"]) == {"Tensile"}


@pytest.mark.parametrize("opened", ["llama-step"], indirect=True)
def test_the_longest_gap_is_the_read_of_the_loss(opened):
    gap = opened.analysis.gaps.row(0, named=True)
    assert gap["dur_ns"] == opened.planted.facts["longest_gap_ns"]
    trace = opened.analysis.trace
    assert trace.names[int(trace.events["name"][gap["before_event"]])] == "Memcpy DtoH (Device -> Host)"
    assert gap["in_step"]
    assert opened.analysis.gaps["dur_ns"].sum() == opened.planted.split.idle


@pytest.mark.parametrize("opened", ["llama-step"], indirect=True)
def test_the_longest_gap_is_caused_by_a_synchronisation(opened):
    gap = opened.analysis.gaps.row(0, named=True)
    trace, tree = opened.analysis.trace, opened.analysis.tree
    assert gap["cause"] == "sync"
    above = [trace.names[int(trace.events["name"][event])] for event in tree.ancestors(gap["host_event"])]
    assert above[:2] == ["aten::_local_scalar_dense", "aten::item"]


@pytest.mark.parametrize("opened", ["launch-bound"], indirect=True)
def test_launch_bound_gaps_are_caused_by_launching(opened):
    gaps = opened.analysis.gaps
    assert gaps["dur_ns"].sum() == opened.planted.split.idle
    assert gaps.filter(pl.col("cause") == "launch")["dur_ns"].sum() > 0.9 * opened.planted.split.idle
