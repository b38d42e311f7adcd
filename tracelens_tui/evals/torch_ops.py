"""PyTorch ops on a generated trace: nested cpu_ops with arguments, kernels of planned duration, an autograd tape."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from tracelens_tui.evals import kernels, roof
from tracelens_tui.evals.host import HostThread, Kernel
from tracelens_tui.evals.planted import Ledger, OpTruth
from tracelens_tui.evals.values import SCALAR_TYPES, SIZES, Arg, Tensor
from tracelens_tui.evals.writer import Stream

Backward = Callable[["Torch"], None]


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

    def kernel_op(self, name: str, args: tuple[Arg, ...], kernel: Kernel, dur_ns: int, sequence: int | None = None) -> None:
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

    def transpose(self, tensor: Tensor) -> Tensor:
        """Run ``t()`` of a matrix."""
        with self.host.op("aten::t", (tensor,), sequence=self.peek()):
            with self.host.op("aten::transpose", (tensor, "0", "1")), self.host.op("aten::as_strided", _strided(tensor)):
                self.host.spend(200)
        return tensor.transposed()

    def mm(
        self, left: Tensor, right: Tensor, efficiency: float, *, sequence: int | None = None, tuned: bool = True
    ) -> OpTruth:
        """Run ``aten::mm`` at ``efficiency`` of its roof."""
        (m, k), n = left.shape, right.shape[1]
        least = roof.gemm(m, n, k, dtype=left.dtype)
        kernel = kernels.tensile(
            m, n, left_transposed=left.layout[0] == 1, right_transposed=right.layout[0] == 1, dtype=left.dtype, tuned=tuned
        )
        args = (left, right)
        with self.host.op("aten::mm", args, sequence=sequence):
            self.host.spend(1_500)
            self.host.call("hipGetDevicePropertiesR0600", 240)
            self.host.launch(kernel, self.stream, least.at(efficiency))
        return self.ledger.add("aten::mm", args, least, least.at(efficiency))

    def linear(self, x: Tensor, weight: Tensor, efficiency: tuple[float, float, float], *, tuned: bool = True) -> Tensor:
        """Run ``aten::linear`` of ``[1, T, in]`` by ``[out, in]`` at the efficiencies of forward, dgrad and wgrad."""
        rows, (out, inner) = x.shape[1], weight.shape
        flat, result, flat_grad = Tensor((rows, inner), x.dtype), Tensor((1, rows, out), x.dtype), Tensor((rows, out), x.dtype)
        forward, dgrad, wgrad = efficiency

        def backward(torch: Torch) -> None:
            torch.transpose(flat_grad)
            torch.mm(flat_grad.transposed(), flat, wgrad, tuned=tuned)
            torch.transpose(weight)
            torch.mm(flat_grad, weight, dgrad, tuned=tuned)

        with self.host.op("aten::linear", (x, weight, None), sequence=self.peek()):
            turned = self._with_node("aten::t", "TBackward0", weight, weight)
            with self.host.op("aten::matmul", (x, turned), sequence=self.peek()):
                shape = f"[{rows}, {inner}]"
                self.view("aten::view", (x, shape), self.node("ViewBackward0", flat, _reshaping(x)))
                self.mm(flat, turned, forward, sequence=self.node("MmBackward0", flat_grad, backward), tuned=tuned)
                sequence = self.node("UnsafeViewBackward0", result, _reshaping(flat_grad))
                self.view("aten::_unsafe_view", (flat_grad, f"[1, {rows}, {out}]"), sequence)
        return result

    def elementwise(
        self,
        op: str,
        args: tuple[Arg, ...],
        output: Tensor,
        functor: str,
        efficiency: float,
        *,
        sequence: int | None = None,
        kernel: Kernel | None = None,
    ) -> Tensor:
        """Run a pointwise op at ``efficiency`` of the bandwidth; broadcast inputs take the strided kernel."""
        inputs = tuple(arg for arg in args if isinstance(arg, Tensor))
        elements = prod(output.shape)
        least = roof.elementwise(inputs, output)
        if kernel is None:
            tensors = [tensor for tensor in inputs if tensor.shape]
            plain = all(tensor.shape == output.shape and tensor.strides is None for tensor in tensors)
            width = 4 if output.dtype == "fp32" else 8
            make = kernels.vectorized(functor, len(tensors) + 1, elements, width)
            kernel = make if plain else kernels.strided(functor, elements, width)
        dur_ns = max(2_200, least.at(efficiency))
        self.kernel_op(op, args, kernel, dur_ns, sequence)
        if dur_ns > 2_200:
            self.ledger.add(op, args, least, dur_ns)
        return output

    def cast(self, source: Tensor, dtype: str, efficiency: float, *, sequence: int | None = None) -> Tensor:
        """Run ``to(dtype)``: aten::to, aten::_to_copy and the copy."""
        target = source.like(dtype)
        number = SCALAR_TYPES[dtype]
        with self.host.op("aten::to", (source, number, "False", "False", None), sequence=self.peek()):
            with self.host.op("aten::_to_copy", (source, number, None, None, None, "False", None), sequence=sequence):
                self._allocate(target)
                self.copy_into(target, source, efficiency)
        return target

    def copy_into(self, target: Tensor, source: Tensor, efficiency: float) -> None:
        """Run ``aten::copy_``."""
        kernel = kernels.copy(source.dtype, target.dtype, prod(target.shape), contiguous=source.strides is None)
        least = roof.elementwise((source,), target)
        args = (target, source, "False")
        self.kernel_op("aten::copy_", args, kernel, least.at(efficiency))
        self.ledger.add("aten::copy_", args, least, least.at(efficiency))

    def reduce(self, op: str, args: tuple[Arg, ...], source: Tensor, output: Tensor, efficiency: float, **at: int) -> Tensor:
        """Run ``aten::sum`` or ``aten::mean``."""
        least = roof.reduction(source, output)
        kernel = kernels.reduce("Mean" if op.endswith("mean") else "Sum", prod(output.shape), source.dtype)
        self.kernel_op(op, args, kernel, least.at(efficiency), at.get("sequence"))
        self.ledger.add(op, args, least, least.at(efficiency))
        return output

    def item(self, tensor: Tensor) -> int:
        """Read a number on the host: wait for everything that is queued; return when the host goes on."""
        with self.host.op("aten::item", (tensor,)), self.host.op("aten::_local_scalar_dense", (tensor,)):
            self.host.call("hipStreamIsCapturing", 300)
            self.host.copy("DtoH", max(1, prod(tensor.shape)) * SIZES[tensor.dtype], self.stream, 3_120)
        return self.host.now

    def _allocate(self, like: Tensor) -> None:
        args = (str(list(like.shape)), str(list(like.layout)), SCALAR_TYPES[like.dtype], "0", "", "")
        with self.host.op("aten::empty_strided", args):
            self.host.spend(900)

    def _with_node(self, op: str, name: str, tensor: Tensor, parameter: Tensor) -> Tensor:
        """Run ``t()`` of a parameter whose gradient ends there."""
        del op
        self.node(name, tensor.transposed(), lambda torch: torch.view("aten::t", (parameter,)), parameter)
        return self.transpose(tensor)


def _strided(tensor: Tensor) -> tuple[Arg, ...]:
    turned = tensor.transposed()
    return (tensor, str(list(turned.shape)), str(list(turned.layout)), "")


def _reshaping(tensor: Tensor) -> Backward:
    return lambda torch: torch.view("aten::reshape", (tensor, str(list(tensor.shape))), inner="aten::view")
