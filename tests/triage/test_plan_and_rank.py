"""Which sub-agents run, and the order of what they found."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.run.category_files import CategoryMetrics, OperationEfficiency, OperationMetrics
from tracelens_tui.run.findings import Finding, FindingsFile, Impact
from tracelens_tui.run.manifest import CategoryManifest, GpuUtilization, ManifestCategory
from tracelens_tui.triage.failures import TriageError
from tracelens_tui.triage.idle_stage import idle_decision
from tracelens_tui.triage.impact import gap_percent, impact_of
from tracelens_tui.triage.plan import decisions, planned
from tracelens_tui.triage.rank import check_total, priority_data, ranked


def manifest(**times):
    use = GpuUtilization(
        total_time_ms=100.0,
        computation_time_percent=80.0,
        exposed_comm_time_percent=0.0,
        exposed_memcpy_time_percent=0.0,
        idle_time_percent=10.0,
    )
    entries = [
        ManifestCategory(name="cpu_idle", display_name="Idle", skill="cpu-idle", tier="system", ops_count=0),
        *(
            ManifestCategory(
                name=name, display_name=name.upper(), skill="x", tier="compute_kernel", ops_count=3,
                gpu_kernel_time_ms=time,
            )
            for name, time in times.items()
        ),
    ]  # fmt: skip
    return CategoryManifest(
        platform="MI300X", trace_path="/t", gpu_utilization=use, categories=entries, rooflines=True, device=0,
        time_ns=None,
    )  # fmt: skip


def finding(identity, mid, *, low=None, title="T", category="gemm"):
    impact = Impact(low=None, mid=None, high=None)
    if mid is not None:
        impact = Impact(low=0.8 * mid if low is None else low, mid=mid, high=mid / 0.875)
    return Finding(
        id=identity, agent="a", analyst="rules", tier="compute", category=category, title=title, confidence="low",
        impact=impact, insight="i", action="a", identification="i", reasoning="r", resolution="r", evidence=[],
    )  # fmt: skip


@pytest.mark.parametrize(("idle", "runs"), [(15.0, False), (15.0001, True), (0.0, False), (99.0, True)])
def test_idle_time_needs_more_than_fifteen_percent(idle, runs):
    decided, rule = idle_decision(idle)
    assert decided is runs
    assert ("> 15 %" if runs else "<= 15 %") in rule


def test_a_system_agent_is_planned_as_its_entry_says():
    found = manifest()
    entry = found.categories[0].model_copy(
        update={"planned": False, "plan_rule": "no copies", "plan_number": 3.5, "plan_unit": "ms"}
    )
    decision = decisions(found.model_copy(update={"categories": [entry]}))[0]
    assert (decision.agent.id, decision.tier) == ("cpu-idle", "system")
    assert (decision.planned, decision.rule, decision.number, decision.unit) == (False, "no copies", 3.5, "ms")


def test_a_category_that_cannot_reach_a_card_is_skipped():
    found = decisions(manifest(gemm=20.0, reduce=0.49, moe_aux=0.5))
    assert [(one.category, one.agent.id, one.planned) for one in found[1:]] == [
        ("gemm", "gemm", True),
        ("reduce", "reduce", False),
        ("moe_aux", "generic", True),
    ]
    assert found[2].number == pytest.approx(0.49)


def test_the_manifest_carries_the_plan():
    entry = planned(manifest(gemm=0.4)).categories[1]
    assert (entry.planned, entry.plan_number) == (False, pytest.approx(0.4))


def test_rank_by_mid_then_low_then_title():
    found = ranked(
        [
            finding("gemm-1", 1.0, low=0.5, title="A"),
            finding("gemm-2", 2.0),
            finding("other-1", None, category="other"),
            finding("norm-1", 1.0, low=0.6, title="Z", category="norm"),
            finding("gemm-3", 1.0, low=0.5, title="B"),
        ]
    )
    assert [one.id for one in found] == ["gemm-2", "norm-1", "gemm-1", "gemm-3", "other-1"]
    assert [one.global_rank for one in found] == [1, 2, 3, 4, 5]
    assert [one.category_rank for one in found] == [1, 1, 2, 3, 1]


def file_of(*findings):
    return FindingsFile(
        agent="a", analyst="rules", category="gemm", display_name="GEMM", tier="compute", status="ok",
        findings=list(findings),
    )  # fmt: skip


def test_top_operations_cover_the_kernel_time():
    data = priority_data(
        manifest(gemm=60.0, elementwise=20.0, norm=15.0, reduce=4.0, other=1.0), {}, [file_of(finding("gemm-1", 3.0))]
    )
    assert [(row.category, row.source) for row in data.priorities] == [
        ("gemm", "findings"),
        ("elementwise", "manifest"),
        ("norm", "manifest"),  # 95 % are covered
    ]
    assert data.priorities[0].percent_of_compute == pytest.approx(75.0)  # of 80 ms computation
    assert data.priorities[0].impact_score == 3.0
    assert data.priorities[1].impact_score is None


def test_a_small_category_with_a_finding_is_shown():
    small = finding("other-1", 1.0, category="other")
    data = priority_data(manifest(gemm=99.0, other=1.0), {}, [file_of(small)])
    assert [row.category for row in data.priorities] == ["gemm", "other"]


def test_small_findings_are_dropped_with_a_reason():
    data = priority_data(manifest(gemm=50.0), {}, [file_of(finding("gemm-1", 0.49, title="Small"))])
    assert data.findings == []
    assert data.dropped == ["Small: below 0.5 % of the window"]


def metrics(*ops):
    operations = [
        OperationMetrics(
            row=row, name="op", count=1, time_ms=time, percent_of_category=0.0, percent_of_total=0.0, args="—",
            efficiency=OperationEfficiency(efficiency_percent=percent), exposed_ms=exposed,
        )
        for row, (time, percent, exposed) in enumerate(ops)
    ]  # fmt: skip
    return CategoryMetrics(
        category="gemm", status="OK", total_time_ms=0.0, percent_of_compute=0.0, operation_count=0,
        operations=operations,
    )  # fmt: skip


def test_the_findings_cannot_claim_what_modelled_ops_need():
    # R = 0.6 * 50 + 1 * 10 (an efficiency above the roof counts as 1) = 40 ms of 100
    held = metrics((50.0, 60.0, 50.0), (10.0, 130.0, 10.0), (30.0, None, 30.0))
    check_total([finding("gemm-1", 60.0)], [held], 100.0)
    with pytest.raises(TriageError, match=r"claim 60.1 % .* only 60 %"):
        check_total([finding("gemm-1", 60.1)], [held], 100.0)


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 1), st.floats(0, 1)),
        max_size=20,
    ),
    st.floats(0, 1),
)
def test_impacts_by_the_formula_never_exceed_the_bound(ops, idle_part):
    """Exposed time of all ops and the idle time fit into the window, so what they can win does."""
    exposed = [time * part for time, _, part in ops]
    idle = 1 + math.fsum(exposed) * idle_part
    window = math.fsum(exposed) + idle
    found = [finding("cpu_idle-1", impact_of(100 * idle / window).mid)]
    for number, (own, (_, efficiency, _)) in enumerate(zip(exposed, ops, strict=True)):
        high = gap_percent(own, efficiency, window)
        assert high is not None
        found.append(finding(f"gemm-{number}", impact_of(high).mid))
    held = metrics(*((time, 100 * efficiency, own) for own, (time, efficiency, _) in zip(exposed, ops, strict=True)))
    check_total(found, [held], window)


def test_the_scale_of_an_impact():
    assert impact_of(8.0) == Impact(low=6.0, mid=7.0, high=8.0)
    assert impact_of(8.0, low=0.0) == Impact(low=0.0, mid=7.0, high=8.0)
    assert gap_percent(50.0, 0.6, 100.0) == pytest.approx(20.0)
    assert gap_percent(50.0, 1.01, 100.0) is None
    assert gap_percent(50.0, None, 100.0) is None
