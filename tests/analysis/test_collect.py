"""The selection of calls on hand-made trees; the modelled ops are named by the test."""

from tests.analysis.making import Event, kernel, launch, op, opened, python
from tracelens_tui.analysis.collect import select_calls

ALLREDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def selected(events: list[Event], *modelled: str) -> dict[str, list[str]]:
    """The names of the calls ("*" before a synthetic one) with the kernels that each owns; "-" has the others."""
    trace, tree = opened(events)
    selection = select_calls(trace, tree, lambda name: name in modelled)
    names = [trace.names[int(code)] for code in trace.events["name"]]
    out: dict[str, list[str]] = {}
    for event, call in zip(selection.gpu, selection.gpu_call, strict=True):
        owner = "-" if call < 0 else "*" * bool(selection.synthetic[call]) + names[selection.calls[call]]
        out.setdefault(owner, []).append(names[event])
    assert len(set(selection.calls.tolist())) == len(selection.calls)
    return out


def test_the_topmost_modelled_op_owns_what_lies_below_it() -> None:
    events = [
        op("sdpa", 0, 100),
        op("_flash", 1, 90),
        op("_flash_forward", 2, 80),
        op("fill_", 3, 5),
        launch(1, 4),
        launch(2, 20),
        kernel("fill", 200, 3, 1),
        kernel("attn_fwd", 210, 30, 2),
    ]
    assert selected(events, "_flash", "_flash_forward") == {"_flash": ["fill", "attn_fwd"]}


def test_an_op_that_launches_is_a_call_where_none_below_it_is_modelled() -> None:
    events = [
        op("cat", 0, 20),
        op("narrow", 1, 5),
        launch(1, 2),
        launch(2, 10),
        kernel("a", 50, 1, 1),
        kernel("b", 60, 1, 2),
    ]
    assert selected(events) == {"cat": ["a", "b"]}


def test_clearing_the_output_is_no_reason_to_look_into_an_op() -> None:
    events = [
        op("max_pool_backward", 0, 50),
        op("aten::zero_", 1, 10),
        op("aten::fill_", 2, 8),
        launch(1, 3),
        launch(2, 20),
        kernel("fill", 60, 4, 1),
        kernel("max_pool", 70, 4, 2),
    ]
    assert selected(events, "aten::fill_", "aten::zero_") == {"max_pool_backward": ["fill", "max_pool"]}


def test_an_op_that_only_holds_others_is_looked_into() -> None:
    events = [op("linear", 0, 50), op("t", 1, 2), op("addmm", 10, 20), launch(1, 12), kernel("gemm", 60, 5, 1)]
    assert selected(events) == {"addmm": ["gemm"]}


def test_what_an_op_launches_beside_a_modelled_child_becomes_synthetic() -> None:
    events = [
        op("mse_loss", 0, 50),
        launch(1, 2),
        op("mean", 10, 10),
        launch(2, 12),
        kernel("mse", 60, 4, 1),
        kernel("reduce", 70, 4, 2),
    ]
    assert selected(events, "mean") == {"*mse": ["mse"], "mean": ["reduce"]}


def test_a_launch_under_no_op_becomes_synthetic() -> None:
    events = [python("train.py(3): step", 0, 50), launch(1, 2), kernel("custom", 60, 4, 1)]
    assert selected(events) == {"*custom": ["custom"]}


def test_python_frames_between_an_op_and_its_launch_change_nothing() -> None:
    events = [op("CompiledFunction", 0, 50), python("call", 1, 40), launch(1, 2), kernel("k", 60, 4, 1)]
    assert selected(events) == {"CompiledFunction": ["k"]}


def test_driver_launches_count_like_runtime_ones() -> None:
    events = [
        op("triton_poi", 0, 50),
        launch(1, 2, name="cuLaunchKernel", cat="cuda_driver"),
        kernel("triton_", 60, 4, 1),
    ]
    assert selected(events) == {"triton_poi": ["triton_"]}


def test_collectives_and_unlinked_events_belong_to_no_call() -> None:
    events = [op("record_param_comms", 0, 50), launch(1, 2), kernel(ALLREDUCE, 60, 4, 1), kernel("orphan", 70, 4, 99)]
    assert selected(events) == {"-": [ALLREDUCE, "orphan"]}


def test_an_op_that_holds_a_collective_is_no_leaf() -> None:
    events = [
        op("all_gather", 0, 50),
        launch(1, 2),
        launch(3, 5),
        op("copy_", 10, 10),
        launch(2, 12),
        kernel("pack", 50, 4, 3),
        kernel(ALLREDUCE, 60, 4, 1),
        kernel("copy", 70, 4, 2),
    ]
    assert selected(events) == {"-": [ALLREDUCE], "copy_": ["copy"], "*pack": ["pack"]}


def test_calls_on_several_threads_stay_apart() -> None:
    events = [
        op("mm", 0, 50, tid=1),
        op("mm", 0, 50, tid=2),
        launch(1, 2, tid=1),
        launch(2, 2, tid=2),
        kernel("a", 60, 4, 1),
        kernel("b", 70, 4, 2),
    ]
    trace, tree = opened(events)
    selection = select_calls(trace, tree, lambda name: name == "mm")
    assert sorted(selection.gpu_call.tolist()) == [0, 1]


def test_a_trace_without_events_selects_nothing() -> None:
    assert selected([]) == {}


def test_deep_nesting_of_calls_is_fast_and_right() -> None:
    depth = 3_000
    events = [op(f"op{i}", i, 2 * depth - 2 * i) for i in range(depth)]
    events += [launch(1, depth), kernel("k", 10_000, 1, 1)]
    assert selected(events) == {f"op{depth - 1}": ["k"]}
