"""Fused attention, forward.

FLOPs = 2·B·H_Q·pairs·(d_qk + d_v), where ``pairs`` are the query-key pairs that are looked at: N_Q·N_KV, and with a
causal mask half a square less (the diagonal counts half, so equal lengths cost exactly one half):

* bottom-right aligned (FlashAttention: the last query sees every key): N_Q·N_KV − N_Q²/2, or N_KV²/2 if N_Q > N_KV;
* top-left aligned (memory-efficient and cuDNN attention: the first query sees one key): N_Q²/2, or
  N_Q·N_KV − N_KV²/2 if N_Q > N_KV.

Softmax, scaling and masking are not counted.  Bytes = Q + K + V (+ mask) read once, output written once, each in its
own element size; grouped-query attention reads the K and V heads that there are.  A sliding window or sequences packed
into one batch leave FLOPs unknown.  The math backend has no model: it decomposes into ops that are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from tracelens_tui.perf.operands import Tensor, bytes_of, matrix, tensor, total, value
from tracelens_tui.perf.parse import as_bool, as_float, as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


class Causal(Enum):
    """Which query-key pairs a mask leaves."""

    NONE = "none"
    BOTTOM_RIGHT = "bottom-right"
    TOP_LEFT = "top-left"


@dataclass(frozen=True, slots=True)
class _Layout:
    """How an op lays out Q, K and V (its first three arguments) and where it keeps the others (None = nowhere)."""

    heads_first: bool  # B H N D, else B N H D
    causal: Callable[[OpArgs], Causal | None]  # the mask that a call recorded, None = not recorded
    dropout: int | None = None
    mask: int | None = None  # additive mask tensor
    sequences: tuple[int, ...] = ()  # cumulative lengths of packed sequences
    window: tuple[int, ...] = ()  # left and right size of a sliding window
    flash: bool = True


@dataclass(frozen=True, slots=True)
class _Shape:
    batch: int
    n_q: int
    h_q: int
    n_kv: int
    h_kv: int
    d_qk: int
    d_v: int


def _cost(args: OpArgs, layout: _Layout) -> OpCost | None:
    if any(tensor(args, index) is not None for index in layout.sequences):
        return _packed(args)
    q, k, v = (matrix(args, index, 4) for index in range(3))
    if q is None or k is None or v is None:
        return None
    shape = _shape(q, k, v, heads_first=layout.heads_first)
    if shape is None:
        return None
    causal = layout.causal(args)
    doubled = None if causal is None or _windowed(args, layout) else _double_pairs(shape.n_q, shape.n_kv, causal)
    flops = None if doubled is None else shape.batch * shape.h_q * doubled * (shape.d_qk + shape.d_v)
    mask = None if layout.mask is None else tensor(args, layout.mask)
    outputs = shape.batch * shape.n_q * shape.h_q * shape.d_v
    return OpCost(
        flops=flops,
        bytes_read=total(q.bytes, k.bytes, v.bytes, 0 if mask is None else bytes_of(mask.distinct, mask.dtype)),
        bytes_written=bytes_of(outputs, q.dtype),
        unit="matrix",
        precision=q.dtype.precision if q.dtype else None,
        params=_params(args, layout, shape, causal),
    )


def _shape(q: Tensor, k: Tensor, v: Tensor, *, heads_first: bool) -> _Shape | None:
    """Return the sizes, None if batch, lengths, heads or head dimensions do not go together."""
    order = (0, 2, 1, 3) if heads_first else (0, 1, 2, 3)
    (batch, n_q, h_q, d_qk), (b_k, n_kv, h_kv, d_k), (b_v, n_v, h_v, d_v) = (
        tuple(t.shape[i] for i in order) for t in (q, k, v)
    )
    fits = batch == b_k == b_v and n_kv == n_v and h_kv == h_v and d_qk == d_k and h_kv > 0 and h_q % h_kv == 0
    return _Shape(batch, n_q, h_q, n_kv, h_kv, d_qk, d_v) if fits else None


def _packed(args: OpArgs) -> OpCost | None:
    """Sequences of unrecorded lengths in one batch: the bytes are known, the FLOPs are not."""
    q, k, v = (tensor(args, index) for index in range(3))
    if q is None or k is None or v is None or not q.shape or not v.shape:
        return None
    outputs = q.numel // q.shape[-1] * v.shape[-1] if q.shape[-1] else 0
    return OpCost(
        flops=None,
        bytes_read=total(q.bytes, k.bytes, v.bytes),
        bytes_written=bytes_of(outputs, q.dtype),
        unit="matrix",
        precision=q.dtype.precision if q.dtype else None,
    )


def _flag(index: int, alignment: Causal) -> Callable[[OpArgs], Causal | None]:
    """A mask recorded as a bool argument; ``alignment`` is what True stands for."""

    def causal(args: OpArgs) -> Causal | None:
        recorded = as_bool(value(args, index))
        return None if recorded is None else alignment if recorded else Causal.NONE

    return causal


def _mask_type(index: int) -> Callable[[OpArgs], Causal | None]:
    """A mask recorded as a number: 0 none, 1 from the top left, 2 from the bottom right."""
    kinds = {0: Causal.NONE, 1: Causal.TOP_LEFT, 2: Causal.BOTTOM_RIGHT}

    def causal(args: OpArgs) -> Causal | None:
        code = as_int(value(args, index))
        return None if code is None else kinds.get(code)

    return causal


def _windowed(args: OpArgs, layout: _Layout) -> bool:
    sizes = [as_int(value(args, index)) for index in layout.window]
    return any(size is not None and size >= 0 for size in sizes)


def _double_pairs(n_q: int, n_kv: int, causal: Causal) -> int:
    """Return twice the number of query-key pairs (twice, to stay whole)."""
    if causal is Causal.NONE:
        return 2 * n_q * n_kv
    if causal is Causal.BOTTOM_RIGHT:
        return 2 * n_q * n_kv - n_q**2 if n_q <= n_kv else n_kv**2
    return n_q**2 if n_q <= n_kv else 2 * n_q * n_kv - n_kv**2


def _params(args: OpArgs, layout: _Layout, shape: _Shape, causal: Causal | None) -> dict[str, int | float | str | bool]:
    params: dict[str, int | float | str | bool] = {
        "B": shape.batch,
        "N_Q": shape.n_q,
        "H_Q": shape.h_q,
        "N_KV": shape.n_kv,
        "H_KV": shape.h_kv,
        "d_h_qk": shape.d_qk,
        "d_h_v": shape.d_v,
        "flash_impl": layout.flash,
    }
    dropout = None if layout.dropout is None else as_float(value(args, layout.dropout))
    if dropout is not None:
        params["dropout"] = dropout
    if causal is not None:
        params["causal"] = causal is not Causal.NONE
        if causal is not Causal.NONE and shape.n_q != shape.n_kv:
            params["causal_alignment"] = causal.value
    return params


def _sdpa(layout: _Layout, *names: str) -> OpModel:
    return OpModel(names, "SDPA", "SDPA_fwd", partial(_cost, layout=layout))


def _bottom_right(index: int) -> Callable[[OpArgs], Causal | None]:
    return _flag(index, Causal.BOTTOM_RIGHT)


def _top_left(index: int) -> Callable[[OpArgs], Causal | None]:
    return _flag(index, Causal.TOP_LEFT)


MODELS = (
    _sdpa(
        _Layout(heads_first=True, causal=_bottom_right(4), dropout=3),
        "aten::_scaled_dot_product_flash_attention",
    ),
    _sdpa(
        _Layout(heads_first=True, causal=_top_left(6), dropout=5, mask=3, flash=False),
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
    ),
    _sdpa(
        _Layout(heads_first=True, causal=_top_left(5), dropout=4, mask=3, flash=False),
        "aten::_scaled_dot_product_fused_attention_overrideable",
    ),
    _sdpa(
        _Layout(heads_first=False, causal=_bottom_right(8), dropout=7, sequences=(3, 4), window=(11, 12)),
        "aten::_flash_attention_forward",
    ),
    _sdpa(
        _Layout(heads_first=False, causal=_mask_type(9), dropout=8, mask=3, sequences=(4, 5), flash=False),
        "aten::_efficient_attention_forward",
    ),
    _sdpa(
        _Layout(heads_first=True, causal=_top_left(10), dropout=9, mask=3, sequences=(4, 5), flash=False),
        "aten::_cudnn_attention_forward",
    ),
    _sdpa(
        _Layout(heads_first=False, causal=_bottom_right(5), dropout=3, window=(6, 7)),
        "flash_attn::_flash_attn_forward",
        "FlashAttnFunc",
    ),
)
"""Argument positions as in PyTorch's ``native_functions.yaml`` and the flash-attn package (2.x)."""
