"""Links between forward and backward ops, on hand-made traces and on every real one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trace.making import Event, finished, ids, kernel, op, opened
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace import autograd
from tracelens_tui.trace.autograd import AutogradLinks, autograd_links
from tracelens_tui.trace.backward_ops import MadeBy, backward_ops
from tracelens_tui.trace.processes import processes
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

ENGINE = "autograd::engine::evaluate_function: "
MAIN, ENGINE_THREAD = 1, 2


def forward(name: str, number: int | None, ts: float, dur: float = 2, **place: Any) -> Event:
    """An op that runs while gradients are recorded: torch writes thread id 0 for it."""
    args = {} if number is None else {"Sequence number": number, "Fwd thread id": 0}
    return op(name, ts, dur, **{"tid": MAIN, **place}, **args)


def node(
    name: str, number: int | None, ts: float, *, maker: int | None = 1, dur: float = 4, **place: Any
) -> list[Event]:
    """A node and the engine's op around it; ``maker`` is the ordinal of the thread that made it."""
    place = {"tid": ENGINE_THREAD, **place}
    args = {} if number is None else {"Sequence number": number}
    args |= {} if maker is None else {"Fwd thread id": maker}
    return [op(ENGINE + name, ts, dur, **place, **args), op(name, ts + 1, dur - 2, **place, **args)]


def arrow(number: int, start: float, end: float, *, pid: int = 1) -> list[Event]:
    """From the forward op that starts at one time to the node that starts at the other."""
    base = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": pid}
    return [
        base | {"ph": "s", "tid": MAIN, "ts": start},
        base | {"ph": "f", "tid": ENGINE_THREAD, "ts": end, "bp": "e"},
    ]


def linked(trace: Trace, links: AutogradLinks) -> dict[str, float]:
    """Name of each node with a forward op -> start of the forward op in µs; the op of the engine must agree."""
    start = trace.events["start_ns"].to_list()
    names = [trace.names[code] for code in trace.events["name"].to_list()]
    found = {names[e]: start[links.forward[e]] / 1000 for e in range(len(trace)) if links.forward[e] >= 0}
    around = {name.removeprefix(ENGINE): time for name, time in found.items() if name.startswith(ENGINE)}
    inside = {name: time for name, time in found.items() if not name.startswith(ENGINE)}
    assert around == inside
    return inside


def links_of(*events: Event) -> dict[str, float]:
    trace, tree = opened(*events)
    return linked(trace, autograd_links(trace, tree))


LINEAR = [
    forward("aten::to", 6, 0),  # has the number of the node that comes next, but makes none
    forward("aten::linear", 6, 10, 20),
    forward("aten::t", 6, 11),
    forward("aten::addmm", 7, 15, 10),
    op("aten::as_strided", 16, 1),  # below autograd: no number
    forward("aten::relu", 8, 40),
    *node("ReluBackward0", 8, 100),
    *node("AddmmBackward0", 7, 110, dur=20),
    op("aten::mm", 112, 5, tid=ENGINE_THREAD),
    *node("TBackward0", 6, 140),
    op(ENGINE + "torch::autograd::AccumulateGrad", 150, 5, tid=ENGINE_THREAD),
    op("torch::autograd::AccumulateGrad", 151, 3, tid=ENGINE_THREAD),
]


def test_the_last_op_with_the_number_made_the_node():
    trace, tree = opened(*LINEAR)
    links = autograd_links(trace, tree)
    assert linked(trace, links) == {"ReluBackward0": 40, "AddmmBackward0": 15, "TBackward0": 11}
    names = [trace.names[code] for code in trace.events["name"].to_list()]
    back = {names[e]: names[links.backward[e]] for e in range(len(trace)) if links.backward[e] >= 0}
    assert back == {
        "aten::t": ENGINE + "TBackward0",
        "aten::addmm": ENGINE + "AddmmBackward0",
        "aten::relu": ENGINE + "ReluBackward0",
    }
    assert links.pairs == 3


