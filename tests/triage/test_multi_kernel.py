"""Copies and collectives: groups, assessments, the rules that apply, and the card."""

import pytest

from tests.analysis.making import analysed, kernel, launch
from tests.analysis.test_transfers import allreduce, copy
from tests.triage.making import context
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.multi_kernel_files import MultiKernelMetrics, TransferGroup
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.multi_kernel import multi_kernel_data, multi_kernel_metrics
from tracelens_tui.triage.multi_kernel_advice import transfer_rules
from tracelens_tui.triage.multi_kernel_pack import multi_kernel_pack
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage


def sample():
    """Compute 0 to 100 µs; two collectives until 250; a pageable copy until 300; a window of 300 µs."""
    return analysed(
        [
            launch(1, 0), launch(2, 1), launch(3, 2), launch(4, 3),
            kernel("gemm", 0, 100, 1), allreduce(80, 120, 2), allreduce(150, 100, 3, stream=21),
            copy("Memcpy HtoD (Pageable -> Device)", 180, 120, 4, bytes=12_000),
        ]
    )  # fmt: skip


def test_data_and_metrics_by_hand():
    analysis = sample()
    split = analysis.splits[0]
    data = multi_kernel_data(analysis, split)
    h2d = data.memcpy_summary.by_direction["H2D"]
    assert (h2d.count, h2d.total_time_us, h2d.total_bytes) == (1, 120.0, 12_000)
    assert (data.nccl_summary.total_count, data.nccl_summary.total_time_us) == (2, 220.0)
    assert [one.duration_us for one in data.nccl_summary.top_ops] == [120.0, 100.0]
    assert data.overlap_analysis.comm_overlap_ratio == pytest.approx(1 - 150 / 170)  # union 80 to 250
    metrics = multi_kernel_metrics(analysis, split, data)
    first, second = metrics.transfers
    assert (first.name, first.group, first.group_size, first.count) == ("allreduce", "dp", 8, 2)
    assert (first.exposed_ms, first.exposed_percent) == (pytest.approx(0.15), pytest.approx(50.0))
    assert first.hidden_percent == pytest.approx(100 * (1 - 150 / 220))
    assert first.rate_gbps == pytest.approx(4e6 / 220e3)  # 4 MB in 220 µs
    assert first.bus_gbps == pytest.approx(1.75 * 4e6 / 220e3)
    assert (second.name, second.memory, second.exposed_ms) == ("H2D", "pageable", pytest.approx(0.05))
    assert metrics.nccl_blocking_assessment.flagged
    assert metrics.overlap_assessment.flagged
    assert [issue.direction for issue in metrics.memcpy_assessment.issues] == ["H2D"]


def group(**fields):
    values = {
        "kind": "collective", "name": "allreduce", "count": 10, "time_ms": 2.0, "exposed_ms": 1.0,
        "exposed_percent": 10.0, "winnable_percent": 10.0, "hidden_percent": 50.0,
        "mean_us": 200.0, "longest_us": 300.0, **fields,
    }  # fmt: skip
    return TransferGroup.model_validate(values)


MIB = 2**20
COPY = {"kind": "copy", "name": "H2D"}


CASES = [
    ({**COPY, "memory": "pageable"}, {}, "K-01"),
    ({**COPY, "count": 200, "median_bytes": 4096.0}, {}, "K-02"),
    ({**COPY, "median_bytes": 64.0 * MIB, "rate_gbps": 20.0}, {}, "K-03"),
    ({**COPY, "median_bytes": 64.0 * MIB, "rate_gbps": 50.0}, {}, "K-01b"),
    ({**COPY, "name": "D2H"}, {}, "K-04"),
    ({**COPY, "name": "D2D", "rate_gbps": 900.0}, {}, "K-05"),
    ({**COPY, "name": "other"}, {}, "K-06b"),
    ({"same_stream_percent": 80.0}, {"training": True}, "K-16"),
    ({"name": "broadcast"}, {"training": True}, "K-14"),
    ({"median_bytes": 1.0 * MIB, "count": 100}, {"training": True}, "K-06"),
    ({"name": "_allgather_base", "median_bytes": 400.0 * MIB}, {"training": True}, "K-09"),
    ({}, {"training": True}, "K-10"),
    ({}, {"training": False}, "K-12"),
    ({"name": "all_to_allv"}, {"training": True}, "K-17"),
    ({"name": "send"}, {"training": True}, "K-18"),
    ({"name": "unnamed"}, {"training": True}, "K-20"),
]


@pytest.mark.parametrize(("fields", "run", "rule"), CASES)
def test_the_rule_for_a_group(fields, run, rule):
    metrics = multi_kernel_metrics(sample(), sample().splits[0], multi_kernel_data(sample(), sample().splits[0]))
    metrics = metrics.model_copy(update={"transfers": [group(**fields)]})
    [cluster] = multi_kernel_pack(metrics, context(**run), transfer_rules(), steps=1).clusters
    assert cluster.matches[0].rule == rule
    assert cluster.impact.high == 10.0


def test_every_rule_can_apply():
    assert {rule for _, _, rule in CASES} == {rule.id for rule in transfer_rules()}


def test_small_exposed_times_are_no_finding():
    metrics = multi_kernel_metrics(sample(), sample().splits[0], multi_kernel_data(sample(), sample().splits[0]))
    metrics = metrics.model_copy(update={"transfers": [group(winnable_percent=0.5)]})
    assert multi_kernel_pack(metrics, context(), transfer_rules(), steps=1).clusters == []


def test_a_distributed_step_has_its_reduction_as_a_finding(shared, tmp_path):
    """ResNet on eight ranks: an independent count of intervals gives 35.027 ms of exposed all-reduce in 86.6 ms."""
    trace = shared / "traces/mi300_resnet_ckpt.json.gz"
    outcome = run_triage(TriageRequest(trace=trace, run_dir=tmp_path / "run", use_cache=False))
    assert outcome.exit_code == 0, outcome.message
    run = RunDir(tmp_path / "run")
    file = run.read_json("system_findings/multi_kernel_findings.json", FindingsFile)
    metrics = run.read_json("category_data/multi_kernel_metrics.json", MultiKernelMetrics)
    assert metrics.transfers[0].exposed_ms == pytest.approx(35.026757)
    assert file.findings[0].title == "Hide the gradient reduction behind the backward pass"
    collectives = [one.winnable_percent for one in metrics.transfers if one.kind == "collective"]
    # 26.175 ms of compute, 71.517 ms of communication with 55.371 ms exposed: 10.030 ms of compute run without it
    assert sum(collectives) == pytest.approx(100 * 10.030 / 86.568, abs=0.001)
    assert file.findings[0].impact.high == pytest.approx(collectives[0])
    assert "less to send or faster links" in file.findings[0].insight
    assert all(finding.tier == "system" and finding.metrics for finding in file.findings)
