"""Interval algebra against a brute-force oracle that looks at every single nanosecond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelens_tui.trace.intervals import (
    Int64,
    covered,
    exposure,
    gaps,
    intersect,
    segmented_union,
    segmented_union_length,
    subtract,
    total,
    union,
)

SPAN = 40
INTERVAL = st.tuples(st.integers(0, SPAN), st.integers(-2, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
INTERVALS = st.lists(INTERVAL, max_size=12)
OFFSET = 1_700_000_000_000_000_000  # an epoch in ns: float64 would lose every digit that matters here


def arrays(pairs: list[tuple[int, int]], offset: int = 0) -> tuple[Int64, Int64]:
    data = np.array(pairs, np.int64).reshape(-1, 2) + offset
    return data[:, 0], data[:, 1]


def instants(pairs: list[tuple[int, int]]) -> set[int]:
    return {t for start, end in pairs for t in range(start, end)}


def pairs_of(intervals: tuple[Int64, Int64], offset: int = 0) -> list[tuple[int, int]]:
    return list(zip((intervals[0] - offset).tolist(), (intervals[1] - offset).tolist(), strict=True))


def runs(times: set[int]) -> list[tuple[int, int]]:
    """The maximal runs of consecutive instants."""
    starts = sorted(t for t in times if t - 1 not in times)
    ends = sorted(t + 1 for t in times if t + 1 not in times)
    return list(zip(starts, ends, strict=True))


@given(INTERVALS)
def test_union_is_the_set_of_covered_instants(pairs):
    assert pairs_of(union(*arrays(pairs, OFFSET)), OFFSET) == runs(instants(pairs))
    assert total(*arrays(pairs, OFFSET)) == len(instants(pairs))


def test_touching_intervals_merge_and_empty_ones_vanish():
    assert pairs_of(union(*arrays([(5, 9), (0, 5), (7, 7), (20, 18)]))) == [(0, 9)]


@given(INTERVALS, INTERVALS)
def test_subtract_and_intersect_are_set_operations(a, b):
    first, second = instants(a), instants(b)
    assert pairs_of(subtract(arrays(a), arrays(b))) == runs(first - second)
    assert pairs_of(intersect(arrays(a), arrays(b))) == runs(first & second)


@given(INTERVALS)
def test_gaps_are_the_uncovered_instants_between_first_and_last(pairs):
    inside = instants(pairs)
    window = set(range(min(inside), max(inside) + 1)) if inside else set()
    assert pairs_of(gaps(*arrays(pairs))) == runs(window - inside)


@given(INTERVALS, st.lists(st.integers(-3, SPAN + 20), min_size=1, max_size=8))
def test_covered_counts_the_instants_before_a_time(pairs, times):
    inside = instants(pairs)
    expected = [sum(t < time for t in inside) for time in times]
    assert covered(union(*arrays(pairs)), np.array(times)).tolist() == expected


GROUPED = st.lists(st.tuples(st.integers(0, 5), INTERVAL), max_size=15)


@given(GROUPED)
def test_busy_time_of_each_group(grouped):
    group = np.array([g for g, _ in grouped], np.int64)
    start, end = arrays([pair for _, pair in grouped], OFFSET)
    expected = [len(instants([pair for g, pair in grouped if g == owner])) for owner in range(6)]
    assert segmented_union_length(group, start, end, 6).tolist() == expected


@given(GROUPED, st.integers(0, 2**40))
def test_groups_too_wide_to_lie_side_by_side_in_64_bits(grouped, first):
    """Events 140 years apart in groups with huge numbers take the path that counts in edges."""
    far = 1 << 62
    group = np.array([first + g for g, _ in grouped] + [first + 6, first + 6], np.int64)
    start, end = arrays([pair for _, pair in grouped] + [(0, 3), (far, far + 4)])
    owner, low, high = segmented_union(group, start, end)
    found = {}
    for g, a, b in zip((owner - first).tolist(), low.tolist(), high.tolist(), strict=True):
        found.setdefault(g, []).append((a, b))
    expected = {g: runs(instants([pair for h, pair in grouped if h == g])) for g in range(6)}
    assert found == {g: pieces for g, pieces in expected.items() if pieces} | {6: [(0, 3), (far, far + 4)]}


WORK = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2), INTERVAL), max_size=12)


def exposure_per_instant(work: list[tuple[int, int, tuple[int, int]]]) -> dict[int, float]:
    """DESIGN: exposed is the time in which no other stream is busy with another row's work; one stream shares."""
    out = dict.fromkeys(range(4), 0.0)
    for t in range(SPAN + 20):
        active = [(row, stream) for row, stream, (start, end) in work if start <= t < end]
        rows = {row for row, _ in active}
        streams = {stream for _, stream in active}
        if len(rows) == 1 or len(streams) == 1:
            for row in rows - {-1}:
                out[row] += 1 / len(rows)
    return out


@given(WORK)
def test_exposure_matches_the_definition_instant_by_instant(work):
    row = np.array([w[0] for w in work], np.int64)
    stream = np.array([w[1] for w in work], np.int64)
    start, end = arrays([w[2] for w in work], OFFSET)
    found = exposure(row, stream, start, end, 4)
    assert found.tolist() == pytest.approx(list(exposure_per_instant(work).values()), abs=1e-6)
    assert found.sum() <= total(start, end) + 1e-6


def test_exposure_by_hand():
    """Row 0 on stream 1 for 10 ns, of which row 1 covers the last 4 on stream 2; then row 1 alone for 6 ns."""
    start, end = arrays([(0, 10), (6, 16)])
    assert exposure(np.array([0, 1]), np.array([1, 2]), start, end, 2).tolist() == [6.0, 6.0]
    assert exposure(np.array([0, 0]), np.array([1, 2]), start, end, 1).tolist() == [16.0]
    assert exposure(np.array([0, -1]), np.array([1, 2]), start, end, 1).tolist() == [6.0]
    assert exposure(np.array([0, 1]), np.array([1, 1]), start, end, 2).tolist() == [8.0, 8.0]


def test_nothing_at_all():
    empty = np.zeros(0, np.int64)
    assert total(empty, empty) == 0
    assert segmented_union_length(empty, empty, empty, 3).tolist() == [0, 0, 0]
    assert exposure(empty, empty, empty, empty, 2).tolist() == [0.0, 0.0]
