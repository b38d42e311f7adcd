"""What activation checkpointing recomputes, told by Python frames and by ops."""

import csv
import gzip
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.trace.making import Event, call, finished, frame, kernel, names, op, opened
from tests.trace.test_autograd import ENGINE, ENGINE_THREAD, forward, node
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.recompute import Recompute, recomputed
from tracelens_tui.trace.types import Kind, Trace

CHECKPOINT = "torch/utils/checkpoint.py"


def on_engine(*events: Event) -> list[Event]:
    return [event | {"tid": ENGINE_THREAD} for event in events]


def marked(trace: Trace, mask: np.ndarray) -> list[str]:
    return names(trace, np.flatnonzero(mask))


def found(*events: Event) -> tuple[Trace, Recompute]:
    trace, tree = opened(*events)
    return trace, recomputed(trace, tree)


def segment(*frames: Event) -> list[Event]:
    """A node that recomputes an op of 30 µs on the GPU before its own of 7 µs, and one that does not recompute."""
    return [
        forward("aten::mm", 4, 0),
        call(1, 1),
        kernel(1, 20, 30, name="first time"),
        *node("MmBackward0", 4, 100, dur=90),
        *frames,
        forward("aten::mm", 0, 120, 10, tid=ENGINE_THREAD),
        call(2, 121, tid=ENGINE_THREAD),
        op("aten::mm_backward", 150, 10, tid=ENGINE_THREAD),
        call(3, 151, tid=ENGINE_THREAD),
        kernel(2, 200, 30, name="second time"),
        kernel(3, 240, 7, name="gradient"),
        *node("TBackward0", 3, 300),
        op("aten::t", 301, 1, tid=ENGINE_THREAD),
    ]


def test_frames_tell_what_is_recomputed():
    hook = frame(f"{CHECKPOINT}(1111): unpack_hook", 110, 30, tid=ENGINE_THREAD)
    again = frame(f"{CHECKPOINT}(1500): recompute_fn", 115, 20, tid=ENGINE_THREAD)
    trace, recompute = found(*segment(hook, again))
    assert (recompute.gpu_ns, recompute.inferred_ns) == (30_000, 0)
    # the hook stands between the node and the frame: what the ops tell begins with the node
    assert marked(trace, recompute.events & ~recompute.inferred) == [
        f"{CHECKPOINT}(1500): recompute_fn", "aten::mm", "cudaLaunchKernel", "second time",
    ]  # fmt: skip
    assert marked(trace, recompute.inferred) == [f"{CHECKPOINT}(1111): unpack_hook"]


def test_ops_tell_it_where_no_python_stack_was_recorded():
    trace, recompute = found(*segment())
    assert (recompute.gpu_ns, recompute.inferred_ns) == (30_000, 30_000)
    assert marked(trace, recompute.events) == ["aten::mm", "cudaLaunchKernel", "second time"]
    assert np.array_equal(recompute.events, recompute.inferred)


def test_work_that_no_op_holds_is_recomputed_too_up_to_the_last_forward_op():
    events = [
        *segment(),
        call(5, 110, tid=ENGINE_THREAD),  # a launch of Triton's, for example, before the op
        kernel(5, 250, 2, name="second time, no op"),
        call(6, 140, tid=ENGINE_THREAD),
        kernel(6, 260, 3, name="gradient, no op"),
    ]
    assert found(*events)[1].gpu_ns == 32_000


@pytest.mark.parametrize("function", ["checkpoint", "pack_hook", "unpack_hook", "my_recompute_fn", "recompute_fn_2"])
def test_other_functions_of_the_module_do_not_recompute(function: str):
    events = [
        frame(f"{CHECKPOINT}(343): {function}", 0, 90),
        op("aten::mm", 5, 10),
        call(1, 6),
        kernel(1, 20, 30),
    ]
    assert found(*events)[1].gpu_ns == 0


@pytest.mark.parametrize(
    ("name", "gpu_ns"),
    [
        ("/usr/lib/python3.12/site-packages/torch/utils/checkpoint.py(9): recompute_fn", 30_000),
        ("torch/utils/checkpoint.py(9): unpack", 30_000),  # before torch 2.0
        ("mytorch/utils/checkpoint.py(9): recompute_fn", 0),
        ("torch/utils/checkpoint_py(9): recompute_fn", 0),
    ],
)
def test_the_file_of_the_frame_counts(name: str, gpu_ns: int):
    """Frames alone tell it, even where no backward op was recorded."""
    assert found(frame(name, 0, 90), op("aten::mm", 5, 10), call(1, 6), kernel(1, 20, 30))[1].gpu_ns == gpu_ns


def reentrant(*frames: Event) -> list[Event]:
    """The node recomputes 30 µs, then runs the backward pass of that inside: 7 µs, which are no recomputation."""
    return [
        forward("CheckpointFunction", 9, 0),
        *node("CheckpointFunctionBackward", 9, 100, dur=200),
        *frames,
        forward("aten::mm", 0, 120, 10, tid=ENGINE_THREAD),
        call(2, 121, tid=ENGINE_THREAD),
        kernel(2, 400, 30),
        *node("MmBackward0", 0, 200, maker=2, dur=50),
        op("aten::mm_backward", 210, 10, tid=ENGINE_THREAD),
        call(3, 211, tid=ENGINE_THREAD),
        kernel(3, 440, 7),
    ]


