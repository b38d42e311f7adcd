"""Conditions of rules, one at a time."""

import pytest

from tests.triage.making import context, op_facts
from tracelens_tui.triage.advice import When
from tracelens_tui.triage.match import Subject, applies, best_siblings, subjects


def holds(condition, op=None, *, best=None, **run):
    [subject] = subjects([op or op_facts()], context(**run))
    return applies(When.model_validate(condition), Subject(subject.op, subject.run, subject.traits, best))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, True),
        ({"vendor": "AMD"}, True),
        ({"vendor": "NVIDIA"}, False),
        ({"arch": ["gfx942"]}, True),
        ({"arch": ["gfx950"]}, False),
        ({"modelled": True}, True),
        ({"modelled": False}, False),
        ({"bound": "compute"}, True),
        ({"bound": "memory"}, False),
        ({"library": ["Tensile", "CK"]}, True),
        ({"library": ["CK"]}, False),
        ({"precision": ["fp32"]}, False),
        ({"category": ["gemm"]}, True),
        ({"category": ["sdpa_fwd"]}, False),
        ({"op": "::mm$"}, True),
        ({"op": "bmm"}, False),
        ({"kernel": "^Cijk_"}, True),
        ({"no_kernel": "UserArgs"}, False),
        ({"kernel_share": {"pattern": "Cijk", "min_percent": 100}}, True),
        ({"kernel_share": {"pattern": "reduce", "min_percent": 1}}, False),
        ({"efficiency": {"min": 50, "max": 50}}, True),
        ({"efficiency": {"max": 49.9}}, False),
        ({"calls": {"min": 11}}, False),
        ({"mean_us": {"max": 1000}}, True),
        ({"roof_us": {"max": 499}}, False),
        ({"mib": {"min": 64}}, True),
        ({"share": {"min": 10.5}}, False),
        ({"params": {"M": {"max": 32}}}, False),  # unknown: a condition on it does not hold
        ({"training": True}, False),
        ({"training": False}, True),
        ({"sibling": {"min": 1.25}}, False),
        ({"traits": ["misaligned"]}, False),
    ],
)
def test_each_condition(condition, expected):
    assert holds(condition) is expected


def test_parameters_and_traits():
    op = op_facts(params={"M": 16, "N": 4097, "K": 4096})
    assert holds({"params": {"M": {"max": 32}}}, op)
    assert holds({"traits": ["misaligned"]}, op)


def test_contrast_with_the_best_sibling():
    best = op_facts(efficiency=0.75)
    assert holds({"sibling": {"min": 1.5}}, best=best)
    assert not holds({"sibling": {"min": 1.51}}, best=best)
    assert holds({"best": {"min": 75}}, best=best)
    assert not holds({"best": {"min": 76}}, best=best)


def test_siblings_share_library_precision_bound_and_size():
    slow = op_facts(row=0, efficiency=0.3, time_ms=10)  # least time of a call 300 µs
    good = op_facts(row=1, efficiency=0.6, time_ms=10)  # 600 µs
    best = op_facts(row=2, efficiency=0.9, time_ms=10)  # 900 µs
    far = op_facts(row=3, efficiency=0.95, time_ms=100)  # 9.5 ms: too large
    other = op_facts(row=4, efficiency=0.99, time_ms=10, library="rocBLAS")
    wrong = op_facts(row=5, efficiency=1.2, time_ms=6)  # above the roof: counts for nothing
    found = best_siblings([slow, good, best, far, other, wrong])
    assert {row: op.view.row for row, op in found.items()} == {0: 2, 1: 2}


def test_siblings_of_many_ops_are_found_fast():
    ops = [op_facts(row=row, efficiency=(row % 97 + 1) / 100, time_ms=1 + row % 13) for row in range(5000)]
    assert len(best_siblings(ops)) > 4000
