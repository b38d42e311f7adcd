"""What a fused attention costs, forward and backward.

FLOPs of the forward pass = 2·B·H_Q·pairs·(d_qk + d_v): the scores, then their product with V.  The backward pass makes
the scores again and four more products (dV, dP, dQ, dK): 2·B·H_Q·pairs·(3·d_qk + 2·d_v).  ``pairs`` are the query-key
pairs that the mask leaves (:mod:`tracelens_tui.perf.attention_pairs`).  Softmax, scaling, masking, dropout and the sum
over the query heads of a KV head are not counted.

Bytes: every tensor once in its own element size; grouped-query attention reads the K and V heads that there are.  The
backward pass reads Q, K, V, the output, its gradient and the log-sum-exp, and writes the gradients of Q, K and V.

Packed sequences: their lengths are not recorded, but their number, their sum and the longest are.  FLOPs are exact
where these leave one answer (one sequence, all equally long, one query each); for self-attention they leave a range,
whose low end (the others equally long) is the figure; else FLOPs are unknown.
"""

from dataclasses import dataclass

from tracelens_tui.perf.attention_layout import Layout, Operands
from tracelens_tui.perf.attention_pairs import Mask, double_pairs
from tracelens_tui.perf.operands import bytes_of, moved, tensor, total, value
from tracelens_tui.perf.parse import as_float, as_int
from tracelens_tui.perf.products import narrow_output
from tracelens_tui.perf.types import OpArgs, OpCost

Params = dict[str, int | float | str | bool]


