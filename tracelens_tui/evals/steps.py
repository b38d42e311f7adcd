"""Bandwidth-bound ops of a generated trace: what one call moves, how fast it is planned to run, and its kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tracelens_tui.evals import kernels, roof
from tracelens_tui.evals.host import Kernel
from tracelens_tui.evals.roof import LeastTime
from tracelens_tui.evals.values import Arg, Tensor


@dataclass(frozen=True, slots=True)
class Pass:
    """A pointwise op that reaches ``efficiency`` of the bandwidth."""

    op: str
    args: tuple[Arg, ...]
    out: Tensor
    functor: str
    efficiency: float

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that are read, 0-dim ones included."""
        return tuple(arg for arg in self.args if isinstance(arg, Tensor))

    @property
    def least(self) -> LeastTime:
        """Each input read once, the output written once."""
        return roof.elementwise(self.inputs, self.out)

    @property
    def kernel(self) -> Kernel:
        """The vectorised kernel where all tensors have the output's layout, else the strided one."""
        tensors = [tensor for tensor in self.inputs if tensor.shape]
        elements, width = prod(self.out.shape), 4 if self.out.dtype == "fp32" else 8
        if all(tensor.shape == self.out.shape and tensor.strides is None for tensor in tensors):
            return kernels.vectorized(self.functor, len(tensors) + 1, elements, width)
        return kernels.strided(self.functor, elements, width)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A sum or mean that reaches ``efficiency`` of the bandwidth; ``args[0]`` is what it reads."""

    op: str
    args: tuple[Arg, ...]
    source: Tensor
    out: Tensor
    efficiency: float

    @property
    def least(self) -> LeastTime:
        """The input read once, the output written once."""
        return roof.reduction(self.source, self.out)

    @property
    def kernel(self) -> Kernel:
        """ATen's reduction kernel."""
        return kernels.reduce("Mean" if self.op.endswith("mean") else "Sum", prod(self.out.shape), self.source.dtype)


@dataclass(frozen=True, slots=True)
class Cast:
    """``aten::copy_`` into a contiguous tensor, with another element type or from another layout."""

    out: Tensor
    source: Tensor
    efficiency: float

    @property
    def op(self) -> str:
        """Always ``aten::copy_``."""
        return "aten::copy_"

    @property
    def args(self) -> tuple[Arg, ...]:
        """Target, source, non_blocking."""
        return (self.out, self.source, "False")

    @property
    def least(self) -> LeastTime:
        """The source read once, the target written once."""
        return roof.elementwise((self.source,), self.out)

    @property
    def kernel(self) -> Kernel:
        """The copy kernel for the two types."""
        contiguous = self.source.strides is None
        return kernels.copy(self.source.dtype, self.out.dtype, prod(self.out.shape), contiguous=contiguous)


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """An op whose cost the tables are not expected to know; it moves what ``least`` says."""

    op: str
    args: tuple[Arg, ...]
    kernel: Kernel
    least: LeastTime
    efficiency: float


Step = Pass | Reduction | Cast | Unmodelled
Run = Callable[[Step], None]
