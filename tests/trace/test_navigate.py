"""Ways through the tree, and the steps of a loop."""

import numpy as np

from tests.trace.making import call, event, frame, kernel, mark, names, only, op, opened
from tracelens_tui.trace.navigate import (
    annotation_chain,
    call_stack,
    gpu_events,
    host_path,
    hot_path,
    innermost_at,
    kind_of,
    module_chain,
    name_of,
    roots,
)
from tracelens_tui.trace.steps import annotations, steps
from tracelens_tui.trace.types import Kind

MODEL = [
    mark("ProfilerStep#7", 0, 200),
    frame("train.py(3): main", 1, 150),
    frame("nn.Module: Net_0", 2, 100),
    frame("torch/nn/modules/module.py(1779): _call_impl", 3, 90),
    frame("nn.Module: Linear_3", 5, 30),
    op("aten::linear", 6, 20),
    call(1, 8, 2),
    op("aten::relu", 50, 20),
    call(2, 52, 2),
    call(3, 60, 2),
    kernel(1, 100, 30, name="gemm"),
    kernel(2, 140, 20, name="relu"),
    kernel(3, 170, 20, name="relu tail"),
]


def test_what_surrounds_a_kernel():
    trace, tree = opened(*MODEL)
    gemm = only(trace, "gemm")
    assert module_chain(trace, tree, gemm) == ["Net_0", "Linear_3"]
    assert call_stack(trace, tree, gemm) == ["train.py(3): main", "torch/nn/modules/module.py(1779): _call_impl"]
    assert annotation_chain(trace, tree, gemm) == ["ProfilerStep#7"]
    assert names(trace, host_path(trace, tree, gemm, (Kind.CPU_OP, Kind.RUNTIME))) == [
        "aten::linear",
        "cudaLaunchKernel",
    ]
    assert (name_of(trace, gemm), kind_of(trace, gemm)) == ("gemm", Kind.KERNEL)


def test_what_an_event_caused():
    trace, tree = opened(*MODEL, kernel(None, 300, 5, name="orphan"))
    assert names(trace, gpu_events(tree, only(trace, "aten::relu"))) == ["relu", "relu tail"]
    assert names(trace, gpu_events(tree, only(trace, "gemm"))) == ["gemm"]
    assert gpu_events(tree, only(trace, "nn.Module: Linear_3")).tolist() == [only(trace, "gemm")]
    assert names(trace, roots(tree)) == ["ProfilerStep#7", "orphan"]


def test_the_hot_path_follows_the_most_gpu_time():
    trace, tree = opened(*MODEL)
    path = names(trace, hot_path(tree, only(trace, "nn.Module: Net_0")))
    assert path[:3] == ["nn.Module: Net_0", "torch/nn/modules/module.py(1779): _call_impl", "aten::relu"]
    assert path[3:] == ["cudaLaunchKernel", "relu"]
    cold, tree = opened(op("aten::view", 0, 9), op("aten::as_strided", 1, 2))
    assert hot_path(tree, only(cold, "aten::view")) == [only(cold, "aten::view")]


def test_the_innermost_host_event_at_a_time():
    trace, tree = opened(op("a", 0, 100), op("b", 10, 20), op("c", 12, 3), op("other", 0, 50, tid=2), kernel(1, 11, 90))
    main, other = (trace.events["thread"][only(trace, name)] for name in ("a", "other"))
    asked = [(main, 13), (main, 16), (main, 40), (main, 100), (other, 49), (other, 50), (-1, 13), (main, -5)]
    thread, time = (np.array(column, np.int64) for column in zip(*asked, strict=True))
    found = innermost_at(trace, tree, thread, time * 1000)
    assert [names(trace, [e])[0] if e >= 0 else None for e in found.tolist()] == [
        "c", "b", "a", None, "other", None, None, None,
    ]  # fmt: skip


def test_steps_are_the_marks_of_the_host_by_start():
    trace, _ = opened(
        mark("ProfilerStep#11", 100, 50),
        mark("ProfilerStep#10", 0, 100),
        mark("ProfilerStep#x", 0, 9),
        mark("my ProfilerStep#1", 0, 9),
        event("gpu_user_annotation", "ProfilerStep#10", 20, 100, 0, 7),
    )
    assert steps(trace).rows() == [(1, "ProfilerStep#10", 0, 100_000), (0, "ProfilerStep#11", 100_000, 150_000)]
    assert annotations(trace, "^ProfilerStep", Kind.GPU_ANNOTATION)["start_ns"].to_list() == [20_000]
    assert steps(opened(op("a", 0, 1))[0]).height == 0
