"""What an option's text means, and what belongs to a part of a trace; all figures by hand."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.making import call, event, frame, ids, kernel, mark, names, op, opened, parent_name
from tracelens_tui.errors import UserError
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.scope import KINDS, Scope, ScopeKind
from tracelens_tui.trace.scoping import scoped
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import GPU_KINDS, Kind, Trace


def part(made: tuple[Trace, EventTree], text: str) -> tuple[Trace, EventTree]:
    return scoped(*made, Scope.of_text(text))


def gpu_names(trace: Trace) -> list[str]:
    """The GPU events by start."""
    gpu = np.flatnonzero(np.isin(trace.events["kind"].to_numpy(), GPU_KINDS))
    return names(trace, gpu[np.argsort(trace.events["start_ns"].to_numpy()[gpu])])


def fault(made: tuple[Trace, EventTree], text: str) -> str:
    with pytest.raises(UserError) as caught:
        part(made, text)
    return str(caught.value)


# Options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "scope"),
    [
        ("step", "3", Scope("step", 3, 3)),
        ("step", " 03 ", Scope("step", 3, 3)),
        ("steps", "2-5", Scope("steps", 2, 5)),
        ("steps", "4-4", Scope("step", 4, 4)),
        ("annotation", "## fwd*", Scope("annotation", name="## fwd*")),
        ("time", "1.2s-1.5s", Scope("time", 1_200_000_000, 1_500_000_000)),
        ("time", "300ms-450ms", Scope("time", 300_000_000, 450_000_000)),
        ("time", "300-450", Scope("time", 300_000_000, 450_000_000)),
        ("time", "300-450ms", Scope("time", 300_000_000, 450_000_000)),
        ("time", "7µs-0.000008s", Scope("time", 7_000, 8_000)),
        ("node", "17", Scope("node", 17, 17)),
    ],
)
def test_an_options_value_and_its_text_mean_the_same(kind, value, scope):
    assert Scope.parse(kind, value) == scope
    assert Scope.of_text(scope.text) == scope


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("step", "x"), ("step", ""), ("step", "-1"), ("step", "3-4"), ("step", "1" * 19), ("steps", "3"),
        ("steps", "5-2"), ("annotation", ""), ("time", "1"), ("time", "2s-1s"), ("time", "1s-1s"), ("time", "1h-2h"),
        ("time", "9999999999s-9999999999999s"), ("node", "aten::mm"),
    ],
)  # fmt: skip
def test_what_is_no_part_is_refused_with_an_example(kind, value):
    with pytest.raises(UserError, match=f"^--{kind} .*: give .*such as --{kind} "):
        Scope.parse(kind, value)


def test_two_options_are_refused_by_name():
    nothing: dict[ScopeKind, str | None] = dict.fromkeys(KINDS)
    assert Scope.of_options(nothing) is None
    assert Scope.of_options({**nothing, "node": "5"}) == Scope("node", 5, 5)
    with pytest.raises(UserError, match=r"^choose the part of the trace with --step or with --time, not with both$"):
        Scope.of_options({**nothing, "step": "3", "time": "1s-2s"})


def test_texts_for_people_and_paths():
    scope = Scope.parse("annotation", "a b/../\x1b[31m'c")
    assert scope.describe() == "annotation a b/../'c"
    assert "\x1b" not in scope.option
    assert set(scope.slug) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    assert scope.slug != Scope.parse("annotation", "a b/../'c").slug
    assert Scope.parse("time", "1500us-2ms").text == "time=1500us-2000us"
    assert Scope.parse("steps", "2-5").option == "--steps 2-5"


@pytest.mark.parametrize("text", ["", "step", "bla=3", "step=x", "steps=5-2"])
def test_a_text_that_names_nothing_is_refused(text):
    with pytest.raises(UserError):
        Scope.of_text(text)


times = st.tuples(st.integers(0, 10**15), st.integers(0, 10**15)).filter(lambda two: two[0] < two[1])


@given(times)
def test_times_survive_their_text(two):
    scope = Scope("time", *two)
    assert Scope.of_text(scope.text) == scope


# Steps --------------------------------------------------------------------------------------------------------


def two_steps() -> tuple[Trace, EventTree]:
    """Steps [10, 100) and [100, 200): an autograd thread, a kernel past its step, one without launch, one outside."""
    return opened(
        frame("train.py(1): main", 0, 300),
        mark("ProfilerStep#1", 10, 90),
        op("aten::mm", 20, 10),
        call(1, 22),
        op("MmBackward", 60, 20, tid=2),
        call(2, 65, tid=2),
        mark("ProfilerStep#2", 100, 100),
        op("aten::add", 100, 10),
        call(3, 104),
        op("AddBackward", 190, 20, tid=2),
        call(4, 199, tid=2),
        call(5, 200),
        kernel(1, 30, 20, name="forward 1"),
        kernel(2, 80, 40, name="backward 1"),
        kernel(3, 120, 30, name="forward 2"),
        kernel(None, 160, 5, name="lost"),
        kernel(4, 210, 10, name="backward 2"),
        kernel(5, 225, 10, name="after"),
    )


def test_a_step_has_what_its_process_launches_in_it_on_any_thread():
    made = two_steps()
    assert gpu_names(part(made, "step=1")[0]) == ["forward 1", "backward 1"]
    assert gpu_names(part(made, "step=2")[0]) == ["forward 2", "lost", "backward 2"]
    assert gpu_names(part(made, "steps=0-9")[0]) == ["forward 1", "backward 1", "forward 2", "lost", "backward 2"]


def test_what_surrounds_a_part_stays_and_its_neighbours_go():
    trace, tree = part(two_steps(), "step=2")
    assert parent_name(trace, tree, "ProfilerStep#2") == "train.py(1): main"
    assert parent_name(trace, tree, "aten::add") == "ProfilerStep#2"
    assert not ids(trace, "ProfilerStep#1")
    assert not ids(trace, "aten::mm")
    main = ids(trace, "train.py(1): main")[0]
    assert (int(tree.gpu_ns[main]), int(tree.gpu_count[main])) == (30_000, 1)  # the work of the thread in the step
    assert len(trace) == 2 + 2 + 2 + 3  # frame and step, op and launch of either thread, three kernels


def test_rows_are_renumbered_and_uids_stay():
    whole, _ = made = two_steps()
    trace, _ = part(made, "step=1")
    uid_of = dict(zip(names(whole, range(len(whole))), whole.events["uid"], strict=True))
    for name in ("train.py(1): main", "ProfilerStep#1", "MmBackward", "backward 1"):
        assert trace.events["uid"][ids(trace, name)[0]] == uid_of[name]
    assert (trace.quality, trace.metadata) == (whole.quality, whole.metadata)


def test_repairs_go_with_their_events():
    made = opened(
        mark("ProfilerStep#1", 0, 10), call(1, 1), mark("ProfilerStep#2", 10, 10), call(2, 11),
        kernel(1, 2, -1, name="broken 1"), kernel(2, 12, 3, name="whole"), kernel(2, 16, -4, name="broken 2", stream=8),
    )  # fmt: skip
    assert made[0].repairs.height == 2
    trace, _ = part(made, "step=2")
    assert names(trace, trace.repairs["event"]) == ["broken 2"]
    assert trace.repairs["raw_dur_ns"].to_list() == [-4000]


def test_a_step_ends_where_the_next_one_of_its_process_begins():
    made = opened(
        mark("ProfilerStep#1", 0, 110), call(1, 5), mark("ProfilerStep#2", 100, 50, tid=3), op("aten::late", 104, 4),
        call(2, 105), kernel(1, 10, 5, name="a"), kernel(2, 130, 5, name="b"),
    )  # fmt: skip
    first, second = (part(made, f"step={number}")[0] for number in (1, 2))
    assert gpu_names(first) == ["a"]
    assert not ids(first, "ProfilerStep#2")
    assert not ids(first, "aten::late")
    assert gpu_names(second) == ["b"]
    assert ids(second, "aten::late")


def test_the_marks_of_a_step_stay_where_its_work_is_on_another_thread():
    rows: dict[str, Any] = {"cat": "gpu_user_annotation", "pid": 0, "tid": 7, "dur": 5}
    made = opened(
        mark("ProfilerStep#1", 0, 50), call(1, 10, tid=2), kernel(1, 20, 5), event(name="ProfilerStep#0", ts=1, **rows),
        event(name="ProfilerStep#1", ts=20, **rows),
    )  # fmt: skip
    trace, _ = part(made, "step=1")
    assert sorted(names(trace, range(len(trace)))) == [*["ProfilerStep#1"] * 2, "cudaLaunchKernel", "some_kernel"]


def test_an_op_around_two_steps_keeps_only_the_work_of_the_chosen_one():
    made = opened(
        op("aten::around", 0, 200), mark("ProfilerStep#1", 10, 50), call(1, 20), mark("ProfilerStep#2", 60, 50),
        call(2, 70), kernel(1, 30, 5, name="a"), kernel(2, 80, 7, name="b"),
    )  # fmt: skip
    trace, tree = part(made, "step=2")
    assert gpu_names(trace) == ["b"]
    assert int(tree.gpu_ns[ids(trace, "aten::around")[0]]) == 7_000


def two_processes() -> tuple[Trace, EventTree]:
    """Two ranks in one file, out of step: process 2 is in its step 1 while process 1 is in its step 2."""
    return opened(
        mark("ProfilerStep#1", 0, 100),
        call(1, 10),
        mark("ProfilerStep#2", 100, 100),
        call(2, 110),
        call(1, 50, pid=2),
        mark("ProfilerStep#1", 100, 100, pid=2),
        call(2, 120, pid=2),
        kernel(1, 20, 5, name="rank 0, step 1"),
        kernel(2, 130, 5, name="rank 0, step 2"),
        kernel(1, 60, 5, name="rank 1, before", pid=9, device=1),
        kernel(2, 140, 5, name="rank 1, step 1", pid=9, device=1),
        kernel(None, 150, 5, name="rank 1, lost", pid=9, device=1),
        kernel(None, 160, 5, name="rank 0, lost"),
    )


def test_each_process_has_steps_of_its_own():
    made = two_processes()
    assert gpu_names(part(made, "step=1")[0]) == ["rank 0, step 1", "rank 1, step 1", "rank 1, lost"]
    assert gpu_names(part(made, "step=2")[0]) == ["rank 0, step 2", "rank 0, lost"]


def test_an_annotation_holds_for_its_own_process():
    trace, tree = two_processes()
    codes = trace.names.replace({"ProfilerStep#1": "fwd"})
    made = replace(trace, names=codes), tree
    found, _ = part(made, "annotation=fwd")
    assert gpu_names(found) == ["rank 0, step 1", "rank 1, step 1", "rank 1, lost"]
    assert found.events.filter(kind=int(Kind.RUNTIME)).height == 2


# Annotations --------------------------------------------------------------------------------------------------


def annotated() -> tuple[Trace, EventTree]:
    return opened(
        mark("fwd [1]", 0, 10), call(1, 5), mark("bwd", 10, 10), call(2, 15), mark("fwd [1]", 20, 10), call(3, 25),
        mark("fwd 1", 30, 10), call(4, 35), mark("instant", 41, 0), call(5, 41),
        *(kernel(number, 100 + 10 * number, 5, name=f"k{number}") for number in range(1, 6)),
    )  # fmt: skip


def test_annotations_of_a_name_or_of_a_pattern():
    made = annotated()
    assert gpu_names(part(made, "annotation=fwd [1]")[0]) == ["k1", "k3"]  # a name before it is a pattern
    assert gpu_names(part(made, "annotation=fwd*")[0]) == ["k1", "k3", "k4"]
    assert gpu_names(part(made, "annotation=[fb]wd*")[0]) == ["k1", "k2", "k3", "k4"]


def test_an_annotation_takes_in_the_steps_inside():
    made = opened(
        mark("epoch", 0, 100),
        mark("ProfilerStep#1", 10, 50),
        call(1, 20),
        call(2, 80),
        kernel(1, 30, 5),
        kernel(2, 90, 5),
    )
    trace, tree = part(made, "annotation=epoch")
    assert parent_name(trace, tree, "ProfilerStep#1") == "epoch"
    assert len(trace) == 6


def test_annotations_of_gpu_rows_count_where_the_host_has_none():
    gpu: dict[str, Any] = {"cat": "gpu_user_annotation", "pid": 0, "tid": 7}
    rows = [event(ts=0, dur=50, name="ProfilerStep#1", **gpu), event(ts=50, dur=50, name="ProfilerStep#2", **gpu)]
    made = opened(
        *rows, op("aten::x", 5, 1), kernel(None, 10, 60, name="a"), kernel(None, 50, 5, name="b"),
        kernel(None, 30, 5, name="c", pid=1, device=1),
    )  # fmt: skip
    assert gpu_names(part(made, "step=1")[0]) == ["a"]
    assert gpu_names(part(made, "step=2")[0]) == ["b"]
    annotation, _ = part(made, "annotation=ProfilerStep#1")
    assert names(annotation, range(len(annotation))) == ["ProfilerStep#1", "a"]
    late = opened(mark("ProfilerStep#1", 0, 20), call(1, 5), *rows, kernel(1, 70, 5, name="d"))
    assert gpu_names(part(late, "step=1")[0]) == ["d"]  # the host's own range decides


# Time and node ------------------------------------------------------------------------------------------------


def test_time_counts_from_the_first_gpu_work_and_keeps_the_launches_of_its_work():
    made = opened(
        frame("main", 1000, 500), op("aten::mm", 1010, 10), call(1, 1012), op("aten::add", 1060, 10), call(2, 1062),
        kernel(1, 1050, 20, name="a"), kernel(2, 1100, 20, name="b"),
    )  # fmt: skip
    trace, tree = part(made, "time=0us-50us")
    assert gpu_names(trace) == ["a"]
    assert parent_name(trace, tree, "aten::mm") == "main"
    assert names(trace, range(len(trace))) == [
        "main",
        "aten::mm",
        "cudaLaunchKernel",
        "aten::add",
        "cudaLaunchKernel",
        "a",
    ]
    assert gpu_names(part(made, "time=50us-51us")[0]) == ["b"]


def test_a_node_is_its_subtree_under_its_ancestors():
    trace, tree = made = two_steps()
    uid = trace.events["uid"][ids(trace, "aten::mm")[0]]
    trace, tree = part(made, f"node={uid}")
    assert names(trace, tree.order) == [
        "train.py(1): main",
        "ProfilerStep#1",
        "aten::mm",
        "cudaLaunchKernel",
        "forward 1",
    ]


# What cannot be chosen ----------------------------------------------------------------------------------------


def test_a_missing_step_names_the_steps_there_are():
    marks = [mark(f"ProfilerStep#{number}", 10 * number, 10) for number in (3, 4, 5, 9)]
    made = opened(*marks, call(1, 35), kernel(1, 40, 5))
    assert fault(made, "step=7").endswith("ProfilerStep#7 is not in the trace; it has the steps 3-5, 9")
    assert fault(made, "step=4").endswith("ProfilerStep#4 holds no GPU work; steps with GPU work: 3")


def test_a_trace_without_steps_or_annotations_names_other_ways():
    made = opened(mark("fwd", 0, 10), call(1, 5), mark("idle", 20, 10), kernel(1, 10, 5))
    assert fault(made, "step=1").endswith(
        "has no ProfilerStep annotations; choose the part with --time, --node or --annotation, such as 'fwd'"
    )
    bare = opened(call(1, 5), kernel(1, 10, 5))
    assert fault(bare, "annotation=x").endswith(
        "no annotation is named 'x'; it has no annotations, so choose the part with --time or --node"
    )


def test_a_misspelt_annotation_names_those_near():
    told = fault(annotated(), "annotation=fwd 2")
    assert told.endswith("no annotation is named 'fwd 2'; near it are 'fwd 1', 'fwd [1]', 'bwd'")


def test_parts_without_gpu_work_say_where_there_is_some():
    made = opened(op("aten::mm", 0, 20), op("aten::view", 2, 1), call(1, 10), kernel(1, 30, 5), op("aten::x", 50, 1))
    assert fault(made, "node=1").endswith(
        "the subtree of event 1 holds no GPU work; the next event around it that does is 0, aten::mm"
    )
    assert fault(made, "node=4").endswith("the subtree of event 4 holds no GPU work; nor does any event around it")
    assert fault(made, "time=1us-10us").endswith(
        "the time 1us-10us holds no GPU work; GPU work starts from 0 ns to 0 ns after the window's start"
    )
    assert fault(made, "node=77").endswith("77 is no event with a time; the events lie from 0 to 4 in the file")
    assert "holds no GPU work, so no part of it" in fault(opened(op("aten::mm", 0, 5)), "node=0")


# Properties ---------------------------------------------------------------------------------------------------


@st.composite
def stepped(draw: st.DrawFn) -> tuple[Trace, EventTree, int]:
    """A trace of disjoint steps with ops and launches on two threads, in and between the steps; and how many steps."""
    count = draw(st.integers(1, 4))
    edges = sorted(draw(st.lists(st.integers(0, 400), min_size=2 * count, max_size=2 * count, unique=True)))
    events = [frame("main", 0, 500)] if draw(st.booleans()) else []
    for number, (start, end) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        events.append(mark(f"ProfilerStep#{number}", start, end - start))
    starts = draw(
        st.lists(st.tuples(st.integers(0, 90), st.sampled_from((1, 2)), st.booleans()), max_size=30, unique=True)
    )
    for number, (slot, tid, linked) in enumerate(starts, start=1):
        events.append(op("aten::op", 5 * slot, 4, tid=tid))
        events.append(call(number, 5 * slot + 1, tid=tid))
        delay = draw(st.integers(0, 100))
        events.append(kernel(number if linked else None, 5 * slot + 2 + delay, 3, stream=number))
    return *opened(*events, op("aten::last", 490, 5), call(99, 491), kernel(99, 493, 3, stream=99)), count


@settings(deadline=None)
@given(stepped())
def test_disjoint_steps_share_out_what_is_launched_in_steps(made):
    trace, tree, count = made
    found = [uid for number in range(count) for uid in kernels_of((trace, tree), f"step={number}")]
    assert sorted(found) == expected(trace, tree)
    assert sorted(found) == kernels_of((trace, tree), "steps=0-9")


def kernels_of(made: tuple[Trace, EventTree], text: str) -> list[int]:
    """The uids of a part's kernels in ascending order; none where it has no GPU work."""
    try:
        trace, _ = part(made, text)
    except UserError as error:
        if "no GPU work" in str(error):
            return []
        raise
    return sorted(trace.events["uid"].to_numpy()[np.isin(trace.events["kind"].to_numpy(), GPU_KINDS)].tolist())


def expected(trace: Trace, tree: EventTree) -> list[int]:
    """The uids of kernels whose launch, else whose own start lies in a step, one by one."""
    rows = trace.events.with_row_index("row").to_dicts()
    steps = [row for row in rows if str(trace.names[row["name"]]).startswith("ProfilerStep")]
    out = []
    for row in rows:
        if row["kind"] in GPU_KINDS:
            launch = int(tree.launch[row["row"]])
            time = rows[launch]["start_ns"] if launch >= 0 else row["start_ns"]
            if any(step["start_ns"] <= time < step["start_ns"] + step["dur_ns"] for step in steps):
                out.append(row["uid"])
    return sorted(out)


@settings(deadline=None)
@given(stepped(), st.sampled_from(["steps=0-0", "steps=0-9", "time=0us-200us", "time=100us-300us"]))
def test_the_tree_of_a_part_is_the_one_that_is_built_of_it(made, text):
    try:
        trace, tree = part(made[:2], text)
    except UserError:
        return
    again = build_tree(trace)
    for field in fields(tree):
        np.testing.assert_array_equal(getattr(tree, field.name), getattr(again, field.name), field.name)
