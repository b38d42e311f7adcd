"""A Llama block as eager PyTorch runs it: forward ops with Python frames, and what autograd does for each."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod

from tracelens_tui.evals import functors
from tracelens_tui.evals.steps import Pass, Reduction
from tracelens_tui.evals.torch_ops import Torch, nothing, running
from tracelens_tui.evals.values import SCALAR, Shape, Tensor

MODELING = "transformers/models/llama/modeling_llama.py"


@dataclass(frozen=True, slots=True)
class Speeds:
    """Efficiencies that are planted in the model, as ratios of the roof."""

    linear: tuple[float, float, float] = (0.76, 0.72, 0.69)  # forward, dgrad, wgrad
    head: tuple[float, float, float] = (0.31, 0.36, 0.33)
    attention: float = 0.17
    attention_backward: float = 0.145
    norm: float = 0.26  # fp32 pointwise ops of the norm
    power: float = 0.34
    bf16: float = 0.71
    cast: float = 0.52
    strided: float = 0.38
    tiny: float = 0.05


@dataclass(frozen=True, slots=True)
class Llama:
    """Sizes of the model and of one micro-batch of one sequence."""

    tokens: int = 4096
    hidden: int = 4096
    heads: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    ffn: int = 14336
    vocab: int = 32003
    speeds: Speeds = Speeds()

    @property
    def layer_shapes(self) -> tuple[Shape, ...]:
        """Shapes of the parameters of one layer."""
        square, wide = (self.hidden, self.hidden), (self.ffn, self.hidden)
        kv = (self.kv_heads * self.head_dim, self.hidden)
        return (square, kv, kv, square, wide, wide, wide[::-1], (self.hidden,), (self.hidden,))

    @property
    def layer_parameters(self) -> int:
        """Number of parameters of one layer."""
        return sum(prod(shape) for shape in self.layer_shapes)


@contextmanager
def module(torch: Torch, name: str, number: int, line: int, file: str = MODELING) -> Iterator[None]:
    """Frames of an nn.Module call: the module, PyTorch's two wrappers, its forward."""
    host = torch.host
    with ExitStack() as stack:
        stack.enter_context(host.module(name, number))
        stack.enter_context(host.frame("torch/nn/modules/module.py(1747): _wrapped_call_impl"))
        stack.enter_context(host.frame("torch/nn/modules/module.py(1755): _call_impl"))
        stack.enter_context(host.frame(f"{file}({line}): forward"))
        yield