def test_nodes_are_the_engines_ops_and_what_they_are_named_after():
    trace, tree = opened(*LINEAR)
    found = backward_ops(trace, tree)
    names = np.array([trace.names[code] for code in trace.events["name"].to_list()])
    node_names = ["ReluBackward0", "AddmmBackward0", "TBackward0", "torch::autograd::AccumulateGrad"]
    assert names[found.node].tolist() == node_names
    assert names[found.engine].tolist() == [ENGINE + name for name in node_names]


def test_an_inner_op_with_the_bounds_of_the_outer_one_made_the_node():
    """Old profilers count in whole µs: the composite op and the op inside start and end together."""
    assert links_of(forward("aten::linear", 6, 10, 2), forward("aten::t", 6, 10, 2), *node("TBackward0", 6, 50)) == {
        "TBackward0": 10
    }
    trace, tree = opened(forward("aten::matmul", 3, 10, 2), forward("aten::mm", 3, 10, 2), *node("MmBackward0", 3, 50))
    links = autograd_links(trace, tree)
    assert links.forward[ids(trace, "MmBackward0")].tolist() == ids(trace, "aten::mm")


@pytest.mark.parametrize(
    ("made_by", "node_name"),
    [
        ("aten::zero_", "torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>"),
        ("aten::to", "torch::jit::(anonymous namespace)::DifferentiableGraphBackward"),
        ("aten::addmm", "NativeLayerNormBackward0"),
        ("All2All_Pooled_Req", "NativeLayerNormBackward0"),
    ],
)
def test_an_op_that_cannot_have_made_the_node_is_not_its_forward(made_by: str, node_name: str):
    """Seen in real traces: the op before a function of C++ or TorchScript has the number, and did not make the node."""
    other = [forward("aten::mm", 4, 0), *node("MmBackward0", 4, 90)]  # so that the thread is known
    assert links_of(*other, forward(made_by, 5, 10), *node(node_name, 5, 50)) == {"MmBackward0": 0}


@pytest.mark.parametrize(
    ("made_by", "node_name"),
    [
        ("aten::mm", "MmBackward0"),
        ("aten::relu_", "ReluBackward0"),
        ("aten::_log_softmax", "LogSoftmaxBackward0"),
        ("aten::nll_loss_forward", "NllLossBackward0"),
        ("aten::upsample_nearest2d", "UpsampleNearest2DBackward0"),
        ("aten::copy_", "torch::autograd::CopyBackwards"),
        ("aten::_scaled_dot_product_flash_attention", "ScaledDotProductFlashAttentionBackward0"),
        ("npu::npu_rms_norm", "NpuRmsNormBackward0"),
        ("CheckpointFunction", "CheckpointFunctionBackward"),
        ("FlashAttnFunc", "FlashAttnFuncBackward"),
        ("torchvision::roi_align", "torch::autograd::CppNode<vision::ops::ROIAlignFunction>"),
        ("vllm::my_op", "GeneratedBackwardFor_vllm_my_op_defaultBackward"),
    ],
)
def test_names_of_nodes_after_the_ops_that_make_them(made_by: str, node_name: str):
    names = pl.Series([made_by, node_name, ENGINE + node_name])
    made = MadeBy.of(names, np.arange(3))
    assert made(np.array([0, 0]), np.array([1, 2])).tolist() == [True, True]
    assert links_of(forward(made_by, 5, 10), *node(node_name, 5, 50)) == {node_name: 10}


def test_a_backward_op_without_its_forward_in_the_file_stays_alone():
    assert links_of(*node("MmBackward0", 5, 50)) == {}
    assert links_of(forward("aten::mm", 4, 0), *node("MmBackward0", 5, 50)) == {}


