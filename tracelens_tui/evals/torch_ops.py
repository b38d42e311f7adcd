"""PyTorch ops on a generated trace: nested cpu_ops with arguments, kernels of planned duration, an autograd tape."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from tracelens_tui.evals import kernels, roof
from tracelens_tui.evals.device import Stream
from tracelens_tui.evals.host import HostThread, Kernel
from tracelens_tui.evals.planted import Ledger, OpTruth
from tracelens_tui.evals.steps import Cast, Step, Unmodelled
from tracelens_tui.evals.values import SCALAR_TYPES, SIZES, Arg, Tensor

Backward = Callable[["Torch"], None]

FLOOR_NS = 2_200
"""No kernel is shorter; ops that the floor governs have no efficiency worth a truth."""


@dataclass(frozen=True, slots=True)
class Node:
    """One backward function: its name, the gradient that it receives, what it runs, the parameters that it ends in."""

    name: str
    sequence: int
    grad: Tensor
    run: Backward
    parameters: tuple[Tensor, ...]
    forward_ns: int  # where the forward op began
    forward_tid: int


@dataclass(slots=True)
class Torch:
    """Runs ops of one host thread on one stream.  Forward ops put a node on the tape where a backward is given."""

    host: HostThread
    stream: Stream
    ledger: Ledger
    tape: list[Node] = field(default_factory=list)
    recording: bool = True  # gradients are recorded: ops carry sequence numbers

    def node(self, name: str, grad: Tensor, run: Backward, *parameters: Tensor) -> int:
        """Put a backward function on the tape; return its sequence number, for the op that is entered next."""
        ids = self.host.writer.ids
        number = ids.sequence
        ids.sequence += 1
        self.tape.append(Node(name, number, grad, run, parameters, self.host.now, self.host.tid))
        return number

    def peek(self) -> int | None:
        """Return the sequence number that an op without a node of its own carries."""
        return self.host.writer.ids.sequence if self.recording else None

    def run(self, step: Step, sequence: int | None = None) -> None:
        """Run a bandwidth-bound op at its planned efficiency."""
        least = step.least
        dur_ns = max(FLOOR_NS, least.at(step.efficiency))
        self.kernel_op(step.op, step.args, step.kernel, dur_ns, sequence)
        if dur_ns > FLOOR_NS and not isinstance(step, Unmodelled):
            self.ledger.add(step.op, step.args, least, dur_ns)

    def kernel_op(
        self, name: str, args: tuple[Arg, ...], kernel: Kernel, dur_ns: int, sequence: int | None = None
    ) -> None:
        """Run an op that allocates its output and launches one kernel."""
        with self.host.op(name, args, sequence=sequence):
            self.host.spend(1_400)
            self.host.launch(kernel, self.stream, dur_ns)

    def view(self, name: str, args: tuple[Arg, ...], sequence: int | None = None, inner: str | None = None) -> None:
        """Run an op that launches nothing."""
        with self.host.op(name, args, sequence=sequence):
            if inner is not None:
                with self.host.op(inner, args):
                    self.host.spend(250)
            self.host.spend(300)

    def transpose(self, matrix: Tensor) -> Tensor:
        """Run ``t()`` of a matrix."""
        turned = matrix.transposed()
        strided = (matrix, str(list(turned.shape)), str(list(turned.layout)), "")
        with (
            self.host.op("aten::t", (matrix,), sequence=self.peek()),
            self.host.op("aten::transpose", (matrix, "0", "1")),
            self.host.op("aten::as_strided", strided),
        ):
            self.host.spend(200)
        return turned

    def mm(
        self, left: Tensor, right: Tensor, efficiency: float, *, sequence: int | None = None, tuned: bool = True
    ) -> OpTruth:
        """Run ``aten::mm`` at ``efficiency`` of its roof."""
        least = roof.gemm(left.shape[0], right.shape[1], left.shape[1], dtype=left.dtype)
        return self.mm_for(left, right, least.at(efficiency), sequence=sequence, tuned=tuned)

    def mm_for(
        self, left: Tensor, right: Tensor, dur_ns: int, *, sequence: int | None = None, tuned: bool = True
    ) -> OpTruth:
        """Run ``aten::mm`` whose kernel takes exactly ``dur_ns``."""
        (m, k), n = left.shape, right.shape[1]
        kernel = kernels.tensile(
            m, n, left_transposed=_turned(left), right_transposed=_turned(right), dtype=left.dtype, tuned=tuned
        )
        with self.host.op("aten::mm", (left, right), sequence=sequence):
            self.host.spend(1_500)
            self.host.call("hipGetDevicePropertiesR0600", 240)
            self.host.launch(kernel, self.stream, dur_ns)
        return self.ledger.add("aten::mm", (left, right), roof.gemm(m, n, k, dtype=left.dtype), dur_ns)

    def linear(self, x: Tensor, weight: Tensor, speeds: tuple[float, float, float], *, tuned: bool = True) -> Tensor:
        """Run ``aten::linear`` of ``[1, T, in]`` by ``[out, in]`` at the efficiencies of forward, dgrad and wgrad."""
        rows, (out, inner) = x.shape[1], weight.shape
        flat, result, flat_grad = Tensor((rows, inner)), Tensor((1, rows, out)), Tensor((rows, out))

        def matrix_backward(torch: Torch) -> None:
            torch.transpose(flat_grad)
            torch.mm(flat_grad.transposed(), flat, speeds[2], tuned=tuned)
            torch.transpose(weight.transposed())
            torch.mm(flat_grad, weight, speeds[1], tuned=tuned)

        with self.host.op("aten::linear", (x, weight, None), sequence=self.peek()):
            self.node("TBackward0", weight.transposed(), viewing("aten::t", (weight.transposed(),)), weight)
            turned = self.transpose(weight)
            with self.host.op("aten::matmul", (x, turned), sequence=self.peek()):
                sequence = self.node("ViewBackward0", flat, viewing("aten::reshape", (flat, str(list(x.shape)))))
                self.view("aten::view", (x, str(list(flat.shape))), sequence)
                sequence = self.node("MmBackward0", flat_grad, matrix_backward)
                self.mm(flat, turned, speeds[0], sequence=sequence, tuned=tuned)
                back = viewing("aten::reshape", (result, str(list(flat_grad.shape))))
                sequence = self.node("UnsafeViewBackward0", result, back)
                self.view("aten::_unsafe_view", (flat_grad, str(list(result.shape))), sequence)
        return result

    def cast(self, source: Tensor, dtype: str, efficiency: float, *, sequence: int | None = None) -> Tensor:
        """Run ``to(dtype)``: aten::to, aten::_to_copy and the copy."""
        target, number = source.like(dtype), SCALAR_TYPES[dtype]
        with (
            self.host.op("aten::to", (source, number, "False", "False", None), sequence=self.peek()),
            self.host.op("aten::_to_copy", (source, number, None, None, None, "False", None), sequence=sequence),
        ):
            self.allocate(target)
            self.run(Cast(target, source, efficiency))
        return target

    def allocate(self, like: Tensor) -> None:
        """Run ``aten::empty_strided`` for a tensor."""
        args = (str(list(like.shape)), str(list(like.layout)), SCALAR_TYPES[like.dtype], "0", None, None)
        with self.host.op("aten::empty_strided", args):
            self.host.spend(900)

    def item(self, tensor: Tensor) -> None:
        """Read a number on the host, which waits for everything that is queued."""
        with self.host.op("aten::item", (tensor,)), self.host.op("aten::_local_scalar_dense", (tensor,)):
            self.host.call("hipStreamIsCapturing", 300)
            self.host.copy("DtoH", max(1, prod(tensor.shape)) * SIZES[tensor.dtype], self.stream, 3_120)


def running(*steps: Step) -> Backward:
    """Return a backward that runs bandwidth-bound ops."""

    def backward(torch: Torch) -> None:
        for step in steps:
            torch.run(step)

    return backward


def viewing(name: str, args: tuple[Arg, ...]) -> Backward:
    """Return a backward that launches nothing but reshapes its gradient."""
    return lambda torch: torch.view(name, args)


def nothing(torch: Torch) -> None:
    """A backward that hands its gradient on."""
    torch.host.spend(500)


def _turned(matrix: Tensor) -> bool:
    return matrix.layout[0] == 1 and matrix.shape[1] > 1
