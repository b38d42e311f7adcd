"""The demo trace: one training step of a Llama-like model on one MI300X of eight, with planted problems.

Planted are a language-model head whose vocabulary is a multiple of nothing, attention on a slow kernel, norms as chains
of fp32 pointwise ops at poor bandwidth, a loss that the host reads between forward and backward, an all-reduce that
nothing hides, and an optimizer with a tail of small kernels.  Kernel durations follow from FLOPs or bytes and the
planted efficiency, so the tables must show just that efficiency.
"""

from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path

from tracelens_tui.evals import functors, kernels, roof
from tracelens_tui.evals.autograd import run_backward
from tracelens_tui.evals.collectives import ALL_REDUCE, REDUCE_SCATTER, run_collective, wait
from tracelens_tui.evals.flash import BACKWARD, FORWARD
from tracelens_tui.evals.host import HostThread
from tracelens_tui.evals.llama_attention import decoder_layer
from tracelens_tui.evals.llama_model import Layers, Llama, module
from tracelens_tui.evals.planted import Ledger, OpTruth, Planted, Problem, longest_gap, planted, problem, split
from tracelens_tui.evals.steps import Pass, Unmodelled
from tracelens_tui.evals.torch_ops import Node, Torch
from tracelens_tui.evals.values import SCALAR, Shape, Tensor
from tracelens_tui.evals.writer import PID, Capture, TraceWriter

RANKS = 8
LAYERS = 16
_LOGGING_NS = 78_000_000
_LOGGED_SERIES = 120
_OVERLAPPED_GBPS, _EXPOSED_GBPS = 296.0, 74.0  # bus bandwidths
_SCRIPT = "train.py"


def write_llama_step(path: Path, *, seed: int = 0, layers: int = LAYERS) -> Planted:
    """Write the step to ``path`` (gzip where the name ends in ``.gz``) and return what was planted.

    The same seed and number of layers give the same bytes.
    """
    with TraceWriter(path, Capture(seed, world_size=RANKS, trace_name="llama_step.json")) as writer:
        step = _Step(writer, layers)
        step.run()
    start, end = longest_gap(writer.gpu_log)
    return planted(writer, step.ledger, step.problems(), longest_gap_ns=end - start, tail_idle_ns=step.tail_idle())


