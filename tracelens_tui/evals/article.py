"""The scenario of an article about a 70B training step, generated: GEMMs are 80.6 % of compute time, 45.7 s.

80 layers, two micro-batches of 24,576 tokens on one MI300X.  Six linear layers, each with forward, data gradient and
weight gradient, give 18 distinct shapes; the backward keeps gradients feature-major, so that every GEMM has dims of its
own.  The article's op is ``aten::mm (24576, 8192) x (8192, 28672)``: 320 calls, 7607.463 ms, 68.6 % of 708 TFLOPS.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod, sqrt
from pathlib import Path

from tracelens_tui.evals import functors, kernels, roof
from tracelens_tui.evals.flash import Flash
from tracelens_tui.evals.host import HostThread
from tracelens_tui.evals.planted import Ledger, Planted, planted, problem, split
from tracelens_tui.evals.steps import Pass
from tracelens_tui.evals.torch_ops import Torch
from tracelens_tui.evals.values import Tensor, dims_text
from tracelens_tui.evals.writer import Capture, TraceWriter

TOKENS, HIDDEN, FFN, LAYERS, MICRO_BATCHES = 24_576, 8_192, 28_672, 80, 2
GEMM_NS = 45_700_000_000
GEMM_SHARE = 0.806
COMPUTE_NS = round(GEMM_NS / GEMM_SHARE)
OP_NS, OP_CALLS = 7_607_463_000, 320
VARIED_MEAN = 68.74
"""Mean of the calls' ratios in % where they vary a little: it rounds differently from the 68.59 of the sums."""
SPREAD_MEAN = 70.6
"""The same where they vary so much that mean and ratio of sums differ by more than 1 %."""

_PASSES = LAYERS * MICRO_BATCHES
_PHASES = ("forward", "dgrad", "wgrad")


@dataclass(frozen=True, slots=True)
class _Linear:
    """A linear layer: its calls per phase and the planned efficiencies of forward, data and weight gradient."""

    inner: int
    out: int
    calls: int
    speeds: tuple[float | None, float | None, float | None]  # None: planned by its total

    def operands(self, phase: str) -> tuple[Tensor, Tensor]:
        """Return the operands of the phase's GEMM."""
        x, grad, weight = Tensor((TOKENS, self.inner)), Tensor((TOKENS, self.out)), Tensor((self.out, self.inner))
        return {
            "forward": (x, weight.transposed()),
            "dgrad": (weight.transposed(), grad.transposed()),
            "wgrad": (grad.transposed(), x),
        }[phase]


_LINEARS = {
    "gate_up": _Linear(HIDDEN, FFN, 2 * _PASSES, (None, 0.643, None)),  # the article's op, and what is left of 45.7 s
    "qkv": _Linear(HIDDEN, 10_240, _PASSES, (0.687, 0.654, 0.629)),
    "output": _Linear(HIDDEN, HIDDEN, _PASSES, (0.698, 0.676, 0.645)),
    "down": _Linear(FFN, HIDDEN, _PASSES, (0.641, 0.622, 0.607)),
    "head": _Linear(HIDDEN, 128_256, MICRO_BATCHES, (0.612, 0.598, 0.574)),
    "fusion": _Linear(2 * HIDDEN, HIDDEN, MICRO_BATCHES, (0.731, 0.702, 0.668)),
}


def write_article(path: Path, *, varied: bool = False, mean_percent: float = VARIED_MEAN) -> Planted:
    """Write the scenario to ``path`` and return its truth.

    With ``varied`` the 320 calls differ, so that the mean of their ratios is ``mean_percent`` while the ratio of the
    sums stays 68.59 %.
    """
    ledger = Ledger()
    with TraceWriter(path, Capture(seed=70, with_stack=False, trace_name="article.json")) as writer:
        _Article(writer, ledger, mean_percent if varied else None).write()
    op = next(truth for truth in ledger.truths() if truth.dims == dims_text(_LINEARS["gate_up"].operands("forward")))
    found = problem("gemm", [op], split(writer.gpu_log).window)
    return planted(writer, ledger, [found], gemm_ns=GEMM_NS, gemm_share=GEMM_SHARE)


class _Article:
    def __init__(self, writer: TraceWriter, ledger: Ledger, mean_percent: float | None) -> None:
        self.host = HostThread(writer)
        self.torch = Torch(self.host, writer.stream(0), ledger, recording=False)
        self._gemms = _gemm_plan(mean_percent)
        self._residuals = _spread_evenly(_residual_total(), 2 * _PASSES)

    def write(self) -> None:
        """Write both micro-batches: forward through all layers, head, backward through all layers."""
        for number in range(MICRO_BATCHES):
            with self.host.annotation(f"ProfilerStep#{number + 3}"):
                self._gemm("fusion", "forward")
                for _ in range(LAYERS):
                    self._layer_forward()
                for phase in _PHASES:
                    self._gemm("head", phase)
                for _ in range(LAYERS):
                    self._layer_backward()
                for phase in _PHASES[1:]:
                    self._gemm("fusion", phase)

    def _gemm(self, name: str, phase: str) -> None:
        left, right = _LINEARS[name].operands(phase)
        self.torch.mm_for(left, right, next(self._gemms[name, phase]))

    def _layer_forward(self) -> None:
        self._gemm("qkv", "forward")
        _FLASH.forward(self.torch, _FLASH_KERNEL, _FLASH_NS)
        self._gemm("output", "forward")
        self._residual()
        for _ in ("gate", "up"):
            self._gemm("gate_up", "forward")
        for step in _FORWARD_PASSES:
            self.torch.run(step)
        self._gemm("down", "forward")

    def _layer_backward(self) -> None:
        for phase in _PHASES[1:]:
            self._gemm("down", phase)
        for step in _BACKWARD_PASSES:
            self.torch.run(step)
        for _ in ("gate", "up"):
            for phase in _PHASES[1:]:
                self._gemm("gate_up", phase)
        for name in ("output", "qkv"):
            for phase in _PHASES[1:]:
                self._gemm(name, phase)
            if name == "output":
                _FLASH.backward(self.torch, _FLASH_BACKWARD)
        self._residual()

    def _residual(self) -> None:
        """Add a residual; its time makes the compute time exact."""
        dur_ns = next(self._residuals)
        kernel = kernels.vectorized(functors.ADD, 3, prod(_STATE.shape))
        self.torch.kernel_op("aten::add", (_STATE, _STATE, "1"), kernel, dur_ns)
        self.torch.ledger.add("aten::add", (_STATE, _STATE, "1"), roof.elementwise((_STATE, _STATE), _STATE), dur_ns)


