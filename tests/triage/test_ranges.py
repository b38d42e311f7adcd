"""Operations whose arguments leave open how much work there was: an efficiency with a lower and an upper end."""

from dataclasses import replace

import pytest

from tests.triage.making import context, op_facts
from tracelens_tui.report.cards import efficiency_text
from tracelens_tui.run.category_files import OperationEfficiency, OperationMetrics
from tracelens_tui.triage.advice import When
from tracelens_tui.triage.facts import OpFacts
from tracelens_tui.triage.match import Subject, applies, best_siblings
from tracelens_tui.triage.metrics import clusters_of


def metrics(low: float | None, percent: float, high: float | None, *, time_ms: float = 20.0) -> OperationMetrics:
    return OperationMetrics(
        row=0,
        name="vllm::fused_moe",
        count=1,
        time_ms=time_ms,
        percent_of_category=100.0,
        percent_of_total=time_ms,
        efficiency=OperationEfficiency(
            efficiency_percent=percent,
            bound_type="memory",
            efficiency_low_percent=low,
            efficiency_high_percent=high,
        ),
        args="",
        exposed_ms=time_ms,
    )


def ranged(low: float, high: float, **more) -> OpFacts:
    op = op_facts(bound="memory", **more)
    ends = {"efficiency_low_percent": low, "efficiency_high_percent": high}
    return replace(op, view=op.view.model_copy(update=ends))


@pytest.mark.parametrize(
    ("low", "percent", "high", "expected"),
    [  # 20 ms of a window of 100 ms
        (40.0, 300.0, 500.0, (0.0, 10.5, 12.0)),  # the most work reaches the roof: nothing is certain to be won
        (40.0, 60.0, 80.0, (3.0, 10.5, 12.0)),  # 0.75 * 20 * (1 - 0.8)
        (None, 40.0, None, (9.0, 10.5, 12.0)),
    ],
)
def test_high_comes_from_the_least_work_and_low_from_the_most(low, percent, high, expected):
    [cluster] = clusters_of("moe_fused", [metrics(low, percent, high)], 100.0)
    assert cluster.eff_bucket == "30-60"
    assert (cluster.impact_score_low, cluster.impact_score, cluster.impact_score_high) == pytest.approx(expected)


def test_above_the_roof_even_with_the_least_work_nothing_is_claimed():
    assert clusters_of("moe_fused", [metrics(101.0, 300.0, 500.0)], 100.0) == []


def test_conditions_and_siblings_go_by_what_is_reached_at_least():
    op = ranged(36.0, 583.0, efficiency=4.65)
    subject = Subject(op, context(), {}, None)
    assert applies(When.model_validate({"efficiency": {"max": 40}}), subject)
    assert not applies(When.model_validate({"efficiency": {"min": 40}}), subject)
    better = ranged(72.0, 90.0, efficiency=0.8, row=1)
    assert best_siblings([replace(op, roof_us=800.0), replace(better, roof_us=800.0)])[0].view.row == 1
    assert applies(When.model_validate({"sibling": {"min": 2, "max": 2}}), replace(subject, best=better))


def test_the_card_shows_both_ends_and_marks_what_is_above_the_roof():
    view = ranged(36.48, 583.4, efficiency=4.65).view.model_copy(update={"peak": 5.3, "peak_unit": "TB/s"})
    assert efficiency_text(view) == "36.5% to 583.4% of 5.3 TB/s [ANOMALY] - verify measurement"
    below = view.model_copy(update={"efficiency_high_percent": 90.0})
    assert efficiency_text(below) == "36.5% to 90.0% of 5.3 TB/s"