class _Step:
    def __init__(self, writer: TraceWriter, layers: int) -> None:
        self.writer, self.layers, self.model = writer, layers, Llama()
        self.ledger = Ledger()
        self.main = HostThread(writer)
        self.compute, self.comm = writer.stream(0), writer.stream(5)
        self.torch = Torch(self.main, self.compute, self.ledger)
        self.layer_starts: set[int] = set()  # sequence numbers of the nodes with which the layers begin
        self.exposed_ns = 0
        self.tail: tuple[int, int] = (0, 0)

    def run(self) -> None:
        """Write the whole step."""
        main = self.main
        with (
            main.frame(f"{_SCRIPT}(231): <module>"),
            main.frame(f"{_SCRIPT}(198): main"),
            main.annotation("ProfilerStep#12"),
            main.frame(f"{_SCRIPT}(141): train_step"),
        ):
            self._load_batch()
            self._forward()
            self._log_loss()
            self._backward()
            begin = self.compute.free_ns
            self._clip()
            self._optimize()
            self._average()
            self.tail = (begin, self.compute.free_ns)

    def problems(self) -> Iterator[Problem]:
        """Yield what was planted."""
        truths, time = self.ledger.truths(), split(self.writer.gpu_log)
        head = [truth for truth in truths if truth.op == "aten::mm" and str(self.model.vocab) in truth.dims]
        yield problem("gemm", head, time.window, "vocabulary that is a multiple of nothing")
        for op in (FORWARD, BACKWARD):
            yield problem("attention", [truth for truth in truths if truth.op == op], time.window, "slow kernel")
        yield problem("elementwise", self._chain(truths), time.window, "fp32 chain of the norms")
        idle, exposed = time.idle, self.exposed_ns
        yield Problem(
            "cpu-idle", "aten::_local_scalar_dense", "", idle, idle / time.window, note="loss read, then logging"
        )
        yield Problem("multi-kernel", ALL_REDUCE.op, "", exposed, exposed / time.window, note="nothing hides it")

    def tail_idle(self) -> int:
        """Return the idle time of the GPU from the first gradient norm on."""
        begin, end = self.tail
        busy = sum(span.end_ns - span.start_ns for span in self.writer.gpu_log if span.start_ns >= begin)
        return end - begin - busy

    def _chain(self, truths: Iterable[OpTruth]) -> list[OpTruth]:
        wide = f"[[1, {self.model.tokens}, {self.model.hidden}]"
        ops = {"aten::mul", "aten::pow", "aten::div"}
        return [
            truth
            for truth in truths
            if truth.op in ops and truth.dims.startswith(wide) and truth.types.startswith('["float"')
        ]

    def _load_batch(self) -> None:
        main, batch = self.main, Tensor((1, self.model.tokens), "int64")
        with main.frame(f"{_SCRIPT}(88): to_device"):
            for _ in ("input_ids", "labels"):
                with (
                    main.frame("<built-in method to of Tensor object at 0x7f53d91c7b50>"),
                    main.op("aten::to", (batch, None, "0", "False", "True", None)),
                    main.op("aten::_to_copy", (batch, "4", "0", "0", "False", "False", None)),
                    main.op("aten::copy_", (batch, batch, "False")),
                ):
                    main.copy("HtoD", batch.nbytes, self.compute, 3_480)

    def _forward(self) -> None:
        torch, model = self.torch, self.model
        hidden = Tensor((1, model.tokens, model.hidden))
        layers = Layers(torch, model)
        with module(torch, "LlamaForCausalLM", 0, 812):
            with module(torch, "LlamaModel", 0, 540):
                self._embed(hidden)
                for number in range(self.layers):
                    self.layer_starts.add(self.writer.ids.sequence)
                    hidden = decoder_layer(layers, hidden, number)
                hidden = layers.norm(hidden)
            logits = layers.linear(hidden, model.vocab, model.speeds.head, tuned=False)
            with torch.host.frame("transformers/loss/loss_utils.py(36): ForCausalLMLoss"):
                layers.cast(logits, "fp32")
                self._loss(Tensor(logits.shape[1:], "fp32"))

    def _embed(self, hidden: Tensor) -> None:
        torch, model = self.torch, self.model
        table, ids = Tensor((model.vocab, model.hidden)), Tensor((1, model.tokens), "int64")
        least = roof.elementwise((hidden,), hidden)
        gather = Unmodelled("aten::embedding", (table, ids, "-1", "False", "False"), functors.EMBEDDING, least, 0.55)
        args = (hidden, ids, str(model.vocab), "-1", "False")
        scatter = Unmodelled("aten::embedding_dense_backward", args, functors.EMBEDDING_BACKWARD, least, 0.2)
        with module(torch, "Embedding", 0, 190, "torch/nn/modules/sparse.py"):
            back = lambda torch: torch.run(scatter)  # noqa: E731
            torch.run(gather, torch.node("EmbeddingBackward0", hidden, back, table))

    def _loss(self, logits: Tensor) -> None:
        """Run the cross entropy of fp32 logits."""
        torch, target, mean = self.torch, Tensor(logits.shape[:1], "int64"), Tensor((), "fp32")
        once, twice = roof.elementwise((logits,), logits), roof.elementwise((logits, logits), logits)
        soft_args = (logits, logits, "1", "6")
        soft = Unmodelled("aten::_log_softmax", (logits, "1", "False"), functors.LOG_SOFTMAX, once, 0.6)
        soft_back = Unmodelled(
            "aten::_log_softmax_backward_data", soft_args, functors.LOG_SOFTMAX_BACKWARD, twice, 0.55
        )

        def loss_back(torch: Torch) -> None:
            with torch.host.op("aten::nll_loss_backward", (mean, logits, target, None, "1", "-100", mean)):
                torch.host.fill(torch.stream, roof.elementwise((), logits).at(0.8))
                torch.host.launch(functors.LOSS_BACKWARD, torch.stream, 9_400)

        with torch.host.op(
            "aten::cross_entropy_loss", (logits, target, None, "1", "-100", "0."), sequence=torch.peek()
        ):
            torch.run(soft, torch.node("LogSoftmaxBackward0", logits, lambda torch: torch.run(soft_back)))
            sequence = torch.node("NllLossBackward0", mean, loss_back)
            torch.kernel_op(
                "aten::nll_loss_forward", (logits, target, None, "1", "-100"), functors.LOSS, 21_300, sequence
            )

    def _log_loss(self) -> None:
        """Read the loss on the host, then log while the GPU has nothing to do."""
        main = self.main
        with main.frame(f"{_SCRIPT}(97): log_metrics"):
            with main.frame("<built-in method item of Tensor object at 0x7f53d91c9f10>"):
                self.torch.item(Tensor((), "fp32"))
            with main.frame("metrics/writer.py(57): add_scalars"):
                for series in range(_LOGGED_SERIES):
                    frame = f"metrics/writer.py({81 + series % 7}): _append"
                    with main.frame(frame), main.frame("<built-in function format>"):
                        main.spend(_LOGGING_NS // _LOGGED_SERIES)

    def _backward(self) -> None:
        main, model, both = self.main, self.model, (self.compute, self.comm)
        engine = HostThread(self.writer, PID + 95, "pt_autograd_0", main.now + 60_000)
        gradient = Tensor((model.layer_parameters // RANKS * RANKS,))

        def after(node: Node) -> None:
            if node.sequence in self.layer_starts:
                run_collective(engine, REDUCE_SCATTER, gradient, both, ranks=RANKS, bus_gbps=_OVERLAPPED_GBPS)

        with (
            main.frame("torch/_tensor.py(592): backward"),
            main.frame("torch/autograd/__init__.py(245): backward"),
            main.frame("torch/autograd/graph.py(815): _engine_run_backward"),
            main.frame("<built-in method run_backward of torch._C._EngineBase object at 0x7f54a1bd2c30>"),
        ):
            run_backward(Torch(engine, self.compute, self.ledger), self.torch.tape, after)
            main.now = engine.now + 40_000
        self.torch.recording = False
        ends = Tensor((2 * model.vocab * model.hidden,), "fp32")
        with main.frame(f"{_SCRIPT}(112): sync_shared_gradients"):
            span = run_collective(main, ALL_REDUCE, ends, both, ranks=RANKS, bus_gbps=_EXPOSED_GBPS)
            wait(main, self.compute, self.comm)
            with main.frame("torch/cuda/__init__.py(987): synchronize"):
                main.call("hipDeviceSynchronize", 20_000, until_ns=self.comm.free_ns + 9_000)
        self.exposed_ns = span.end_ns - span.start_ns

    def _clip(self) -> None:
        """Norm of every gradient shard one by one, the total read on the host: launch-bound."""
        main, total = self.main, Tensor((), "fp32")
        with main.frame("torch/nn/utils/clip_grad.py(165): clip_grad_norm_"):
            for shard in self._shards():
                with main.frame("<built-in function linalg_vector_norm>"):
                    main.spend(21_000)
                    args = (shard, "2.", None, "False", None)
                    least = roof.reduction(shard, total)
                    self.torch.run(Unmodelled("aten::linalg_vector_norm", args, functors.VECTOR_NORM, least, 0.45))
            self.torch.item(total)

    def _optimize(self) -> None:
        """Run AdamW by foreach ops, each a few multi-tensor kernels."""
        main, shards = self.main, self._shards()
        size = sum(shard.nbytes for shard in shards)
        with main.annotation("Optimizer.step#AdamW.step"), main.frame("torch/optim/adamw.py(567): _multi_tensor_adamw"):
            for op, functor, depth, passes in functors.FOREACH_ADAMW:
                with main.op(op, (tuple(shards[:30]),) * depth):
                    main.spend(45_000)
                    for _ in range(4):
                        dur_ns = round(size * passes / 4 / roof.BANDWIDTH_GBPS / 0.66)
                        main.launch(kernels.foreach(functor, depth, 320), self.compute, dur_ns)

    def _average(self) -> None:
        """Keep a moving average of the weights, two small kernels a parameter; the host reads the decay first."""
        main = self.main
        with main.frame("ema.py(44): update"):
            self.torch.item(Tensor((), "fp32"))
            for shard in self._shards():
                for step in (
                    Pass("aten::mul_", (shard, SCALAR), shard, functors.SCALE_FP32, 0.72),
                    Pass("aten::add_", (shard, shard, "0.0005"), shard, functors.ADD_FP32, 0.72),
                ):
                    main.spend(24_000)
                    self.torch.run(step)

    def _shards(self) -> list[Tensor]:
        """The part of every parameter that this rank optimises."""
        model = self.model
        shapes: list[Shape] = [(model.vocab, model.hidden), (model.vocab, model.hidden), (model.hidden,)]
        shapes += model.layer_shapes * self.layers
        return [Tensor((prod(shape) // RANKS,), "fp32") for shape in shapes]
