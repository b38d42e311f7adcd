"""Kernel fusion in the triage: what is claimed, what is left for it, the rule that applies, and the card."""

import math
from pathlib import Path

import polars as pl
import pytest

from tests.analysis.test_fusion import mul, run, silu
from tests.triage.making import context
from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.run.fusion_files import FusionSaving, KernelFusionMetrics
from tracelens_tui.run.manifest import GpuUtilization
from tracelens_tui.triage.context import context_file
from tracelens_tui.triage.fusion import fusion_candidates, fusion_groups, fusion_metrics
from tracelens_tui.triage.fusion_advice import fusion_rules
from tracelens_tui.triage.fusion_pack import fusion_pack
from tracelens_tui.triage.fusion_stage import CANDIDATES, prepare_fusion
from tracelens_tui.triage.overlap import fusion_room, fusion_share
from tracelens_tui.triage.prepare_source import PrepareSource


def source_of(analysis: Analysis) -> PrepareSource:
    split = analysis.splits[analysis.device]
    return PrepareSource(
        analysis=analysis,
        split=split,
        context=context_file(analysis, split),
        unified=pl.DataFrame(),
        ops=analysis.ops.filter(pl.col("device") == analysis.device),
        kernels={},
        origins={},
        utilization=GpuUtilization(
            total_time_ms=split.window / 1e6,
            computation_time_percent=0,
            exposed_comm_time_percent=0,
            exposed_memcpy_time_percent=0,
            idle_time_percent=0,
        ),
        platform="Test",
        trace="",
    )


def metrics_of(analysis: Analysis) -> KernelFusionMetrics:
    source = source_of(analysis)
    groups = fusion_groups(source)
    return fusion_metrics(source, groups, fusion_candidates(source, groups))


def test_the_claim_by_hand():
    """silu moves 2 x 16,384 B in 100 µs, mul 3 x: at 1000 GB/s they need 0.032768 and 0.049152 µs.

    Fusion removes a half and a third of the kernels' time, and claims as much of what they need.
    """
    [saving] = metrics_of(run([silu, mul])).savings
    assert (saving.operation, saving.module, saving.instance_count) == ("aten::silu > aten::mul", "MLP", 1)
    assert (saving.time_ms, saving.matrix_ms) == (pytest.approx(0.2), 0)
    assert saving.removed_ms == pytest.approx(0.1 / 2 + 0.1 / 3)
    assert saving.claimed_ms == pytest.approx((0.032768 / 2 + 0.049152 / 3) / 1e3)
    assert [(kernel.name, kernel.op, kernel.dur_us) for kernel in saving.kernels] == [
        ("k0", "aten::silu", 100.0),
        ("k1", "aten::mul", 100.0),
    ]


SPLIT = TimeSplit(
    window=1000, busy=900, idle=100, compute=900, comm=0, exposed_comm=0, memcpy=0, exposed_memcpy=0, start_ns=0
)


def ops(*rows):
    schema = {
        "row": pl.UInt32,
        "kernel_ns_sum": pl.Int64,
        "exposed_ns": pl.Float64,
        "efficiency": pl.Float64,
        "efficiency_low": pl.Float64,
    }
    return pl.DataFrame([(number, *row) for number, row in enumerate(rows)], schema=schema, orient="row")


def test_the_room_by_hand():
    """The roofs need 0.5 x 400 + 0.1 x 200 = 220 ns; 200 + 180 are lost and 100 idle, and 7/8 of that is spoken for.

    The op without a roofline, and what no op owns, are left to nobody.
    """
    table = ops((400, 400.0, 0.5, None), (200, 200.0, 0.4, 0.1), (250, 250.0, None, None))
    assert fusion_room(table, SPLIT) == pytest.approx((1000 - 220 - 0.875 * 480) / 10)


def test_the_share_by_hand():
    """Half exposed at half the roof: a quarter; above the roof counts as at the roof; without one all is free."""
    table = ops((400, 200.0, 0.5, None), (100, 100.0, 1.5, None), (100, 100.0, None, None), (100, 100.0, 0.8, 0.2))
    assert fusion_share(table)["share"].to_list() == pytest.approx([0.25, 1.0, 1.0, 0.2])


def saving(**fields):
    values = {
        "finding": "kernel_fusion-1", "operation": "aten::add > aten::mul", "module": "Block", "host_call": "f",
        "instance_count": 10, "kernel_count": 2, "modelled_kernel_count": 2, "fusion_type": "memory_bound",
        "bound_type": "memory", "time_ms": 2.0, "matrix_ms": 0.0, "removed_percent": 50.0, "removed_ms": 1.0,
        "claimed_ms": 0.5, "claimed_percent": 5.0, "kernels": [], **fields,
    }  # fmt: skip
    return FusionSaving.model_validate(values)


