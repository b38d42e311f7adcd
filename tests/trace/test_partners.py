"""From any event to its partner in the other pass."""

import numpy as np

from tests.trace.making import call, frame, kernel, names, only, op, opened
from tests.trace.test_autograd import ENGINE, ENGINE_THREAD, forward, node
from tracelens_tui.trace.autograd import AutogradLinks, autograd_links
from tracelens_tui.trace.partners import backward_below, linked_around, partner_of

MODEL = [
    frame("nn.Module: Linear_0", 0, 50),
    forward("aten::linear", 0, 5, 30),
    forward("aten::t", 0, 6),
    forward("aten::addmm", 1, 10, 10),
    call(1, 12),
    kernel(1, 40, 9, name="gemm"),
    op("aten::zeros", 60, 5),
    *node("AddmmBackward0", 1, 100, dur=20),
    call(2, 105, tid=ENGINE_THREAD),
    kernel(2, 150, 30, name="gemm backward"),
    *node("TBackward0", 0, 130),
    call(3, 131, tid=ENGINE_THREAD),
    kernel(3, 190, 2, name="copy"),
]

NEVER = np.zeros(len(MODEL), bool)


def test_the_partner_is_the_events_own_or_that_of_the_op_around_it_or_the_costliest_below():
    trace, tree = opened(*MODEL)
    links = autograd_links(trace, tree)
    expected = {
        "aten::addmm": ENGINE + "AddmmBackward0",
        "gemm": ENGINE + "AddmmBackward0",
        "AddmmBackward0": "aten::addmm",
        "gemm backward": "aten::addmm",
        ENGINE + "TBackward0": "aten::t",
        "aten::linear": ENGINE + "AddmmBackward0",  # made no node itself: t and addmm below it did
        "nn.Module: Linear_0": ENGINE + "AddmmBackward0",
        "aten::zeros": None,
    }
    found = {name: partner_of(links, NEVER, tree, only(trace, name)) for name in expected}
    assert {name: names(trace, [e])[0] if e >= 0 else None for name, e in found.items()} == expected


def test_the_costliest_partner_need_not_be_the_first():
    trace, tree = opened(*MODEL, frame("nn.Module: Net_0", 70, 20), forward("aten::exp", 2, 71),
        forward("aten::mul", 3, 75), forward("aten::sin", 4, 80),
        *(e for i, name in enumerate(("Exp", "Mul", "Sin"), 2) for e in (
            *node(f"{name}Backward0", i, 200 + 10 * i), call(10 + i, 202 + 10 * i, tid=ENGINE_THREAD),
            kernel(10 + i, 400 + 10 * i, 5 - abs(i - 3)),
        )))  # fmt: skip
    links = autograd_links(trace, tree)
    partner = partner_of(links, np.zeros(len(trace), bool), tree, only(trace, "nn.Module: Net_0"))
    assert names(trace, [partner]) == [ENGINE + "MulBackward0"]


def test_what_a_node_recomputes_is_no_part_of_its_gradient():
    trace, tree = opened(*MODEL)
    links = autograd_links(trace, tree)
    gemm, node_of_t = only(trace, "gemm backward"), only(trace, "TBackward0")
    again = np.zeros(len(trace), bool)
    again[gemm] = True
    assert partner_of(links, again, tree, gemm) == -1
    again[[node_of_t, only(trace, "copy")]] = True  # but a backward pass inside of a recomputation has its own
    assert partner_of(links, again, tree, only(trace, "copy")) == only(trace, "aten::t")


def test_the_backward_of_a_module():
    trace, tree = opened(*MODEL)
    links = autograd_links(trace, tree)
    below = backward_below(links, tree, only(trace, "nn.Module: Linear_0"))
    assert names(trace, below) == [ENGINE + "AddmmBackward0", ENGINE + "TBackward0"]
    assert int(tree.gpu_ns[below].sum()) == 32_000
    assert backward_below(links, tree, only(trace, "aten::zeros")).tolist() == []
    assert linked_around(links, NEVER, tree, only(trace, "aten::linear")) == -1


def test_a_backward_op_inside_another_counts_once():
    """The reentrant checkpoint runs a backward pass inside a node."""
    _, tree = opened(op("a", 0, 9), op("b", 10, 9), op("outer", 100, 50), op("inner", 110, 9), op("after", 150, 9))
    links = AutogradLinks(np.full(5, -1, np.int32), np.array([3, 2, -1, -1, -1], np.int32))
    assert backward_below(links, tree, 0).tolist() == [3]
    _, tree = opened(
        op("module", 0, 50), op("a", 0, 9), op("b", 10, 9), op("outer", 100, 50), op("inner", 110, 9), op("c", 20, 9),
        op("after", 150, 9),
    )  # fmt: skip
    links = AutogradLinks(np.full(7, -1, np.int32), np.array([-1, 4, 3, -1, -1, 6, -1], np.int32))
    assert backward_below(links, tree, 0).tolist() == [3, 6]
