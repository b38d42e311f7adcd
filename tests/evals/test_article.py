"""The article's scenario, read with nothing of the project's code."""

from collections import Counter, defaultdict
from decimal import Decimal

import pytest

from tests.evals import reading

DIMS = [[24576, 8192], [8192, 28672]]


def _gemms(document):
    return [call for call in reading.calls(document) if call.event["name"] == "aten::mm"]


def _op(document):
    found = [call for call in _gemms(document) if call.event["args"]["Input Dims"] == DIMS]
    return found, reading.gemm_least_ns(found[0].event["args"])


def test_eighteen_shapes_all_compute_bound_all_tensile(article):
    shapes = {str(call.event["args"]["Input Dims"]): call for call in _gemms(article.document)}
    assert len(shapes) == 18
    assert {str(call.event["args"]["Input type"]) for call in shapes.values()} == {"['c10::BFloat16', 'c10::BFloat16']"}
    for call in shapes.values():
        (m, k), (_, n) = call.event["args"]["Input Dims"]
        assert Decimal(2 * m * n * k) / reading.PEAK_BF16 > Decimal(2 * (m * k + k * n + m * n)) / reading.BANDWIDTH
    kernels = [e["name"] for e in reading.events_of(article.document, "kernel") if e["name"].startswith("Cijk_")]
    assert len(kernels) == len(_gemms(article.document))


def test_gemms_are_45_700_ms_and_80_6_percent_of_compute_time(article):
    gemm = sum(call.kernel_ns for call in _gemms(article.document))
    compute = reading.covered([reading.span(event) for event in reading.events_of(article.document, "kernel")])
    assert gemm == 45_700_000_000
    assert f"{100 * gemm / compute:.1f}" == "80.6"
    assert compute == article.planted.split.compute


def test_efficiencies_are_plausible(article):
    least, kernel = defaultdict(Decimal), Counter()
    for call in _gemms(article.document):
        key = str(call.event["args"]["Input Dims"])
        least[key] += reading.gemm_least_ns(call.event["args"])
        kernel[key] += call.kernel_ns
    assert all(Decimal("0.55") < least[key] / kernel[key] < Decimal("0.80") for key in kernel)


def test_the_op_of_the_article(article):
    calls, least = _op(article.document)
    total = sum(call.kernel_ns for call in calls)
    assert (len(calls), total) == (320, 7_607_463_000)
    assert f"{100 * least * 320 / total:.1f}" == "68.6"
    assert article.planted.problems[0].efficiency == pytest.approx(float(least * 320 / total), rel=1e-12)


@pytest.mark.parametrize(("fixture", "mean"), [("article", "68.59"), ("varied", "68.74"), ("spread", "70.60")])
def test_mean_of_ratios_beside_ratio_of_sums(fixture, mean, request):
    calls, least = _op(request.getfixturevalue(fixture).document)
    ratios = [least / call.kernel_ns for call in calls]
    assert f"{100 * sum(ratios) / len(ratios):.2f}" == mean
    assert sum(call.kernel_ns for call in calls) == 7_607_463_000
    assert f"{100 * least * 320 / 7_607_463_000:.2f}" == "68.59"


def test_spread_means_differ_by_more_than_one_percent_and_varied_do_not(varied, spread):
    for generated, differs in ((varied, False), (spread, True)):
        truth = generated.planted.find("aten::mm", str(DIMS))
        assert (abs(truth.mean_ratio / truth.efficiency - 1) > 0.01) == differs


def test_variants_differ_only_in_the_calls_of_the_op(article, varied):
    assert article.planted.split.compute == varied.planted.split.compute
    assert article.planted.events == varied.planted.events
