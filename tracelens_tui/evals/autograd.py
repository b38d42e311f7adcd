"""The autograd engine of a generated trace: runs a tape backwards on its own host thread."""

from collections.abc import Callable

from tracelens_tui.evals.host import HostThread
from tracelens_tui.evals.torch_ops import Node, Torch
from tracelens_tui.evals.values import Tensor

_ENGINE = "autograd::engine::evaluate_function: "
_ACCUMULATE = "torch::autograd::AccumulateGrad"


def run_backward(torch: Torch, tape: list[Node], after: Callable[[Node], None] | None = None) -> None:
    """Run every node of the tape, last first, on ``torch.host``; call ``after`` behind each."""
    torch.recording = False
    for node in reversed(tape):
        _evaluate(torch, node)
        for parameter in node.parameters:
            _accumulate(torch.host, parameter)
        if after is not None:
            after(node)


def _evaluate(torch: Torch, node: Node) -> None:
    host = torch.host
    with host.backward_op(_ENGINE + node.name, (), node.sequence):
        with host.backward_op(node.name, (node.grad,), node.sequence):
            host.flow("s", node.sequence, node.forward_tid, node.forward_ns, "fwdbwd")
            host.flow("f", node.sequence, host.tid, host.now, "fwdbwd")
            node.run(torch)
        host.spend(900)


def _accumulate(host: HostThread, parameter: Tensor) -> None:
    with host.op(_ENGINE + _ACCUMULATE):
        with host.op(_ACCUMULATE, (parameter,)), host.op("aten::detach", (parameter,)), host.op("detach", (parameter,)):
            host.spend(300)
        host.spend(400)
