"""The ways between findings, op rows and events, on the hand-made analysis."""

from dataclasses import replace

from tests.app import data
from tracelens_tui.app.drill import calls_of_kernel, calls_of_op, op_of_event, ops_of_finding
from tracelens_tui.app.navigation import Navigator, NoWay
from tracelens_tui.app.selection import JumpList, Place, Selection
from tracelens_tui.app.view import trace_view
from tracelens_tui.run.findings import FusedKernel

ANALYSIS = data.make_analysis()


def with_operation(**changes: object) -> data.Finding:
    return data.FINDINGS[0].model_copy(update={"operations": [data.ADDMM.model_copy(update=changes)]})


def test_operations_are_found_by_row_and_name():
    assert ops_of_finding(ANALYSIS, data.FINDINGS[0]) == [0]


def test_a_row_of_another_reading_is_found_by_name_and_count():
    assert ops_of_finding(ANALYSIS, with_operation(row=7)) == [0]
    assert ops_of_finding(ANALYSIS, with_operation(row=1)) == [0]  # row 1 is relu here
    assert ops_of_finding(ANALYSIS, with_operation(row=7, count=3)) == []


def test_calls_by_cost():
    assert calls_of_op(ANALYSIS, 0) == [8, 2]
    assert calls_of_kernel(ANALYSIS, ANALYSIS.kernels.row(0, named=True)) == [10, 4]
    assert calls_of_kernel(ANALYSIS, ANALYSIS.kernels.row(1, named=True)) == [13]  # under no op


def test_an_event_belongs_to_the_op_around_it():
    assert [op_of_event(ANALYSIS, event) for event in (4, 3, 2, 7, 1, 13)] == [0, 0, 0, 1, None, None]


def test_other_uses_go_around_and_follow_the_event():
    navigator = Navigator()
    navigator.view = trace_view(ANALYSIS)
    step = navigator.other_use("tree", Selection(event=4), 1)  # the kernel of call 2; costlier is 8
    assert step == (Place("tree", Selection(event=8)), "call, by cost, 1 of 2")
    assert navigator.other_use("tree", Selection(event=9), 1) == (
        Place("tree", Selection(event=2)),
        "call, by cost, 2 of 2",
    )
    assert navigator.other_use("tree", Selection(event=7), 1) == (
        Place("tree", Selection(event=5)),
        "call, by cost, 1 of 1",
    )


def test_no_way_without_a_trace():
    assert Navigator().from_finding(data.FINDINGS[0], Selection()) == NoWay("the trace is not open")


def test_a_finding_without_operations_leads_to_the_time_split():
    navigator = Navigator()
    navigator.view = trace_view(ANALYSIS)
    assert navigator.from_finding(data.FINDINGS[1], Selection()) == Place("time", Selection())


def test_jump_list_is_a_stack_without_repetitions_and_with_a_limit():
    jumps = JumpList(limit=2)
    places = [Place("findings", replace(Selection(), op=number)) for number in range(3)]
    for place in (places[0], places[1], places[1], places[2]):
        jumps.leave(place)
    assert [jumps.back(), jumps.back(), jumps.back()] == [places[2], places[1], None]


def test_a_fusion_finding_leads_to_the_rows_of_its_kernels():
    analysis = data.make_analysis()
    kernels = [
        FusedKernel(name=name, type="GEMM", duration_us=1.0, modelled=True)
        for name in (data.HOSTILE_SHOWN, data.GEMM, data.GEMM, "unknown")
    ]
    finding = data.finding(1, "T", "fusion", "kernel_fusion", 1.0, kernels=kernels)
    assert ops_of_finding(analysis, finding) == [1, 0]
