"""What the detail says of forward and backward ops, recomputation, modules and annotations; the key that jumps."""

from dataclasses import replace

from tests.analysis.making import PLATFORM
from tests.app import data
from tests.app.conftest import Running, screen_text
from tests.app.fakes import FakeServices
from tests.trace.making import Event, call, frame, kernel, mark, only, op, opened
from tests.trace.test_autograd import ENGINE, ENGINE_THREAD, forward, node
from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.navigation import Navigator, NoWay
from tracelens_tui.app.relations import relation_details, relations_of
from tracelens_tui.app.selection import Place, Selection
from tracelens_tui.app.view import trace_view

ADDMM_BACKWARD = ENGINE + "AddmmBackward0"
CHECKPOINT = "torch/utils/checkpoint.py"
STEP: list[Event] = [
    mark("ProfilerStep#3", 0, 300),
    frame("train.py(1): main", 1, 200),
    frame("nn.Module: Net_0", 2, 60),
    frame("nn.Module: Linear_4", 3, 50),
    forward("aten::linear", 0, 5, 30),
    forward("aten::addmm", 0, 10, 10),
    call(1, 12),
    kernel(1, 40, 9, name="gemm"),
    *node("AddmmBackward0", 0, 100, dur=80),
    forward("aten::relu", 0, 105, 5, tid=ENGINE_THREAD),
    call(2, 106, tid=ENGINE_THREAD),
    kernel(2, 200, 4, name="relu again"),
    op("aten::mm", 120, 20, tid=ENGINE_THREAD),
    call(3, 121, tid=ENGINE_THREAD),
    kernel(3, 250, 30, name="gemm backward"),
]


def analysis_of(*events: Event) -> Analysis:
    trace, tree = opened(*events)
    return analyse(trace, tree, PLATFORM, "as the test says")


def told(analysis: Analysis, name: str) -> dict[str, str]:
    found = relation_details(analysis, relations_of(analysis), only(analysis.trace, name))
    return {paragraph.label: paragraph.text for paragraph in found}


def test_a_forward_op_and_what_lies_in_it():
    analysis = analysis_of(*STEP)
    assert told(analysis, "aten::addmm") == {
        "Backward": f"{ADDMM_BACKWARD} with 34.0 µs in 2 GPU events, 4.00 µs of it recomputation; b goes there",
        "Module": "Net_0/Linear_4",
        "During": "ProfilerStep#3",
    }
    work = "34.0 µs in 2 GPU events, 4.00 µs of it recomputation"
    around = f"{ADDMM_BACKWARD} (of aten::addmm around it) with {work}; b goes there"
    assert told(analysis, "gemm")["Backward"] == around
    below = f"of what is below it: 1 op with {work}; b goes to the costliest"
    assert told(analysis, "aten::linear")["Backward"] == told(analysis, "nn.Module: Linear_4")["Backward"] == below


def test_a_backward_op_has_the_modules_of_its_forward_op():
    assert told(analysis_of(*STEP), "gemm backward") == {
        "Forward": "aten::addmm (of AddmmBackward0 around it) with 9.00 µs in 1 GPU event; b goes there",
        "Module": "Net_0/Linear_4",
        "During": "ProfilerStep#3",
    }


def test_recomputation_and_how_it_is_known():
    inferred = (
        "recomputed in the backward pass, by activation checkpointing (told from the ops: no Python frame says so)"
    )
    assert told(analysis_of(*STEP), "relu again")["Again"] == inferred
    stacked = analysis_of(*STEP, frame(f"{CHECKPOINT}(1500): recompute_fn", 103, 12, tid=ENGINE_THREAD))
    assert told(stacked, "relu again")["Again"] == "recomputed in the backward pass, by activation checkpointing"
    assert "Again" not in told(stacked, "gemm backward")
    assert "Forward" not in told(stacked, "relu again")  # it is not what AddmmBackward0 computes


def test_an_annotation_tells_its_work():
    analysis = analysis_of(*STEP, mark("empty", 290, 5))
    assert told(analysis, "ProfilerStep#3")["Launched"] == (
        "in it, by any thread: 43.0 µs in 3 GPU events (3 kernels), "
        "within 240 µs on the GPU from 40.0 µs after its start"
    )
    assert "Launched" not in told(analysis, "empty")


def test_events_without_relations_say_nothing():
    analysis = analysis_of(op("aten::mm", 0, 5), call(1, 1), kernel(1, 9, 3), kernel(None, 20, 1, name="stray"))
    assert told(analysis, "aten::mm") == told(analysis, "stray") == {}


def test_a_stack_of_3000_modules():
    count = 3_000
    modules = [frame(f"nn.Module: M_{i}", i, 3 * count - 2 * i) for i in range(count)]
    analysis = analysis_of(*modules, op("aten::mm", count, 5), call(1, count + 1), kernel(1, 20_000, 3))
    assert told(analysis, "some_kernel")["Module"] == "/".join(f"M_{i}" for i in range(count))


def test_the_jump_leads_there_and_back():
    analysis = analysis_of(*STEP)
    navigator = Navigator()
    chosen = replace(Selection(), finding="gemm-1")
    assert navigator.from_linked(0, chosen) == NoWay("no event is chosen")
    navigator.view = trace_view(analysis)
    gemm, addmm, backward = (only(analysis.trace, name) for name in ("gemm", "aten::addmm", ADDMM_BACKWARD))
    assert navigator.from_linked(gemm, chosen) == Place("tree", replace(chosen, event=backward))
    assert navigator.from_linked(backward, chosen) == Place("tree", replace(chosen, event=addmm))
    assert navigator.from_linked(-1, chosen) == NoWay("no event is chosen")  # a heading
    navigator.view = trace_view(data.make_analysis())
    assert navigator.from_linked(2, chosen) == NoWay("no forward or backward op is linked to it")


async def test_b_jumps_in_the_tree_and_backspace_returns(running: Running):
    analysis = analysis_of(*STEP)
    names = (ADDMM_BACKWARD, "aten::addmm", "gemm")
    backward, addmm, gemm = (only(analysis.trace, name) for name in names)
    async with running(FakeServices([data.DONE], analysis), (120, 40)) as (bench, pilot):
        await pilot.press("b")
        assert "3 opens the tree" in screen_text(pilot)
        await pilot.press("3")
        bench.query_one(EventTree).show_event(gemm)
        await pilot.pause(0.3)
        assert f"{ADDMM_BACKWARD} (of aten::addmm around it)" in screen_text(pilot)
        await pilot.press("b")
        assert bench.selection.event == backward
        await pilot.press("b")
        assert bench.selection.event == addmm
        await pilot.press("backspace", "backspace")
        assert (bench.active, bench.selection.event) == ("tree", gemm)
