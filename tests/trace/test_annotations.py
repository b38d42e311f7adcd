"""The table of annotations with the GPU work launched in each."""

from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.trace.making import Event, call, event, finished, frame, kernel, mark, only, op, opened
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.annotations import ANNOTATION_SCHEMA, annotation_table, annotations_around, range_min
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.scoping import scoped
from tracelens_tui.trace.types import GPU_KINDS

STEPS = [
    mark("ProfilerStep#7", 0, 100),
    mark("forward", 10, 30),
    mark("ProfilerStep#8", 100, 100),
    call(1, 12),
    call(2, 20, name="cudaMemcpyAsync"),
    call(3, 60, tid=2),  # on the thread of the backward pass
    call(4, 100),  # a step ends before its last instant
    kernel(1, 50, 20),
    kernel(2, 300, 5, cat="gpu_memcpy", name="Memcpy HtoD (Pinned -> Device)", stream=8),
    kernel(3, 75, 7),
    kernel(4, 110, 1),
    kernel(None, 150, 2, name="unlinked"),
    event("gpu_user_annotation", "forward", 50, 20, 0, 7),
]


def test_work_belongs_by_its_launch_on_any_thread_whenever_it_runs():
    table = annotation_table(*opened(*STEPS))
    assert dict(table.schema) == ANNOTATION_SCHEMA
    assert table.drop("event", "thread").rows() == [
        ("ProfilerStep#7", 0, 100_000, 50_000, 305_000, 32_000, 3, 2),
        ("forward", 10_000, 40_000, 50_000, 305_000, 25_000, 2, 1),
        ("ProfilerStep#8", 100_000, 200_000, 110_000, 111_000, 1_000, 1, 1),
    ]
    assert table["event"].to_list() == [0, 1, 2]


def test_annotations_without_gpu_work_have_no_gpu_times():
    table = annotation_table(*opened(mark("## metrics ##", 5, 3), op("aten::add", 6, 1), call(1, 90), kernel(1, 95, 1)))
    assert table.row(0)[3:] == (5_000, 8_000, None, None, 0, 0, 0)
    assert annotation_table(*opened()).height == 0
    assert annotation_table(*opened(mark("alone", 5, 0))).row(0)[3:] == (5_000, 5_000, None, None, 0, 0, 0)


def test_each_process_has_its_own_work():
    """Two ranks in one file that mark and number the same way."""
    ranks = [
        [
            mark("step", 0, 50, pid=10 + rank),
            call(1, 5, pid=10 + rank),
            kernel(1, 20, 3 + rank, pid=rank, device=rank),
        ]
        for rank in (0, 1)
    ]
    table = annotation_table(*opened(*(one for rank in ranks for one in rank)))
    assert table.select("gpu_ns", "gpu_count").rows() == [(3_000, 1), (4_000, 1)]


def test_what_was_marked_around_an_event():
    trace, tree = opened(*STEPS, frame("main.py(1): main", 0, 200), mark("other rank", 0, 500, pid=2))
    table = annotation_table(trace, tree)

    def around(name: str) -> list[str]:
        return annotations_around(trace, tree, table, only(trace, name))

    assert around("Memcpy HtoD (Pinned -> Device)") == ["ProfilerStep#7", "forward"]  # by its launch
    assert around("unlinked") == []  # the row of a GPU lies in no process
    assert around("main.py(1): main") == ["ProfilerStep#7"]
    assert around("ProfilerStep#7") == []  # itself is not around it
    assert annotations_around(trace, tree, table, only(trace, "ProfilerStep#8")) == []  # where the one before ends
    forward = int(table["event"][table["name"].to_list().index("forward")])
    assert annotations_around(trace, tree, table, forward) == ["ProfilerStep#7"]


def test_of_equal_starts_the_longer_one_is_around_the_shorter_one():
    trace, tree = opened(mark("inner", 0, 5), mark("outer", 0, 9), op("aten::mm", 1, 1))
    assert annotations_around(trace, tree, annotation_table(trace, tree), only(trace, "aten::mm")) == ["outer", "inner"]