def chain(*names):
    return " > ".join(f"aten::{name}" for name in names)


PRODUCT = {"fusion_type": "matrix_compute", "matrix_ms": 1.0}


RULES = [
    ({**PRODUCT, "operation": chain("bmm", "add_", "copy_", "_softmax")}, "F-08"),
    ({"operation": chain("copy_", "pow", "mean", "add", "rsqrt", "mul")}, "F-02"),
    ({**PRODUCT, "operation": chain("mm", "add", "copy_", "pow", "mean", "add", "rsqrt", "mul")}, "F-02b"),
    ({"operation": chain("add", "layer_norm")}, "F-03"),
    ({"operation": chain("batch_norm", "clamp_min_")}, "F-09"),
    ({"operation": chain("neg", "cat", "mul", "add")}, "F-06"),
    ({**PRODUCT, "operation": chain("mm", "silu")}, "F-04"),
    ({"operation": chain("silu", "mul")}, "F-04"),
    ({**PRODUCT, "operation": chain("mm", "mul"), "module": "LlamaMLP"}, "F-04b"),
    ({**PRODUCT, "operation": chain("mm", "mul", "pow", "mul", "add", "mul", "tanh", "add", "mul")}, "F-05"),
    ({"operation": chain("copy_", "_log_softmax")}, "F-10"),
    ({"operation": chain("native_dropout", "add")}, "F-14"),
    ({**PRODUCT, "operation": chain("addmm", "mul")}, "F-07"),
    ({}, "F-01"),
]


@pytest.mark.parametrize(("fields", "rule"), RULES)
def test_the_rule_for_a_chain(fields, rule):
    metrics = metrics_of(run([silu, mul])).model_copy(update={"savings": [saving(**fields)]})
    [cluster] = fusion_pack(metrics, context(), fusion_rules()).clusters
    assert cluster.matches[0].rule == rule
    assert cluster.impact.high == 5.0


def test_every_rule_can_apply():
    told = {rule for _, rule in RULES}
    assert told == {rule.id for rule in fusion_rules()}


def test_small_claims_are_no_finding():
    metrics = metrics_of(run([silu, mul])).model_copy(update={"savings": [saving(finding=None)]})
    assert fusion_pack(metrics, context(), fusion_rules()).clusters == []


def opened(shared: Path, name: str) -> Analysis:
    platform = "MI300X" if "units" in name else None
    return open_analysis_of(shared / f"traces/{name}.json.gz", platform=platform, use_cache=False)


def test_batch_norm_claims_no_more_than_its_kernels(shared):
    """All batch norm kernels of that step take 3.96 ms."""
    metrics = metrics_of(opened(shared, "mi300_resnet_ckpt"))
    norms = [one for one in metrics.savings if "batch_norm" in one.operation]
    assert norms
    assert sum(one.claimed_ms for one in norms) < sum(one.removed_ms for one in norms) < 3.96


def test_independent_additions_are_not_planned(shared):
    part = prepare_fusion(source_of(opened(shared, "units/elem_01_add_poor_bw")))
    assert not part.entry.planned
    assert part.files[CANDIDATES].model_dump()["candidates"] == []


@pytest.mark.parametrize("name", ["mi300_qwen", "mi300_sd35", "mi300_owlv2", "h100_timesformer"])
def test_candidates_of_real_traces_are_apart_and_stay_within_the_room(shared, name):
    metrics = metrics_of(opened(shared, name))
    assert metrics.savings
    assert metrics.total_impact_score <= metrics.room_percent + 1e-9
    members = [kernel.gpu_op_uid for one in metrics.savings for kernel in one.kernels]
    assert len(members) == len(set(members))
    for one in metrics.savings:
        assert one.claimed_ms <= one.removed_ms <= one.time_ms - one.matrix_ms + 1e-9
        assert math.isclose(sum(kernel.dur_us for kernel in one.kernels) * one.instance_count / 1e3, one.time_ms) or (
            sum(kernel.dur_us for kernel in one.kernels) * one.instance_count / 1e3 > one.time_ms
        )


def test_the_products_of_a_real_trace_keep_their_time(shared):
    """Three products of Qwen begin chains; none of their time is claimed, so the GEMM findings keep them."""
    metrics = metrics_of(opened(shared, "mi300_qwen"))
    products = [one for one in metrics.savings if one.fusion_type == "matrix_compute"]
    assert {one.operation.split(" > ")[0] for one in products} == {"aten::mm"}
    assert sum(one.matrix_ms for one in products) == pytest.approx(5.308 + 2.375 + 0.981, abs=0.01)