def test_a_forward_op_is_never_later_than_its_backward():
    """Numbers come again where two runs are put into one file: each pass finds its own, none the one after it."""
    assert links_of(*node("MmBackward0", 5, 50), forward("aten::mm", 5, 100)) == {}
    again = [*node("MmBackward0", 5, 50), forward("aten::mm", 5, 100), *node("MmBackward0", 5, 150)]
    assert links_of(*again) == {"MmBackward0": 100}
    trace, tree = opened(forward("aten::mm", 5, 10), *again)
    links = autograd_links(trace, tree)
    starts = trace.events["start_ns"].to_numpy()
    assert (starts[links.forward[ids(trace, "MmBackward0")]] // 1000).tolist() == [10, 100]
    assert links.pairs == 2


def test_a_node_that_runs_twice_has_one_forward_and_the_forward_its_first_run():
    trace, tree = opened(
        forward("aten::mm", 5, 10), *node("MmBackward0", 5, 50), *node("MmBackward0", 5, 70), kernel(None, 80, 1)
    )
    links = autograd_links(trace, tree)
    assert links.forward[ids(trace, "MmBackward0")].tolist() == ids(trace, "aten::mm") * 2
    assert trace.events["start_ns"][int(links.backward[ids(trace, "aten::mm")[0]])] == 50_000
    assert links.pairs == 1


def test_each_thread_counts_for_itself():
    """The engine's thread makes nodes too, in gradients of gradients; its ordinal is another one."""
    events = [
        forward("aten::mul", 0, 0),
        forward("aten::mm", 1, 10),
        *node("MmBackward0", 1, 50, dur=20),
        forward("aten::sin", 0, 52, tid=ENGINE_THREAD),
        forward("aten::cos", 1, 55, tid=ENGINE_THREAD),
        *node("MulBackward0", 0, 80),
        *node("CosBackward0", 1, 90, maker=2),
        *node("SinBackward0", 0, 95, maker=2),
    ]
    assert links_of(*events) == {"MmBackward0": 10, "MulBackward0": 0, "CosBackward0": 55, "SinBackward0": 52}


def test_numbers_that_are_the_same_by_chance_link_nothing():
    """The window begins in a backward pass; recomputation on the engine's thread has some of its numbers."""
    names = ["mm", "relu", "mul", "add", "mm"]
    again = [forward(f"aten::{name}", i, 10 * i, tid=ENGINE_THREAD) for i, name in enumerate(names)]
    events = [*again, *(e for i in range(5) for e in node("MmBackward0", i, 100 + 10 * i))]
    assert links_of(*events) == {}


def replicas(*, flows: bool, count: int = 3) -> list[Event]:
    """Two threads that run the same model with the same numbers, as DataParallel does."""
    events: list[Event] = []
    for replica, tid in enumerate((11, 12)):
        for i in range(count):
            events += [forward(f"aten::op{i}", i, 10 * i + replica, tid=tid)]
            events += node(f"Op{i}Backward0", i, 100 + 10 * i, maker=replica + 1, tid=tid + 10)
            if flows:
                ends = arrow(replica * 10 + i, 10 * i + replica, 100 + 10 * i + 1)
                events += [ends[0] | {"tid": tid}, ends[1] | {"tid": tid + 10}]
    return events


def test_threads_that_fit_equally_well_are_left_to_the_arrows():
    trace, tree = opened(*replicas(flows=False))
    assert autograd_links(trace, tree).pairs == 0
    trace, tree = opened(*replicas(flows=True))
    links = autograd_links(trace, tree)
    start = trace.events["start_ns"].to_numpy() // 1000
    for i in range(3):
        assert start[links.forward[ids(trace, f"Op{i}Backward0")]].tolist() == [10 * i, 10 * i + 1]
    assert links.pairs == 6


def test_a_lost_op_does_not_tell_replicas_apart():
    events = [e for e in replicas(flows=False, count=12) if (e["tid"], e["name"]) != (12, "aten::op5")]
    assert links_of(*events) == {}
    assert links_of(*(e for e in events if e["tid"] != 21)) == {}  # the nodes of the second one alone


def test_two_ordinals_do_not_share_a_thread():
    """Of two replicas one was recorded: it fits both, whatever nodes one has lost, and nothing tells whose it is."""
    events = [e for e in replicas(flows=False) if e["tid"] != 12]
    assert links_of(*events) == {}
    assert links_of(*(e for e in events if (e["tid"], e["ts"] >= 120) != (22, True))) == {}


def test_a_few_names_that_agree_by_chance_do_not_take_a_thread_away():
    events = [e for i in range(6) for e in (forward("aten::mm", i, 10 * i), *node("MmBackward0", i, 100 + 10 * i))]
    stray = node("MmBackward0", 2, 300, maker=9)  # made by a thread that the window does not show
    trace, tree = opened(*events, *stray)
    assert autograd_links(trace, tree).forward[ids(trace, "MmBackward0")].tolist() == [*ids(trace, "aten::mm"), -1]


def test_merged_ranks_link_within_their_process():
    events = [
        forward("aten::mm", 5, 10, pid=1),
        forward("aten::mm", 5, 11, pid=2),
        *node("MmBackward0", 5, 50, pid=1),
        *node("MmBackward0", 5, 50, pid=2),
        *node("MmBackward0", 5, 60, pid=3),
    ]
    trace, tree = opened(*events)
    links = autograd_links(trace, tree)
    starts = trace.events["start_ns"].to_list()
    assert [starts[f] if (f := links.forward[e]) >= 0 else None for e in ids(trace, "MmBackward0")] == [
        10_000, 11_000, None,
    ]  # fmt: skip


def test_ops_of_the_engine_are_known_by_name_where_no_ordinal_is_recorded():
    events = [forward("aten::mm", 5, 10), *node("MmBackward0", 5, 50, maker=None)]
    assert links_of(*events) == {"MmBackward0": 10}
    both = [*events, forward("aten::mm", 5, 12, tid=7)]  # two threads fit
    assert links_of(*both) == {}


@pytest.mark.parametrize("end", [50, 51], ids=["at the engine's op", "at the node"])
def test_arrows_link_where_no_number_is_recorded(end: float):
    events = [
        forward("aten::mm", None, 10),
        forward("aten::mm", None, 20),
        *node("MmBackward0", None, 50, maker=None),
        *arrow(1, 20, end),
    ]
    assert links_of(*events) == {"MmBackward0": 20}


def test_arrows_that_tell_nothing():
    ops = [forward("aten::mm", None, 10), *node("MmBackward0", None, 50, maker=None)]
    assert links_of(*ops, *arrow(1, 5, 51)) == {}  # no op at the tail
    assert links_of(*ops, *arrow(1, 10, 70)) == {}  # none at the head
    assert links_of(*ops, *arrow(1, 10, 51), *arrow(1, 10, 51)) == {}  # a number used twice
    assert links_of(*ops, arrow(1, 10, 51)[0], arrow(2, 10, 51)[1]) == {}
    elsewhere = node("MmBackward0", None, 50, maker=None, pid=2)
    assert links_of(ops[0], *elsewhere, arrow(1, 10, 51)[0], arrow(1, 10, 51, pid=2)[1]) == {}
    late = [*node("MmBackward0", None, 50, maker=None), forward("aten::mm", None, 70)]
    assert links_of(*late, *arrow(1, 70, 51)) == {}
    other = [forward("aten::to", None, 10), *node("MmBackward0", None, 50, maker=None)]
    assert links_of(*other, *arrow(1, 10, 51)) == {}  # what cannot have made the node


def test_numbers_that_do_not_fit_32_bits():
    big = 2**62
    assert links_of(forward("aten::mm", big, 10), *node("MmBackward0", big, 50, maker=2**40)) == {"MmBackward0": 10}


def test_a_sample_votes_where_there_are_too_many_pairs(monkeypatch: pytest.MonkeyPatch):
    """The same links, whether all backward ops are asked for the thread or few."""
    events = [forward("aten::mm", i, i, 0.5) for i in range(200)]
    events += [forward("aten::mul", i, i, 0.5, tid=3) for i in range(200)]
    events += [e for i in range(200) for e in node("MmBackward0", i, 1000 + 10 * i)]
    trace, tree = opened(*events)
    links = autograd_links(trace, tree)
    monkeypatch.setattr(autograd, "_MOST_PAIRS", 10)
    assert np.array_equal(autograd_links(trace, tree).forward, links.forward)
    starts = trace.events["start_ns"].to_numpy() // 1000
    assert starts[links.forward[ids(trace, "MmBackward0")]].tolist() == list(range(200))


def test_nothing_to_link():
    trace, tree = opened(op("aten::mm", 0, 5), kernel(None, 9, 1))
    links = autograd_links(trace, tree)
    assert (links.forward.tolist(), links.backward.tolist(), links.pairs) == ([-1, -1], [-1, -1], 0)
    assert autograd_links(*opened()).pairs == 0


TAPE = st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=25)


