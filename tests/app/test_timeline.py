"""The timeline: bins against a count of every nanosecond, the axis by hand, the pane key by key."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app import data
from tests.app.conftest import Running, line_with, screen_text
from tests.app.fakes import FakeServices
from tracelens_tui.app.lanes import Lane, Timeline, Work, gpu_event_under, timeline_of
from tracelens_tui.app.timeline import TimelinePane
from tracelens_tui.app.timeline_axis import Axis
from tracelens_tui.app.timeline_cells import idle_text, lane_cells
from tracelens_tui.trace.intervals import union

US = 1000


def lane(*spans: tuple[int, int, Work]) -> Lane:
    ordered = sorted(spans)
    start = np.array([span[0] for span in ordered], np.int64)
    end = np.array([span[1] for span in ordered], np.int64)
    work = np.array([int(span[2]) for span in ordered])
    busy = {Work(kind): union(start[work == kind], end[work == kind]) for kind in np.unique(work).tolist()}
    return Lane("lane", 0, np.arange(len(ordered)), start, end, np.maximum.accumulate(end), busy)


SPANS = st.lists(
    st.tuples(st.integers(0, 190), st.integers(1, 60), st.sampled_from([Work.MATRIX, Work.COPY])),
    min_size=1,
    max_size=12,
)


@given(SPANS, st.integers(1, 40))
def test_the_busy_part_of_a_bin_is_that_of_its_nanoseconds(spans, bins):
    found = lane(*((start, start + length, work) for start, length, work in spans))
    edges = Axis(0, 250, 0, 250, bins).edges()
    share, kind = found.shares(edges)
    for number in range(bins):
        begin, end = int(edges[number]), int(edges[number + 1])
        time = {
            work: sum(any(s <= ns < s + n for s, n, w in spans if w == work) for ns in range(begin, end))
            for work in found.busy
        }
        assert share[number] == pytest.approx(min(1.0, sum(time.values()) / (end - begin)))
        assert time[Work(int(kind[number]))] == max(time.values())


@given(SPANS, st.integers(0, 240), st.integers(1, 30))
def test_the_event_of_a_time_is_the_one_that_takes_most_of_it(spans, start, length):
    found = lane(*((begin, begin + size, work) for begin, size, work in spans))
    overlap = np.minimum(found.end, start + length) - np.maximum(found.start, start)
    event = found.event_in(start, start + length)
    if overlap.max() <= 0:
        assert event is None
    else:
        assert event is not None
        assert overlap[event] == overlap.max()


def test_lanes_of_a_trace():
    timeline = timeline_of(data.make_analysis())
    assert [one.label for one in timeline.gpu] == ["GPU 2 s7", "GPU 2 s8"]
    assert [one.events.tolist() for one in timeline.gpu] == [[4, 7, 10, 12], [13]]
    assert [one.label for one in timeline.host] == ["host 77"]
    assert timeline.host[0].events.tolist() == [2, 5, 8, 11]  # outermost ops and runtime calls
    assert (timeline.origin, timeline.window_end) == (40 * US, 800 * US)
    assert (timeline.start, timeline.end) == (10 * US, 800 * US)
    starts, ends = timeline.gpu[0].busy[Work.MATRIX]
    assert (starts.tolist(), ends.tolist()) == ([40 * US, 400 * US], [160 * US, 580 * US])
    assert {cause: gaps[0].tolist() for cause, gaps in timeline.idle.items()} == {
        "host": [200_000],
        "launch": [580_000],
    }


def test_the_gpu_event_of_an_op_is_its_longest():
    analysis = data.make_analysis()
    assert gpu_event_under(analysis, 8) == 10
    assert gpu_event_under(analysis, 1) == 10  # of 120, 40, 180 and 60 µs
    assert gpu_event_under(analysis, 13) == 13
    assert gpu_event_under(analysis, 14) is None


def test_a_trace_without_gpu_work_has_host_lanes_only():
    analysis = data.make_analysis(gpu=data.frame((), data.GPU_SCHEMA), splits={}, device=None)
    timeline = timeline_of(analysis)
    assert (timeline.gpu, timeline.idle) == ((), {})
    assert timeline.origin == 10 * US


def test_zoom_keeps_its_middle_and_stays_inside():
    axis = Axis(0, 1000, 0, 1000, 10)
    near = axis.zoomed(0.5, 500)
    assert (near.start, near.end) == (250, 750)
    assert (axis.zoomed(0.5, 0).start, axis.zoomed(0.5, 0).end) == (0, 500)
    assert (near.panned(1.0).start, near.panned(1.0).end) == (500, 1000)
    assert (near.zoomed(100.0, 300).start, near.zoomed(100.0, 300).end) == (0, 1000)
    least = near.zoomed(1e-9, 400)
    assert least.end - least.start == 10  # a nanosecond a bin


@given(
    st.integers(0, 10**15), st.integers(1, 10**12), st.integers(1, 300),
    st.lists(st.tuples(st.sampled_from(["zoom", "pan"]), st.floats(0.01, 30)), max_size=12),
)  # fmt: skip
def test_no_way_of_moving_leaves_the_trace(first, length, bins, moves):
    axis = Axis(first, first + length, first, first + length, bins)
    for move, size in moves:
        axis = axis.zoomed(size, axis.start) if move == "zoom" else axis.panned(size - 10)
        assert axis.first <= axis.start < axis.end
        assert axis.end - axis.start <= max(length, bins)
        assert len(axis.marks()) == bins
        number = axis.bin_of(axis.start)
        assert 0 <= number < bins


def test_marks_count_from_the_window_and_stand_apart():
    axis = Axis(0, 1_000_000, 0, 1_000_000, 60, origin=100_000)
    places = [at for at, letter in enumerate(axis.marks()) if letter == "│"]
    assert places == [6, 36]  # 0 and 500 µs: marks stand at least 14 cells apart
    assert "│500 µs" in axis.marks()


def make_timeline(*lanes: Lane) -> Timeline:
    names = pl.Series("name", ["gemm_kernel", "copy"])
    return Timeline(
        gpu=lanes, host=(), start=0, end=1000, origin=0, window_end=1000,
        idle={"launch": union(np.array([600]), np.array([800])), "sync": union(np.array([800]), np.array([900]))},
        names=names, codes=np.zeros(20, np.uint32),
    )  # fmt: skip


def test_cells_tell_kind_and_fill():
    one = lane((0, 100, Work.MATRIX), (100, 130, Work.COPY), (300, 400, Work.COMM), (400, 460, Work.VECTOR))
    axis = Axis(0, 1000, 0, 1000, 10)
    cells = lane_cells(one, make_timeline(one), axis)
    assert "".join(text for text, _ in cells) == "█▂ ▒▓     "
    assert [style for _, style in cells[:5]] == ["good", "bad", "", "warn", "accent"]
    assert idle_text(make_timeline(one), axis) == "      LLS "


def test_an_event_that_is_wide_enough_carries_its_name():
    one = lane((0, 500, Work.MATRIX))
    text = "".join(text for text, _ in lane_cells(one, make_timeline(one), Axis(0, 1000, 0, 1000, 40)))
    assert text == "█ gemm_kernel      █" + " " * 20


async def test_from_a_finding_to_the_timeline_and_its_tree(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("T")
        pane = bench.query_one(TimelinePane)
        assert (bench.active, pane.event, bench.selection.event) == ("timeline", 10, 10)
        await pilot.pause(0.2)
        assert data.GEMM in screen_text(pilot)
        await pilot.press("left_square_bracket")
        assert pane.event == 7
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert pane.event == 12
        await pilot.press("enter")
        assert (bench.active, bench.selection.event) == ("tree", 12)
        await pilot.press("backspace")
        assert (bench.active, pane.event) == ("timeline", 12)


async def test_lanes_zoom_and_threads(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("6")
        pane = bench.query_one(TimelinePane)
        assert "760 µs shown" in screen_text(pilot)
        assert "L" in line_with(pilot, " idle")
        await pilot.press("plus")
        assert "380 µs shown" in screen_text(pilot)
        await pilot.press("0", "j", "end")
        assert pane.lanes[pane.cursor].label == "GPU 2 s8"
        await pilot.press("v")
        assert [one.label for one in pane.lanes] == ["GPU 2 s7", "GPU 2 s8", "host 77"]
        await pilot.press("j")
        assert pane.lanes[pane.cursor].label == "host 77"
        await pilot.press("v")
        assert pane.cursor == 1


async def test_find_on_the_timeline(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("6", "slash", *"cijk", "enter")
        pane = bench.query_one(TimelinePane)
        assert pane.event == 10  # the next one after the first
        await pilot.press("n")
        assert pane.event == 4
        await pilot.press("slash", *"nowhere", "enter")
        assert "nothing here holds" in screen_text(pilot)
        await pilot.press("f")
        assert "this pane has no filter" in screen_text(pilot)
