"""Fused attention of a generated trace: the nest of ops around its kernels, forward and backward."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracelens_tui.evals import roof
from tracelens_tui.evals.host import Kernel
from tracelens_tui.evals.torch_ops import Torch
from tracelens_tui.evals.values import Arg, Shape, Tensor

FORWARD = "aten::_scaled_dot_product_flash_attention"
BACKWARD = "aten::_scaled_dot_product_flash_attention_backward"


@dataclass(frozen=True, slots=True)
class Flash:
    """One attention: ``[B, H, S, D]`` query and key (the value is like the key), and whether it is causal."""

    query: Tensor
    key: Tensor
    causal: bool = True

    @property
    def scale(self) -> str:
        """The softmax scale as it is recorded."""
        return str(self.query.shape[3] ** -0.5)

    @property
    def least(self) -> roof.LeastTime:
        """Least time of the forward."""
        return roof.attention(self.query.shape, self.key.shape, causal=self.causal)

    @property
    def least_backward(self) -> roof.LeastTime:
        """Least time of the backward."""
        return roof.attention_backward(self.query.shape, self.key.shape, causal=self.causal)

    def forward(self, torch: Torch, kernel: Kernel, dur_ns: int, sequence: int | None = None) -> None:
        """Run the fused forward: one kernel that takes ``dur_ns``."""
        host, causal = torch.host, str(self.causal)
        inputs = (self.query, self.key, self.key)
        args = (*inputs, "0.", causal, "False", self.scale)
        turned = tuple(_sequence_major(tensor) for tensor in inputs)
        lengths = (str(self.query.shape[2]), str(self.key.shape[2]))
        inner: tuple[Arg, ...] = (*turned, None, None, *lengths, "0.", causal, "False", self.scale, *_ABSENT)
        with host.op(FORWARD, args, sequence=sequence):
            for tensor in inputs:
                torch.view("aten::transpose", (tensor, "1", "2"), None, "aten::as_strided")
            with host.op("aten::_flash_attention_forward", inner):
                torch.view("aten::empty_like", (turned[0], "15", "0", "0", "False", "0"))
                host.call("hipStreamGetDevice", 200)
                host.launch(kernel, torch.stream, dur_ns)
        torch.ledger.add(FORWARD, args, self.least, dur_ns)

    def backward(self, torch: Torch, parts: Mapping[Kernel, int]) -> None:
        """Run the fused backward: kernels and their durations, in order."""
        grad, key = Tensor(self.query.shape), self.key
        lengths = (str(self.query.shape[2]), str(key.shape[2]))
        seed, sums = Tensor((), "int64"), Tensor(self.query.shape[:3], "fp32")
        tail = (sums, None, None, *lengths, "0.", str(self.causal), seed, seed, self.scale)
        inputs = (grad, self.query, key, key, grad)
        args: tuple[Arg, ...] = (*inputs, *tail)
        inner: tuple[Arg, ...] = (*(_sequence_major(tensor) for tensor in inputs), *tail, None, None)
        with torch.host.op(BACKWARD, args), torch.host.op("aten::_flash_attention_backward", inner):
            for kernel, dur_ns in parts.items():
                torch.host.launch(kernel, torch.stream, dur_ns)
        torch.ledger.add(BACKWARD, args, self.least_backward, sum(parts.values()))


_ABSENT: tuple[Arg, ...] = (None, None, None, None)


def _sequence_major(x: Tensor) -> Tensor:
    """The ``[B, S, H, D]`` view of a ``[B, H, S, D]`` tensor."""
    return Tensor(_exchanged(x.shape), x.dtype, _exchanged(x.layout))


def _exchanged(shape: Shape) -> Shape:
    return (shape[0], shape[2], shape[1], shape[3])