@given(st.lists(TAPE, min_size=1, max_size=3))
def test_what_a_tape_says_is_found_again(tapes: list[list[tuple[int, bool]]]):
    """Threads that each record ops, some of which make a node, then run all nodes backwards: known by construction."""
    events: list[Event] = []
    expected: dict[tuple[int, int], float] = {}
    for thread, tape in enumerate(tapes):
        number = 0
        for place, (kind, makes) in enumerate(tape):
            name = f"op{thread}x{kind}"  # no two threads run the same ops
            ts = 10 * place + thread
            events.append(forward(f"aten::{name}", number, ts, 5, tid=thread))
            if makes:
                back = 10_000 + 1000 * thread + 10 * number
                events += node(f"Op{thread}x{kind}Backward0", number, back, maker=thread + 1, tid=100)
                expected[100, back] = ts
                number += 1
    trace, tree = opened(*events)
    links = autograd_links(trace, tree)
    start = (trace.events["start_ns"].to_numpy() // 1000).tolist()
    engine = np.flatnonzero(backward_ops(trace, tree).engine)
    assert {(100, start[e]): start[links.forward[e]] for e in engine if links.forward[e] >= 0} == expected


# ------------------------------------------------------------------------------------------------ real traces

TRAINING = {
    # forward ops with a backward op; counted by an independent script from the raw file where there are arrows
    "mi300_resnet_ckpt": 213,
    "hta_nccl": 543,
    "normalization_layers": 51,
    "hta_mi250_toy": 4,
    "hta_diff_control": 2364,
    "hta_diff_test": 720,
    "hta_sampled_rank0": 84,
    "hta_sampled_rank1": 84,
}


def real(shared: Path, name: str) -> tuple[Trace, EventTree]:
    return finished(load_trace(shared / "traces" / f"{name}.json.gz"))


@pytest.mark.parametrize(("name", "pairs"), TRAINING.items())
def test_links_of_training_traces(shared: Path, name: str, pairs: int):
    trace, tree = real(shared, name)
    links = autograd_links(trace, tree)
    assert links.pairs == pairs
    back = np.flatnonzero(links.forward >= 0)
    start, process = trace.events["start_ns"].to_numpy(), processes(trace)
    assert (start[links.forward[back]] < start[back]).all()
    assert (process[links.forward[back]] == process[back]).all()
    forth = np.flatnonzero(links.backward >= 0)
    assert (links.forward[links.backward[forth]] == forth).all()
    assert not (backward_ops(trace, tree).node | backward_ops(trace, tree).engine)[forth].any()


@pytest.mark.parametrize("name", ["mi300_resnet_ckpt", "hta_nccl", "normalization_layers", "hta_mi250_toy"])
def test_numbers_and_the_profilers_arrows_say_the_same(shared: Path, name: str):
    trace, tree = real(shared, name)
    by_number = autograd_links(replace(trace, flows=trace.flows.clear()), tree)
    assert by_number.pairs == TRAINING[name]
    no_numbers = trace.events.with_columns(sequence=pl.lit(-1, pl.Int64))
    by_arrow = autograd_links(replace(trace, events=no_numbers), tree)
    assert np.array_equal(by_number.forward, by_arrow.forward)
    no_ordinals = trace.events.with_columns(fwd_thread=pl.lit(-1, pl.Int64))
    by_name = autograd_links(replace(trace, events=no_ordinals, flows=trace.flows.clear()), tree)
    assert np.array_equal(by_number.forward, by_name.forward)


def test_all_other_traces_link_nothing(shared: Path):
    paths = [path for path in (shared / "traces").glob("*.json.gz") if path.name.split(".")[0] not in TRAINING]
    paths = [path for path in paths if not path.name.startswith("rocprof")]
    assert len(paths) >= 8
    for path in paths:
        trace, tree = finished(load_trace(path))
        assert autograd_links(trace, tree).pairs == 0, path.name