RANGES = st.lists(st.tuples(st.integers(0, 39), st.integers(1, 40)), max_size=15)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40), RANGES)
def test_the_least_of_ranges(values: list[int], pairs: list[tuple[int, int]]):
    low = [min(a, len(values) - 1) for a, _ in pairs]
    high = [min(a + b, len(values)) for a, (_, b) in zip(low, pairs, strict=True)]
    found = range_min(np.array(values), np.array(low, np.int64), np.array(high, np.int64))
    assert found.tolist() == [min(values[a:b]) for a, b in zip(low, high, strict=True)]


MARK = st.tuples(st.just("mark"), st.integers(0, 60), st.integers(0, 30), st.integers(0, 1), st.just(0))
WORK = st.tuples(st.just("work"), st.integers(0, 80), st.integers(0, 9), st.integers(0, 1), st.integers(-20, 30))


@given(st.lists(st.one_of(MARK, WORK), max_size=30))
def test_the_table_is_what_its_definition_says(rows: list[tuple[str, int, int, int, int]]):
    """Every launch against every annotation, in plain Python."""
    events: list[Event] = []
    for number, (what, ts, dur, process, delay) in enumerate(rows, 1):
        if what == "mark":
            events.append(mark(f"m{number}", ts, dur, pid=10 + process, tid=number % 2))
        else:
            events.append(call(number, ts, 0, pid=10 + process, tid=3))
            events.append(kernel(number, ts + 100 + delay, dur, pid=process, device=process, stream=number))
    table = annotation_table(*opened(*events))
    expected = {}
    for number, (what, ts, dur, process, _) in enumerate(rows, 1):
        if what == "mark":
            mine = [r for r in rows if r[0] == "work" and r[3] == process and ts <= r[1] < ts + dur]
            first = min((r[1] + 100 + r[4] for r in mine), default=None)
            last = max((r[1] + 100 + r[4] + r[2] for r in mine), default=None)
            expected[f"m{number}"] = (first, last, sum(r[2] for r in mine), len(mine))
    micros = [pl.col(name) // 1000 for name in ("gpu_start_ns", "gpu_end_ns", "gpu_ns")]
    assert {row[0]: row[1:] for row in table.select("name", *micros, "gpu_count").rows()} == expected


def test_the_work_of_real_steps_is_that_of_the_part(shared: Path):
    """The same GPU events as ``--annotation`` opens."""
    trace, tree = finished(load_trace(shared / "traces/hta_nccl.json.gz"))
    table = annotation_table(trace, tree).filter(pl.col("name").is_in(["ProfilerStep#4", "## forward ##"]))
    assert table.height == 4
    for name, mine in table.group_by("name"):
        part = scoped(trace, tree, Scope("annotation", name=str(name[0])))[0].events
        gpu = part.filter(pl.col("kind").is_in(GPU_KINDS))
        assert (gpu.height, gpu["dur_ns"].sum()) == (mine["gpu_count"].sum(), mine["gpu_ns"].sum())


def test_a_real_table(shared: Path):
    """Numbers of a loop over launches and annotations of the raw file."""
    table = annotation_table(*finished(load_trace(shared / "traces/mi300_resnet_ckpt.json.gz")))
    assert table.height == 24
    step = table.filter(pl.col("name") == "ProfilerStep#15").row(0, named=True)
    assert (step["gpu_count"], step["kernels"], step["gpu_ns"]) == (895, 746, 22_949_370)
    reduce = table.filter(pl.col("name") == "nccl:all_reduce").select("gpu_count", "gpu_ns").rows()
    assert reduce == [
        (1, 6_911_678), (1, 8_932_626), (1, 6_678_400), (1, 9_208_906), (1, 6_748_720), (1, 8_656_708),
    ]  # fmt: skip