def test_the_reentrant_form_runs_a_backward_pass_inside():
    frames = [
        frame(f"{CHECKPOINT}(300): backward", 105, 190, tid=ENGINE_THREAD),
        frame("model.py(7): block", 110, 30, tid=ENGINE_THREAD),
        frame("torch/autograd/__init__.py(200): backward", 190, 90, tid=ENGINE_THREAD),
    ]
    trace, recompute = found(*reentrant(*frames))
    assert (recompute.gpu_ns, recompute.inferred_ns) == (30_000, 0)
    assert "model.py(7): block" in marked(trace, recompute.events)
    assert ENGINE + "MmBackward0" not in marked(trace, recompute.events)


def test_the_reentrant_form_is_known_by_its_node():
    trace, recompute = found(*reentrant())
    assert (recompute.gpu_ns, recompute.inferred_ns) == (30_000, 30_000)
    assert marked(trace, recompute.events) == ["aten::mm", "cudaLaunchKernel", "some_kernel"]


def test_checkpoints_inside_checkpoints():
    """Within the backward pass inside, another node recomputes again."""
    inner = [
        *node("CheckpointFunctionBackward", 1, 212, maker=2, dur=30),
        frame(f"{CHECKPOINT}(300): backward", 215, 20, tid=ENGINE_THREAD),
        op("aten::relu", 218, 5, tid=ENGINE_THREAD),
        call(4, 219, tid=ENGINE_THREAD),
        kernel(4, 500, 11),
    ]
    outer = [event for event in reentrant() if event.get("args", {}).get("correlation") != 3]
    outer = [event for event in outer if event["name"] != "aten::mm_backward"]
    frames = frame(f"{CHECKPOINT}(300): backward", 105, 190, tid=ENGINE_THREAD)
    assert found(*outer, frames, *inner)[1].gpu_ns == 41_000


def test_gradients_of_gradients_are_no_recomputation():
    """With ``create_graph`` all ops of the nodes have numbers."""
    events = [
        forward("aten::mm", 4, 0),
        *node("MmBackward0", 4, 100, dur=50),
        op("aten::empty", 105, 1, tid=ENGINE_THREAD),  # makes no node, whatever the mode
        forward("aten::mm", 5, 110, 10, tid=ENGINE_THREAD),
        call(2, 111, tid=ENGINE_THREAD),
        kernel(2, 200, 30),
    ]
    assert found(*events)[1].gpu_ns == 0


def test_nothing_is_inferred_where_most_nodes_work_with_gradients_on():
    """Two nodes whose ops all have numbers, one whose last op happens to have none."""
    events = [*segment()]
    for i in range(3):
        at = 400 + 100 * i
        events += [*node("MulBackward0", 10 + i, at, dur=50), forward("aten::mul", i, at + 10, tid=ENGINE_THREAD)]
    assert found(*events)[1].gpu_ns == 0


def test_a_trace_without_backward_ops():
    trace, recompute = found(op("aten::mm", 0, 5), call(1, 1), kernel(1, 9, 3))
    assert (recompute.events.any(), recompute.gpu_ns, recompute.inferred_ns) == (False, 0, 0)
    assert len(recompute.events) == len(trace)
    assert recomputed(*opened()).events.tolist() == []


# ------------------------------------------------------------------------------------------------ real traces


def checkpointed(shared: Path) -> Trace:
    return finished(load_trace(shared / "traces/mi300_resnet_ckpt.json.gz"))[0]


def test_a_real_checkpointed_model(shared: Path):
    """Frames, and ops alone, agree on 615 GPU events; the reference table knows some of them by their ancestors."""
    trace = checkpointed(shared)
    recompute = recomputed(trace, build_tree(trace))
    gpu = trace.events["kind"].is_in([Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET]).to_numpy() & recompute.events
    assert (int(gpu.sum()), recompute.gpu_ns, recompute.inferred_ns) == (615, 4_209_958, 0)
    starts = set(trace.events["start_ns"].to_numpy()[gpu].tolist())
    with gzip.open(shared / "oracle/mi300_resnet_ckpt/kernel_ancestry.csv.gz", "rt") as file:
        csv.field_size_limit(1 << 30)
        rows = [row for row in csv.DictReader(file) if ": recompute_fn" in row["ancestors_nearest_first"]]
    assert len(rows) == 24
    assert {round(1000 * Decimal(row["ts"])) for row in rows} <= starts


@pytest.mark.parametrize("how", ["frames renamed", "no Python events"])
def test_the_ops_of_a_real_trace_tell_the_same(shared: Path, how: str):
    trace = checkpointed(shared)
    if how == "frames renamed":
        trace = replace(trace, names=trace.names.str.replace("checkpoint.py", "other.py", literal=True))
    else:
        events = trace.events.filter(pl.col("kind") != int(Kind.PYTHON_FUNCTION))
        trace = replace(trace, events=events, repairs=trace.repairs.clear())
    recompute = recomputed(trace, build_tree(trace))
    assert (recompute.gpu_ns, recompute.inferred_ns) == (4_209_958, 4_209_958)


@pytest.mark.parametrize(
    "name",
    ["hta_nccl", "normalization_layers", "hta_mi250_toy", "hta_diff_control", "hta_diff_test", "hta_sampled_rank0"],
)
def test_other_training_traces_recompute_nothing(shared: Path, name: str):
    trace, tree = finished(load_trace(shared / "traces" / f"{name}.json.gz"))
    assert not recomputed(trace, tree).events.any()
