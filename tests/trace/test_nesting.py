"""The vectorised nesting against a plain stack machine that follows the documented rules one event at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelens_tui.trace import crossings
from tracelens_tui.trace.crossings import range_max
from tracelens_tui.trace.nesting import Spans, nest

Span = tuple[int, int, int, int, bool, bool]  # thread, start, end, rank, annotation, unfinished


def spans_of(rows: list[Span]) -> Spans:
    table = np.array(rows, np.int64).reshape(-1, 6)
    return Spans(
        thread=table[:, 0],
        start=table[:, 1],
        end=table[:, 2],
        rank=table[:, 3].astype(np.uint8),
        annotation=table[:, 4].astype(bool),
        unfinished=table[:, 5].astype(bool),
    )


def parents_by_stack(rows: list[Span]) -> list[int]:
    """Parent of every span (-1 none), by going through them in order with a stack."""
    parent = [-1] * len(rows)
    order = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][1], -rows[i][2], rows[i][3], i))
    stack: list[tuple[int, int]] = []  # span, end in the tree
    for i in order:
        thread, start, end, _, annotation, unfinished = rows[i]
        stack = [] if stack and rows[stack[-1][0]][0] != thread else stack
        while stack and stack[-1][1] <= start:
            stack.pop()
        children = True
        while stack and stack[-1][1] < end:
            top, top_end = stack[-1]
            overlap, excess = top_end - start, end - top_end
            little = (annotation and 2 * overlap < rows[i][2] - start) or (
                rows[top][4] and 2 * overlap < rows[top][2] - rows[top][1]
            )
            if little or (overlap < 1000 and overlap < excess):
                stack.pop()
            else:
                end = top_end
                children = excess < 1000 or annotation or unfinished
        parent[i] = stack[-1][0] if stack else -1
        if children:
            stack.append((i, end))
    return parent


def parents(rows: list[Span]) -> list[int]:
    forest = nest(spans_of(rows))
    out = [-1] * len(rows)
    for position, span in enumerate(forest.order.tolist()):
        above = int(forest.parent[position])
        out[span] = int(forest.order[above]) if above >= 0 else -1
    return out


TICK = 300  # ns: crossings of one to three ticks are below the tolerance of 1 µs
ROW = st.tuples(
    st.integers(0, 2), st.integers(0, 40), st.integers(0, 25), st.integers(0, 3), st.booleans(), st.booleans()
).map(lambda r: (r[0], r[1] * TICK, (r[1] + r[2]) * TICK, r[3], r[4], r[5]))


@settings(max_examples=400)
@given(st.lists(ROW, max_size=30))
def test_parents_match_the_stack_machine(rows):
    assert parents(rows) == parents_by_stack(rows)


@given(st.lists(ROW, max_size=30))
def test_depth_and_size_follow_from_the_parents(rows):
    forest = nest(spans_of(rows))
    n = len(rows)
    depth, size = [0] * n, [1] * n
    for p in range(n):
        above = int(forest.parent[p])
        assert above < p  # preorder
        depth[p] = depth[above] + 1 if above >= 0 else 0
    for p in reversed(range(n)):
        if forest.parent[p] >= 0:
            size[int(forest.parent[p])] += size[p]
    assert forest.depth.tolist() == depth
    assert forest.size.tolist() == size


def test_a_file_that_crosses_everywhere_is_read_in_bounded_time(monkeypatch):
    """Every span crosses the one before: the search gives up and treats all of them as crossing."""
    monkeypatch.setattr(crossings, "_SCANS", 1)
    rows: list[Span] = [(0, i * TICK, (i + 300) * TICK, 0, False, False) for i in range(400)]
    assert parents(rows) == parents_by_stack(rows)


def test_long_and_short_ranges_of_crossing_spans():
    """An annotation over 200 spans crosses its last frame, and short frames cross within."""
    rows: list[Span] = [(0, 0, 200_500, 0, True, False)]
    rows += [(0, i * 1000, i * 1000 + 900 + 300 * (i % 3), 1, False, False) for i in range(200)]
    rows += [(0, 200_100, 260_000, 1, False, False)]
    assert parents(rows) == parents_by_stack(rows)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.data())
def test_range_max(values, data):
    low = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=20))
    high = [data.draw(st.integers(at + 1, len(values))) for at in low]
    found = range_max(np.array(values), np.array(low), np.array(high))
    assert found.tolist() == [max(values[a:b]) for a, b in zip(low, high, strict=True)]


US = 1000


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(0, 0, 5 * US, 0), (0, 0, 9 * US, 0)], [1, -1], id="equal starts: the longer one is outside"),
        pytest.param([(0, 0, 5 * US, 2), (0, 0, 5 * US, 1)], [1, -1], id="equal bounds: the lower rank is outside"),
        pytest.param([(0, 0, 5 * US, 0), (0, 0, 5 * US, 0)], [-1, 0], id="equal bounds and rank: file order"),
        pytest.param([(0, 0, 5 * US, 0), (0, 2 * US, 5 * US, 0)], [-1, 0], id="equal ends"),
        pytest.param([(0, 0, 5 * US, 0), (0, 5 * US, 9 * US, 0)], [-1, -1], id="touching"),
        pytest.param([(0, 0, 5 * US, 0), (1, 1 * US, 2 * US, 0)], [-1, -1], id="other thread"),
        pytest.param([(0, 0, 5 * US, 0), (0, 4850, 9 * US, 0)], [-1, -1], id="0.15 µs of overlap: siblings"),
        pytest.param([(0, 0, 5 * US, 0), (0, 1 * US, 5100, 0)], [-1, 0], id="0.1 µs of excess: child"),
        pytest.param(
            [(0, 0, 20 * US, 0), (0, 5 * US, 90 * US, 0), (0, 7 * US, 9 * US, 0)],
            [-1, 0, 0],
            id="large crossing: a child without children",
        ),
        pytest.param([(0, 3 * US, 3 * US, 0), (0, 0, 9 * US, 0)], [1, -1], id="no length"),
        pytest.param([(0, 3 * US, 3 * US, 0), (0, 3 * US, 3 * US, 0)], [-1, -1], id="no length, twice: siblings"),
    ],
)
def test_rules(rows, expected):
    assert parents([(*row, False, False) for row in rows]) == expected


def test_an_annotation_begins_inside_the_frame_that_announces_it():
    enter, step, inner = (0, 0, 20 * US, 1), (0, 10 * US, 900 * US, 0), (0, 30 * US, 40 * US, 1)
    rows = [(*enter, False, False), (*step, True, False), (*inner, False, False)]
    assert parents(rows) == [-1, -1, 1]


def test_an_unfinished_op_holds_what_follows_up_to_the_end_of_its_parent():
    rows = [
        (0, 0, 100 * US, 0, False, False),
        (0, 10 * US, 500 * US, 0, False, True),
        (0, 50 * US, 60 * US, 0, False, False),
        (0, 150 * US, 160 * US, 0, False, False),
    ]
    assert parents(rows) == [-1, 0, 1, -1]