@dataclass(frozen=True, slots=True)
class _Work:
    """Twice the query-key pairs of all sequences: exact, or from the fewest to the most."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class _Heads:
    h_q: int
    h_kv: int
    d_qk: int
    d_v: int


def attention_cost(args: OpArgs, layout: Layout) -> OpCost | None:
    """Return what one call costs, None where its shapes do not say or do not go together."""
    if layout.cached(args):
        return None
    return _packed(args, layout) if layout.packed(args) else _dense(args, layout)


def _dense(args: OpArgs, layout: Layout) -> OpCost | None:
    operands = layout.operands(args, 4)
    if operands is None:
        return None
    order = (0, 2, 1, 3) if layout.heads_first else (0, 1, 2, 3)
    (batch, n_q, *q), (b_k, n_kv, *k), (b_v, n_v, *v) = (
        tuple(one.shape[i] for i in order) for one in (operands.q, operands.k, operands.v)
    )
    heads = _heads(q, k, v)
    if heads is None or not (batch == b_k == b_v and n_kv == n_v):
        return None
    mask = layout.mask_of(args)
    work = None
    if mask is not None:
        doubled = batch * double_pairs(n_q, n_kv, mask)
        work = _Work(doubled, doubled)
    params: Params = {"B": batch, "N_Q": n_q, "H_Q": heads.h_q, "N_KV": n_kv, "H_KV": heads.h_kv}
    return _cost(args, layout, operands, heads, work, params | _mask_params(mask, aligned=n_q == n_kv))


def _heads(q: list[int], k: list[int], v: list[int]) -> _Heads | None:
    """The heads and their dimensions, None if they do not go together."""
    (h_q, d_qk), (h_kv, d_k), (h_v, d_v) = q, k, v
    fits = h_kv == h_v and d_qk == d_k and h_kv > 0 and h_q % h_kv == 0
    return _Heads(h_q, h_kv, d_qk, d_v) if fits else None


def _packed(args: OpArgs, layout: Layout) -> OpCost | None:
    """Q, K and V as tokens × heads × dimension, with or without a batch of 1 before."""
    operands = layout.operands(args, 3) or layout.operands(args, 4)
    if operands is None:
        return None
    (t_q, *q), (t_kv, *k), (t_v, *v) = (one.shape[-3:] for one in (operands.q, operands.k, operands.v))
    alone = all(len(one.shape) == 3 or one.shape[0] == 1 for one in (operands.q, operands.k, operands.v))
    heads = _heads(list(q), list(k), list(v))
    if heads is None or t_kv != t_v or not alone:
        return None
    mask = layout.mask_of(args)
    lengths = _lengths(args, layout, t_q, t_kv)
    work = None if mask is None or lengths is None else _packed_work(lengths, mask)
    params: Params = {"tokens_Q": t_q, "H_Q": heads.h_q, "tokens_KV": t_kv, "H_KV": heads.h_kv}
    if lengths is not None:
        params |= {"sequences": lengths.count, "max_Q": lengths.max_q, "max_KV": lengths.max_kv}
    return _cost(args, layout, operands, heads, work, params | _mask_params(mask, aligned=t_q == t_kv))


@dataclass(frozen=True, slots=True)
class _Lengths:
    """What is recorded of packed sequences."""

    count: int
    t_q: int
    t_kv: int
    max_q: int
    max_kv: int
    same: bool  # queries and keys have the same lengths: self-attention


def _lengths(args: OpArgs, layout: Layout, t_q: int, t_kv: int) -> _Lengths | None:
    """None where the longest are not recorded or cannot be."""
    if layout.sequences is None or layout.longest is None:
        return None
    ends = [tensor(args, index) for index in layout.sequences]
    max_q, max_kv = (as_int(value(args, index)) for index in layout.longest)
    if ends[0] is None or ends[1] is None or ends[0].shape != ends[1].shape or max_q is None or max_kv is None:
        return None
    count = ends[0].numel - 1
    possible = max_q <= t_q <= count * max_q and max_kv <= t_kv <= count * max_kv
    if count < 1 or not possible:
        return None
    return _Lengths(count, t_q, t_kv, max_q, max_kv, same=(t_q, max_q) == (t_kv, max_kv))


def _packed_work(lengths: _Lengths, mask: Mask) -> _Work | None:
    count, t_q, t_kv, max_q, max_kv = lengths.count, lengths.t_q, lengths.t_kv, lengths.max_q, lengths.max_kv
    if count == 1:
        return _exactly(double_pairs(t_q, t_kv, mask))
    if (t_q, t_kv) == (count * max_q, count * max_kv):
        return _exactly(count * double_pairs(max_q, max_kv, mask))
    if (t_q, max_q) == (count, 1) and not mask.windowed and not (mask.top_left and mask.causal):
        return _exactly(2 * t_kv - (count if mask.causal else 0))  # one query each, which sees all of its keys
    if lengths.same and not mask.windowed:
        return _self_attention(count, t_q, max_q, mask)
    return None


def _exactly(doubled: int) -> _Work:
    return _Work(doubled, doubled)


def _self_attention(count: int, tokens: int, longest: int, mask: Mask) -> _Work:
    """The work grows with the square of a length: least where the others are equal, most where all are extreme."""
    factor = 1 if mask.causal else 2
    rest = tokens - longest
    least = factor * longest**2 + factor * rest**2 // (count - 1)
    whole, left = divmod(tokens, longest)
    return _Work(least, factor * (whole * longest**2 + left**2))


def _cost(
    args: OpArgs, layout: Layout, operands: Operands, heads: _Heads, work: _Work | None, params: Params
) -> OpCost:
    q, k, v = operands.q, operands.k, operands.v
    inner = heads.d_qk + heads.d_v if layout.grad is None else 3 * heads.d_qk + 2 * heads.d_v
    bias = None if layout.bias is None else tensor(args, layout.bias)
    bias_bytes = 0 if bias is None else bytes_of(bias.distinct, bias.dtype)
    if layout.grad is None:
        outputs = q.numel // heads.d_qk * heads.d_v if heads.d_qk else 0
        read, written = moved(q, k, v), bytes_of(outputs, narrow_output(q.dtype))
    else:
        saved = [tensor(args, index) for index in (layout.grad, *layout.saved)]
        read, written = moved(q, k, v, *saved), moved(q, k, v)
    params |= {"d_h_qk": heads.d_qk, "d_h_v": heads.d_v, "flash_impl": layout.flash} | _dropout(args, layout)
    per_pair = heads.h_q * inner
    return OpCost(
        flops=None if work is None else per_pair * work.least,
        bytes_read=total(read, bias_bytes),
        bytes_written=written,
        unit="matrix",
        precision=q.dtype.precision if q.dtype else None,
        params=params,
        flops_range=None if work is None or work.least == work.most else (per_pair * work.least, per_pair * work.most),
    )


def _dropout(args: OpArgs, layout: Layout) -> Params:
    dropout = None if layout.dropout is None else as_float(value(args, layout.dropout))
    return {} if dropout is None else {"dropout": dropout}


def _mask_params(mask: Mask | None, *, aligned: bool) -> Params:
    if mask is None:
        return {}
    params: Params = {"causal": mask.causal}
    if mask.causal and not aligned:
        params["causal_alignment"] = "top-left" if mask.top_left else "bottom-right"
    sides = {"window_left": mask.left, "window_right": mask.right if mask.windowed else None}
    return params | {name: size for name, size in sides.items() if size is not None}
