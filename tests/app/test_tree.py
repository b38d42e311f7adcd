"""The event tree in display order, against the recursion in ``data.make_tree`` and sets computed event by event."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.app import data
from tests.app.data import Ev
from tracelens_tui.app.tree_data import OTHER_GPU, UNLINKED, tree_data
from tracelens_tui.app.tree_source import TreeSource
from tracelens_tui.trace.types import Kind, Role


@pytest.fixture
def source() -> TreeSource:
    analysis = data.make_analysis()
    return TreeSource(analysis, tree_data(analysis))


def shown(source: TreeSource) -> list[str]:
    return [source.cells(row)[0][0] for row in range(len(source))]


def test_headings_are_threads_by_gpu_time_then_what_has_no_place(source):
    labels = ["thread 77 (python3) · python3 pid 77", UNLINKED, OTHER_GPU]
    assert [group.label for group in source.data.groups] == labels
    assert [group.gpu_ns for group in source.data.groups] == [400_000, 100_000, 0]
    assert [group.events for group in source.data.groups] == [13, 1, 1]
    assert shown(source) == [
        "▸ thread 77 (python3) · python3 pid 77", f"▸ {UNLINKED}", f"▸ {OTHER_GPU}",
    ]  # fmt: skip


def test_unfold_shows_children_and_fold_hides_all_below(source):
    source.expand(0)
    source.expand(1)
    source.expand(2)
    assert [source.key(row) for row in range(len(source))] == [-1, 0, 1, 2, 5, 8, 11, -2, -3]
    assert source.cells(3)[0][0] == "   ▸ aten::addmm  2816 bf16, 8944×1024 bf16, 1024×2816 bf16"
    assert [text for text, _ in source.cells(3)[1:]] == ["0.120", "1", "0.050", "op"]
    source.collapse(0)
    assert len(source) == 3
    source.expand(0)
    assert len(source) == 4  # what was open below is folded again


def test_unfold_everything(source):
    source.expand_all(0)
    assert [source.key(row) for row in range(14)] == [-1, *range(13)]
    assert shown(source)[5] == "     ▸ Cijk"[:5] + "  " + data.GEMM
    assert not source.expand(5)  # a leaf


def test_hostile_kernel_name_is_plain_text(source):
    row = source.reveal(7)
    assert source.cells(row)[0][0].strip() == data.HOSTILE_SHOWN


def test_reveal_unfolds_what_hides_the_event(source):
    row = source.reveal(10)
    assert source.key(row) == 10
    assert source.parent_index(row) == row - 1


def test_hottest_child(source):
    row = source.reveal(1)
    assert source.hottest(row) == 8  # addmm: 180 µs against 120, 40 and 60
    assert source.hottest(source.reveal(4)) == 4


def test_find_goes_through_folded_events_and_around(source):
    row = source.find("ADDMM", 0, 1)
    assert row is not None
    assert source.key(row) == 2
    row = source.find("addmm", row, 1)
    assert source.key(row) == 8
    assert source.key(source.find("addmm", row, 1)) == 2
    assert source.key(source.find("addmm", source.index(2), -1)) == 8
    assert source.find("nowhere", 0, 1) is None


def test_filter_shows_hits_and_what_is_above_them(source):
    source.filter("cijk")
    assert [source.key(row) for row in range(len(source))] == [-1, 0, 1, 2, 3, 4, 8, 9, 10]
    assert source.is_open(0)
    source.filter("nowhere")
    assert len(source) == 0
    source.filter("")
    assert len(source) == 3


def test_deep_levels_are_shown_by_their_number():
    events = [Ev(Kind.PYTHON_FUNCTION, f"lib/f.py({i}): f", i, 1000 - 2 * i, parent=i - 1) for i in range(40)]
    analysis = data.make_analysis(trace=data.make_trace(events), tree=data.make_tree(events))
    source = TreeSource(analysis, tree_data(analysis))
    source.expand_all(0)
    assert source.cells(40)[0][0] == "            40   f.py(39): f"


def test_threads_stand_by_the_gpu_time_they_launch():
    events = [
        Ev(Kind.CPU_OP, "idle", 0, 9, thread=2),
        Ev(Kind.CPU_OP, "busy", 5, 9, thread=0),
        Ev(Kind.RUNTIME, "launch", 6, 1, parent=1, thread=0),
        Ev(Kind.KERNEL, "k", 8, 4, parent=2, thread=1, stream=7, role=Role.COMPUTE),
    ]
    threads = data.frame([*data.THREADS[:2], ("77", "78", "", "", "", False)], data.THREAD_SCHEMA)
    trace = replace(data.make_trace(events), threads=threads)
    made = tree_data(data.make_analysis(trace=trace, tree=data.make_tree(events)))
    assert [group.label for group in made.groups] == ["thread 77 (python3) · python3 pid 77", "thread 78 · pid 77"]
    assert made.event.tolist() == [-1, 1, 2, 3, -2, 0]
    assert made.place.tolist() == [5, 1, 2, 3]


def random_forest(seed: int, count: int) -> list[Ev]:
    """Events with random parents among the earlier ones, on two threads, some unlinked GPU work."""
    rnd = random.Random(seed)
    events: list[Ev] = []
    for index in range(count):
        parent = rnd.choice([-1, *range(index)]) if index else -1
        if parent >= 0 and events[parent].on_gpu:
            parent = -1
        gpu = rnd.random() < 0.3
        role = Role.COMPUTE if gpu else Role.NONE
        kind = Kind.KERNEL if gpu else Kind.CPU_OP
        events.append(Ev(kind, f"e{rnd.randrange(6)}", index, 5, parent, 1 if gpu else 0, 7 if gpu else -1, role))
    return events


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(0, 6))
def test_rows_are_those_of_the_tree(seed, count, wanted):
    events = random_forest(seed, count)
    tree = data.make_tree(events)
    analysis = data.make_analysis(trace=data.make_trace(events), tree=tree)
    source = TreeSource(analysis, tree_data(analysis))
    assert len(source.data) == count + len(source.data.groups)
    assert sorted(e for e in source.data.event.tolist() if e >= 0) == list(range(count))
    for event in range(count):
        row = source.reveal(event)
        assert source.key(row) == event
        above = source.parent_index(row)
        assert above is not None
        parent = source.key(above)
        assert parent == tree.parent[event] if tree.parent[event] >= 0 else isinstance(parent, int) and parent < 0
    hits = {index for index, event in enumerate(events) if event.name == f"e{wanted}"}
    kept = hits | {int(above) for hit in hits for above in tree.ancestors(hit)}
    source.filter(f"e{wanted}")
    assert {key for row in range(len(source)) if isinstance(key := source.key(row), int) and key >= 0} == kept
    assert np.all(np.diff(source._rows) > 0)
