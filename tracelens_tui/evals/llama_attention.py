"""The attention of the generated Llama: rotary embedding, repeated keys and values, fused causal attention."""

from tracelens_tui.evals import functors, kernels, roof
from tracelens_tui.evals.flash import Flash
from tracelens_tui.evals.llama_model import MODELING, Layers, Llama, module
from tracelens_tui.evals.steps import Cast, Pass, Reduction, Unmodelled
from tracelens_tui.evals.torch_ops import Backward, Torch, nothing, running
from tracelens_tui.evals.values import Tensor


def decoder_layer(layers: Layers, x: Tensor, number: int) -> Tensor:
    """Run one LlamaDecoderLayer; return its output."""
    with module(layers.torch, "LlamaDecoderLayer", number, 301):
        x = layers.add(x, attention(layers, layers.norm(x), number))
        return layers.add(x, layers.mlp(layers.norm(x), number))


def attention(layers: Layers, x: Tensor, number: int) -> Tensor:
    """Run LlamaAttention; return its output."""
    torch, model = layers.torch, layers.model
    with module(torch, "LlamaAttention", number, 233):
        counts = (model.heads, model.kv_heads, model.kv_heads)
        query, key, value = (_heads(torch, layers.linear(x, count * model.head_dim), count) for count in counts)
        with torch.host.frame(f"{MODELING}(125): apply_rotary_pos_emb"):
            query, key = _rotate(torch, model, query), _rotate(torch, model, key)
        with torch.host.frame("transformers/integrations/sdpa_attention.py(38): sdpa_attention_forward"):
            key, _ = _repeat(torch, model, key), _repeat(torch, model, value)
            _fused(torch, model, query, key)
        return layers.linear(x, model.hidden)


def _heads(torch: Torch, x: Tensor, count: int) -> Tensor:
    """Split the last dimension into heads: a view and a transposed view."""
    _, rows, width = x.shape
    dim = width // count
    split = Tensor((1, rows, count, dim))
    heads = Tensor((1, count, rows, dim), "bf16", (rows * width, dim, width, 1))
    torch.view("aten::view", (x, f"[1, {rows}, -1, {dim}]"), torch.node("ViewBackward0", split, nothing))
    sequence = torch.node("TransposeBackward0", heads, nothing)
    torch.view("aten::transpose", (split, "1", "2"), sequence, "aten::as_strided")
    return heads


def _rotate(torch: Torch, model: Llama, x: Tensor) -> Tensor:
    """Run ``x * cos + rotate_half(x) * sin``."""
    speeds = model.speeds
    whole, angles = Tensor(x.shape), Tensor((1, 1, *x.shape[2:]))
    turned = Pass("aten::mul", (whole, angles), whole, functors.MUL, speeds.strided)
    first = Pass("aten::mul", (x, angles), whole, functors.MUL, speeds.strided)
    torch.run(first, torch.node("MulBackward0", whole, running(turned)))
    with torch.host.frame(f"{MODELING}(118): rotate_half"):
        _rotate_half(torch, model, x, whole)
    torch.run(turned, torch.node("MulBackward0", whole, running(turned)))
    total = Pass("aten::add", (whole, whole, "1"), whole, functors.ADD, speeds.bf16)
    torch.run(total, torch.node("AddBackward0", whole, nothing))
    return whole


def _rotate_half(torch: Torch, model: Llama, x: Tensor, whole: Tensor) -> None:
    """Run ``cat((-x2, x1))`` of the two halves of the last dimension."""
    speed, size = model.speeds.strided, x.shape[3] // 2
    part = Tensor((*x.shape[:3], size), "bf16", x.layout)
    dense = Tensor(part.shape)
    for _ in range(2):
        sequence = torch.node("SliceBackward0", dense, _slice_backward(whole, dense, speed))
        torch.view("aten::slice", (x, "3", "0", str(size), "1"), sequence, "aten::as_strided")
    back = running(Pass("aten::neg", (dense,), dense, functors.NEG, speed))
    sequence = torch.node("NegBackward0", dense, back)
    torch.run(Pass("aten::neg", (part,), dense, functors.NEG, speed), sequence)
    pair = (dense, part)
    join = Unmodelled("aten::cat", (pair, "-1"), functors.CAT, roof.elementwise(pair, whole), speed)
    torch.run(join, torch.node("CatBackward0", whole, nothing))


def _slice_backward(whole: Tensor, part: Tensor, speed: float) -> Backward:
    def back(torch: Torch) -> None:
        args = (part, str(list(whole.shape)), "3", "0", str(part.shape[3]), "1")
        with torch.host.op("aten::slice_backward", args):
            with torch.host.op("aten::zeros", (str(list(whole.shape)), "15", None, "0", None)):
                torch.host.fill(torch.stream, roof.elementwise((), whole).at(0.8))
            torch.run(Cast(part, part, speed))

    return back


def _repeat(torch: Torch, model: Llama, x: Tensor) -> Tensor:
    """Run repeat_kv: every key/value head copied for the query heads that share it."""
    times = model.heads // model.kv_heads
    _, count, rows, dim = x.shape
    spread = Tensor((1, count, times, rows, dim), "bf16", (*x.layout[:2], 0, *x.layout[2:]))
    copied, result = Tensor(spread.shape), Tensor((1, count * times, rows, dim))
    single = Tensor((1, count, 1, rows, dim))
    back = running(Reduction("aten::sum", (copied, "[2]", "True", None), copied, single, model.speeds.strided))
    with torch.host.frame("transformers/integrations/sdpa_attention.py(16): repeat_kv"):
        sequence = torch.node("ExpandBackward0", spread, back)
        torch.view("aten::expand", (x, str(list(spread.shape)), "False"), sequence)
        with torch.host.op("aten::reshape", (spread, str(list(result.shape))), sequence=torch.peek()):
            sequence = torch.node("CloneBackward0", copied, nothing)
            with torch.host.op("aten::clone", (spread, "0"), sequence=sequence):
                torch.run(Cast(copied, spread, model.speeds.strided))
            sequence = torch.node("UnsafeViewBackward0", result, nothing)
            torch.view("aten::_unsafe_view", (copied, str(list(result.shape))), sequence)
    return result


def _fused(torch: Torch, model: Llama, query: Tensor, key: Tensor) -> None:
    """Run fused causal attention at the planted efficiencies."""
    flash, blocks = Flash(query, key), query.shape[1] * query.shape[2] // 128
    outer = (query, key, key, None, "0.", "True", flash.scale, "False")
    total = flash.least_backward.at(model.speeds.attention_backward)
    first, keys = total // 25, total * 11 // 20
    parts = {
        kernels.aotriton("bwd_preprocess", blocks): first,
        kernels.aotriton("bwd_kernel_dk_dv", 2 * blocks): keys,
        kernels.aotriton("bwd_kernel_dq", 2 * blocks): total - first - keys,
    }
    with (
        torch.host.frame("<built-in function scaled_dot_product_attention>"),
        torch.host.op("aten::scaled_dot_product_attention", outer, sequence=torch.peek()),
    ):
        back: Backward = lambda torch: flash.backward(torch, parts)  # noqa: E731
        sequence = torch.node("ScaledDotProductFlashAttentionBackward0", Tensor(query.shape), back)
        kernel = kernels.aotriton("attn_fwd", blocks)
        flash.forward(torch, kernel, flash.least.at(model.speeds.attention), sequence)