def _spread_evenly(total: int, calls: int) -> Iterator[int]:
    """Yield ``calls`` durations that add up to ``total``."""
    base, longer = divmod(total, calls)
    return (base + (number < longer) for number in range(calls))


def _varied(mean_percent: float) -> Iterator[int]:
    """Yield the durations of the article's op in pairs around their mean: the mean of roof / duration is as asked."""
    left, right = _LINEARS["gate_up"].operands("forward")
    ratio = roof.gemm(left.shape[0], right.shape[1], left.shape[1]).ns * OP_CALLS / OP_NS
    away = round(OP_NS / OP_CALLS * sqrt(1 - ratio / (mean_percent / 100)))
    for number, dur_ns in enumerate(_spread_evenly(OP_NS, OP_CALLS)):
        yield dur_ns - away if number % 2 else dur_ns + away


def _gemm_plan(mean_percent: float | None) -> dict[tuple[str, str], Iterator[int]]:
    """Return the durations of every GEMM, in the order of its calls."""
    plan: dict[tuple[str, str], Iterator[int]] = {}
    left_over = GEMM_NS - OP_NS
    for name, linear in _LINEARS.items():
        for phase, speed in zip(_PHASES, linear.speeds, strict=True):
            if speed is not None:
                left, right = linear.operands(phase)
                dur_ns = roof.gemm(left.shape[0], right.shape[1], left.shape[1]).at(speed)
                plan[name, phase] = iter([dur_ns] * linear.calls)
                left_over -= dur_ns * linear.calls
    plan["gate_up", "forward"] = _spread_evenly(OP_NS, OP_CALLS) if mean_percent is None else _varied(mean_percent)
    plan["gate_up", "wgrad"] = _spread_evenly(left_over, _LINEARS["gate_up"].calls)
    return plan


def _residual_total() -> int:
    """Return what is left of the compute time for the residual adds."""
    layer = sum(step.least.at(step.efficiency) for step in (*_FORWARD_PASSES, *_BACKWARD_PASSES))
    attention = _FLASH_NS + sum(_FLASH_BACKWARD.values())
    return COMPUTE_NS - GEMM_NS - _PASSES * (layer + attention)


_QUERY = Tensor((3, 64, 8_192, 128))
_FLASH = Flash(_QUERY, _QUERY)
_FLASH_KERNEL, _FLASH_NS = kernels.ck_fmha("Fwd", 64, 3 * 8_192), _FLASH.least.at(0.39)
_FLASH_BACKWARD = {kernels.ck_fmha("BwdDQDKDV", 64, 3 * 8_192): _FLASH.least_backward.at(0.254)}
_STATE, _INNER = Tensor((TOKENS, HIDDEN)), Tensor((TOKENS, FFN))
_WIDE, _NARROW = Tensor((TOKENS, HIDDEN), "fp32"), Tensor((TOKENS, 1), "fp32")
_NORM = (
    Pass("aten::pow", (_WIDE, "2"), _WIDE, functors.POW_FP32, 0.68),
    Pass("aten::mul", (_WIDE, _NARROW), _WIDE, functors.MUL_FP32, 0.64),
)
_NORM_BACKWARD = (
    Pass("aten::mul", (_WIDE, _NARROW), _WIDE, functors.MUL_FP32, 0.64),
    Pass("aten::mul", (_WIDE, _WIDE), _WIDE, functors.MUL_FP32, 0.73),
    Pass("aten::mul", (_WIDE, _WIDE), _WIDE, functors.MUL_FP32, 0.73),
)
_FORWARD_PASSES = (
    Pass("aten::silu", (_INNER,), _INNER, functors.SILU, 0.74),
    Pass("aten::mul", (_INNER, _INNER), _INNER, functors.MUL, 0.78),
    *_NORM,
    *_NORM,
)
_BACKWARD_PASSES = (
    Pass("aten::mul", (_INNER, _INNER), _INNER, functors.MUL, 0.78),
    Pass("aten::mul", (_INNER, _INNER), _INNER, functors.MUL, 0.78),
    Pass("aten::silu_backward", (_INNER, _INNER), _INNER, functors.SILU_BACKWARD, 0.71),
    *_NORM_BACKWARD,
    *_NORM_BACKWARD,
)