class Layers:
    """The parts of a decoder layer that are not attention; counts module instances."""

    def __init__(self, torch: Torch, model: Llama) -> None:
        self.torch, self.model = torch, model
        self._linears = 0
        self._norms = 0

    def linear(
        self, x: Tensor, out: int, speeds: tuple[float, float, float] | None = None, *, tuned: bool = True
    ) -> Tensor:
        """Run an nn.Linear without bias."""
        torch, weight = self.torch, Tensor((out, x.shape[2]))
        self._linears += 1
        with (
            module(torch, "Linear", self._linears - 1, 125, "torch/nn/modules/linear.py"),
            torch.host.frame("<built-in function linear>"),
        ):
            return torch.linear(x, weight, speeds or self.model.speeds.linear, tuned=tuned)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Add a residual."""
        step = Pass("aten::add", (x, y, "1"), x, functors.ADD, self.model.speeds.bf16)
        self.torch.run(step, self.torch.node("AddBackward0", x, nothing))
        return x

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """Run ``to(dtype)``; its backward casts the gradient back."""
        speed, grad = self.model.speeds.cast, x.like(dtype)

        def back(torch: Torch) -> None:
            torch.cast(grad, x.dtype, speed)

        return self.torch.cast(x, dtype, speed, sequence=self.torch.node("ToCopyBackward0", grad, back))

    def norm(self, x: Tensor) -> Tensor:
        """Run LlamaRMSNorm: a chain of fp32 pointwise ops around one reduction."""
        self._norms += 1
        with module(self.torch, "LlamaRMSNorm", self._norms - 1, 65):
            self.cast(x, "fp32")
            self._normalise(x.like("fp32"), Tensor((1, x.shape[1], 1), "fp32"))
            self.cast(x.like("fp32"), "bf16")
            self._scale(x, Tensor((x.shape[2],)))
        return x

    def mlp(self, x: Tensor, number: int) -> Tensor:
        """Run LlamaMLP: gate, up, SiLU, product, down."""
        torch, model, speed = self.torch, self.model, self.model.speeds.bf16
        wide = Tensor((1, model.tokens, model.ffn))
        product = Pass("aten::mul", (wide, wide), wide, functors.MUL, speed)
        silu_back = Pass("aten::silu_backward", (wide, wide), wide, functors.SILU_BACKWARD, speed)
        with module(torch, "LlamaMLP", number, 174):
            self.linear(x, model.ffn)
            with (
                module(torch, "SiLU", number, 432, "torch/nn/modules/activation.py"),
                torch.host.frame("<built-in function silu>"),
            ):
                sequence = torch.node("SiluBackward0", wide, running(silu_back))
                torch.run(Pass("aten::silu", (wide,), wide, functors.SILU, speed), sequence)
            self.linear(x, model.ffn)
            torch.run(product, torch.node("MulBackward0", wide, running(product, product)))
            return self.linear(wide, model.hidden)

    def _normalise(self, wide: Tensor, narrow: Tensor) -> None:
        """Run ``x * rsqrt(mean(x²) + eps)`` in fp32."""
        torch, speeds = self.torch, self.model.speeds
        tiny, mul = speeds.tiny, functors.MUL_FP32
        scaled = Pass("aten::mul", (wide, narrow), wide, mul, speeds.norm)
        product = Pass("aten::mul", (wide, wide), wide, mul, speeds.norm)
        back = running(
            Pass("aten::pow", (wide, "1."), wide, functors.POW_FP32, speeds.power),
            Pass("aten::mul", (wide, SCALAR), wide, functors.SCALE_FP32, speeds.norm),
            product,
        )
        power = Pass("aten::pow", (wide, "2"), wide, functors.POW_FP32, speeds.power)
        torch.run(power, torch.node("PowBackward0", wide, back))
        back = running(Pass("aten::div", (wide, SCALAR), wide, functors.SCALE_FP32, speeds.norm))
        mean = Reduction("aten::mean", (wide, "[-1]", "True", None), wide, narrow, speeds.strided)
        torch.run(mean, torch.node("MeanBackward1", narrow, back))
        epsilon = Pass("aten::add", (narrow, SCALAR, "1"), narrow, functors.ADD_SELF_FP32, tiny)
        torch.run(epsilon, torch.node("AddBackward0", narrow, nothing))
        back = running(
            Pass("aten::pow", (narrow, "3"), narrow, functors.POW_FP32, tiny),
            Pass("aten::mul", (narrow, SCALAR), narrow, functors.SCALE_FP32, tiny),
            Pass("aten::mul", (narrow, narrow), narrow, mul, tiny),
        )
        root = Pass("aten::rsqrt", (narrow,), narrow, functors.RSQRT_FP32, tiny)
        torch.run(root, torch.node("RsqrtBackward0", narrow, back))
        total = Reduction("aten::sum", (wide, "[2]", "True", None), wide, narrow, speeds.strided)
        torch.run(scaled, torch.node("MulBackward0", wide, running(scaled, product, total)))

    def _scale(self, x: Tensor, weight: Tensor) -> None:
        """Multiply by the norm's weight in bf16."""
        speeds = self.model.speeds
        back = running(
            Pass("aten::mul", (x, weight), x, functors.MUL, speeds.bf16),
            Pass("aten::mul", (x, x), x, functors.MUL, speeds.bf16),
            Reduction("aten::sum", (x, "[0, 1]", "True", None), x, Tensor((1, 1, x.shape[2])), speeds.strided),
        )
        step = Pass("aten::mul", (weight, x), x, functors.MUL, speeds.bf16)
        self.torch.run(step, self.torch.node("MulBackward0", x, back, weight))
