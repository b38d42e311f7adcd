"""Idle time: its causes, the functions responsible, and what may be claimed."""

import pytest

from tests.triage.making import TENSILE, Tracing, context
from tracelens_tui.analysis.gap_causes import CAUSES
from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.findings import FindingsFile
from tracelens_tui.run.idle_files import CpuIdleMetrics, IdleCause, IdleUtilization, KernelAnalysis
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.idle import CauseFacts, LaunchFacts
from tracelens_tui.triage.idle_advice import idle_rules
from tracelens_tui.triage.idle_pack import idle_pack
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage

SQUARE = [[512, 512], [512, 512]]


def idle(trace, folder):
    outcome = run_triage(TriageRequest(trace.write(folder / "t.json"), run_dir=folder / "run", use_cache=False))
    assert outcome.exit_code == 0, outcome.message
    run = RunDir(folder / "run")
    metrics = run.read_json("category_data/cpu_idle_metrics.json", CpuIdleMetrics)
    path = "system_findings/cpu_idle_findings.json"
    return metrics, run.read_json(path, FindingsFile).findings if run.exists(path) else []


def gappy(*, stacks=False, function=None, gap=90.0, calls=10):
    """Kernels of 10 µs with gaps between them; the host spends the gap in ``function``."""
    trace = Tracing(stacks=stacks)
    trace.op("aten::mm", SQUARE, TENSILE, 10)
    for _ in range(calls):
        trace.op("aten::mm", SQUARE, TENSILE, 10, idle_us=gap, function=function)
    return trace


def test_idle_inside_steps_is_the_high_end(tmp_path):
    metrics, findings = idle(gappy(), tmp_path)
    window = metrics.gpu_utilization.total_time_ms
    assert window == pytest.approx(1.01)  # 11 kernels of 10 µs, 10 gaps of 90 µs
    assert metrics.idle_in_steps_ms == pytest.approx(0.9)
    assert metrics.gap_count == 10
    assert metrics.longest_gap_ms == pytest.approx(0.09)
    high = 100 * 0.9 / 1.01
    assert sum(one.impact.high or 0 for one in findings) == pytest.approx(high)
    assert findings[0].impact.low == pytest.approx(0.75 * (findings[0].impact.high or 0))
    assert findings[0].metrics


def test_recorded_stacks_leave_no_low_end_and_are_told(tmp_path):
    function = "app/model.py(12): prepare_batch"
    _, [finding] = idle(gappy(stacks=True, function=function), tmp_path)
    assert finding.impact.low == 0.0
    assert finding.impact.mid == pytest.approx(0.875 * (finding.impact.high or 0))
    assert "slows the host down" in finding.insight
    named = {item.id: item.value for item in finding.evidence}
    assert named["all.function"] == function


def test_framework_frames_are_looked_through(tmp_path):
    trace = gappy(stacks=True, function="torch/nn/modules/linear.py(124): forward")
    trace.python("app/train.py(7): step", 900, 5000)
    _, [finding] = idle(trace, tmp_path)
    named = {item.id: item.value for item in finding.evidence}
    assert named["all.function"] == "app/train.py(7): step"


def test_a_data_loader_gets_its_own_advice(tmp_path):
    function = "torch/utils/data/dataloader.py(708): __next__"
    _, [finding] = idle(gappy(stacks=True, function=function), tmp_path)
    assert finding.title == "Load the data in the background"


def test_a_wait_for_the_device_gets_its_own_advice(tmp_path):
    trace = Tracing()
    trace.op("aten::mm", SQUARE, TENSILE, 10)
    for _ in range(10):
        wait = trace.gpu_us - 5
        trace.host("cuda_runtime", "hipStreamSynchronize", wait, 80)
        trace.host_us = wait
        trace.op("aten::mm", SQUARE, TENSILE, 10, idle_us=90)
    metrics, findings = idle(trace, tmp_path)
    assert metrics.causes[0].cause == "sync"
    assert findings[0].title == "Remove the host's waits for the device"


def test_little_idle_time_is_left_alone(tmp_path):
    metrics, findings = idle(gappy(gap=1.6), tmp_path)
    assert metrics.gpu_utilization.idle_time_percent < 15
    assert findings == []
    assert not (tmp_path / "run/system_findings/cpu_idle_findings.json").exists()


@pytest.mark.parametrize(
    ("cause", "rule"),
    [
        ("launch", "I-01"),
        ("sync", "I-02"),
        ("copy", "I-18"),
        ("comm", "I-12"),
        ("loading", "I-03"),
        ("host", "I-10"),
        ("queued", "I-19"),
        ("unknown", "I-05"),
    ],
)
def test_every_cause_has_advice_of_its_own(cause, rule):
    assert chosen_rule(cause, "app/train.py(3): step") == rule


@pytest.mark.parametrize(("cause", "rule"), [("launch", "I-06"), ("host", "I-06"), ("copy", "I-18"), ("sync", "I-02")])
def test_many_launches_of_an_optimizer_explain_neither_waits_nor_copies(cause, rule):
    assert chosen_rule(cause, "torch/optim/adam.py(212): step") == rule


def chosen_rule(cause, function):
    """The rule for the idle time of a cause, half of it under a function."""
    facts = CauseFacts(cause, 2_000_000, 10, 400_000, function, 1_000_000, "aten::mm", 1_000_000)
    used = IdleUtilization(
        total_time_ms=100, idle_time_ms=50, idle_time_percent=50, computation_percent=50, communication_percent=0,
        memcpy_percent=0,
    )  # fmt: skip
    impact = ImpactEstimate(
        operation=cause, category="cpu_idle", type="idle", impact_score=1.75, impact_score_low=1.5,
        impact_score_high=2, time_ms=2,
    )  # fmt: skip
    metrics = CpuIdleMetrics(
        status="OK",
        idle_flagged=True,
        gpu_utilization=used,
        kernel_analysis=KernelAnalysis(short_kernel_count=0, total_kernel_count=9, avg_kernel_time_us=9),
        impact_estimates=[impact],
        causes=[IdleCause(cause=cause, count=10, time_ms=2, percent_of_total=2)],
    )
    [cluster] = idle_pack(metrics, [facts], LaunchFacts(9, 1e4, 1e4, 9e3), context(), idle_rules()).clusters
    [match] = cluster.matches
    return match.rule


def test_every_cause_of_a_gap_is_known_to_the_rules():
    assert {cause for rule in idle_rules() for cause in rule.when.cause} == set(CAUSES)
