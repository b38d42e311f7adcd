"""Attention of inference engines: vLLM, SGLang, AITER, paged caches.

How long the requests of a batch are does not stand in an op's arguments; it stands in the name of the iteration around
the call (:mod:`tracelens_tui.perf.iterations`).  With its sums (c = context, g = generation):

    FLOPs = H_Q·(d_qk + d_v)·(2·c_sqsk − c_sqsq + 2·g_sqsk)
    bytes = b_Q·(c_sq + g_sq)·(H_Q + H_KV)·(d_qk + d_v) + b_KV·(c_sk − c_sq + g_sk − g_sq)·H_KV·(d_qk + d_v)

that is, causal from the bottom right; Q, the output and the new K and V in Q's type, the cached K and V in the cache's.
A sliding window W limits g_sqsk and g_sk to g_sq·W.  Without the sums there is no answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.iterations import Iteration, Requests, iteration_of
from tracelens_tui.perf.operands import Tensor, bytes_of, elements, tensor, total, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import vector

_FAMILY = "InferenceAttention"


@dataclass(frozen=True, slots=True)
class _Heads:
    """Heads and dimensions, and the types of queries and cache."""

    h_q: int
    h_kv: int
    d_qk: int
    d_v: int
    query: Dtype | None
    cache: Dtype | None


HeadsReader = Callable[[OpArgs], _Heads | None]


@dataclass(frozen=True, slots=True)
class _Sums:
    """Work of a batch: twice the query-key pairs, query tokens, cached key tokens."""

    doubled: int
    queries: int
    cached: int


def _context(requests: Requests) -> _Sums | None:
    """Prefill: the new tokens see each other causally and all that is cached."""
    known = _complete(requests)
    if known is None:
        return None
    sq, sk, sqsq, sqsk = known
    return _Sums(2 * sqsk - sqsq, sq, sk - sq)


def _generation(requests: Requests, window: int | None) -> _Sums | None:
    """Decode: each new token sees everything before it."""
    known = _complete(requests)
    if known is None:
        return None
    sq, sk, _, sqsk = known
    if window is not None:
        sqsk, sk = min(sqsk, sq * window), min(sk, sq * window)
    return _Sums(2 * sqsk, sq, max(sk - sq, 0))


def _complete(requests: Requests) -> tuple[int, int, int, int] | None:
    """All four sums, None where one is missing or they cannot be."""
    sq, sk, sqsq, sqsk = requests.sq, requests.sk, requests.sqsq, requests.sqsk
    if sk is None or sqsq is None or sqsk is None or not (sq <= sk and sqsq <= sqsk):
        return None
    return sq, sk, sqsq, sqsk


def _batch(iteration: Iteration, window: int | None, *, decode_only: bool) -> _Sums | None:
    generation = _generation(iteration.generation, window)
    context = _Sums(0, 0, 0) if decode_only else _context(iteration.context)
    if generation is None or context is None:
        return None
    return _Sums(*(getattr(context, name) + getattr(generation, name) for name in ("doubled", "queries", "cached")))


def _cost(args: OpArgs, heads: HeadsReader, *, window: int | None = None, decode_only: bool = False) -> OpCost | None:
    """``window`` is the position of a sliding window's size; ``decode_only`` ops see no prefill."""
    found, iteration = heads(args), iteration_of(args.iteration)
    if found is None or iteration is None or found.h_kv < 1 or found.h_q % found.h_kv:
        return None
    size = None if window is None else as_int(value(args, window))
    sums = _batch(iteration, size if size is not None and size > 0 else None, decode_only=decode_only)
    if sums is None or not sums.queries:
        return None
    inner = found.d_qk + found.d_v
    params: dict[str, int | float | str | bool] = {
        "H_Q": found.h_q,
        "H_KV": found.h_kv,
        "d_h_qk": found.d_qk,
        "d_h_v": found.d_v,
        "sum_ctx_tokens": 0 if decode_only else iteration.context.sq,
        "sum_gen_tokens": iteration.generation.sq,
        "cached_tokens": sums.cached,
    }
    return OpCost(
        flops=found.h_q * inner * sums.doubled,
        bytes_read=total(
            bytes_of(sums.queries * (found.h_q * found.d_qk + found.h_kv * inner), found.query),
            bytes_of(sums.cached * found.h_kv * inner, found.cache),
        ),
        bytes_written=bytes_of(sums.queries * found.h_q * found.d_v, found.query),
        unit="matrix",
        precision=found.query.precision if found.query else None,
        params=params,
    )


def _by_head(args: OpArgs, *, q: int = 0, k: int = 1, v: int | None = None) -> _Heads | None:
    """Queries N×H×d, keys (in pages or not) …×H×d; d_v is that of the values, else of the keys."""
    queries, keys = tensor(args, q), tensor(args, k)
    values = keys if v is None else tensor(args, v)
    if queries is None or keys is None or values is None or len(queries.shape) != 3 or len(keys.shape) < 3:
        return None
    _, h_q, d_qk = queries.shape
    if not values.shape:
        return None
    return _Heads(h_q, keys.shape[-2], d_qk, values.shape[-1], queries.dtype, keys.dtype)


def _fixed_value_dim(args: OpArgs, *, position: int, otherwise: int) -> _Heads | None:
    """As :func:`_by_head`, with d_v recorded as a number."""
    found, d_v = _by_head(args), as_int(value(args, position))
    if found is None:
        return None
    return _Heads(found.h_q, found.h_kv, found.d_qk, d_v or otherwise, found.query, found.cache)


def _pages_by_head(args: OpArgs) -> _Heads | None:
    """``pa_decode_gluon``: the cache has its heads second."""
    queries, cache = tensor(args, 0), tensor(args, 2)
    if queries is None or cache is None or len(queries.shape) != 3 or len(cache.shape) < 2:
        return None
    _, h_q, d = queries.shape
    return _Heads(h_q, cache.shape[1], d, d, queries.dtype, cache.dtype)


def _counted_heads(args: OpArgs, *, q: int) -> _Heads | None:
    """``paged_attention_*(…, query, key cache, value cache, number of KV heads, …)``."""
    queries, cache, heads = tensor(args, q), tensor(args, q + 1), as_int(value(args, q + 3))
    if queries is None or cache is None or heads is None or len(queries.shape) != 3:
        return None
    _, h_q, d = queries.shape
    return _Heads(h_q, heads, d, d, queries.dtype, cache.dtype)


def _sparse_prefill(args: OpArgs) -> OpCost | None:
    """``pa_sparse_prefill_opus_fwd``: the lists of pages give the pairs; K and V are one tensor of one head."""
    q, first, second = tensor(args, 0), tensor(args, 2), tensor(args, 5)
    if q is None or len(q.shape) != 3 or first is None or second is None or not first.shape or not second.shape:
        return None
    tokens, h_q, d = q.shape
    pairs = first.shape[0] + second.shape[0]
    cache = tensor(args, 1)
    return OpCost(
        flops=4 * pairs * h_q * d,
        bytes_read=total(q.bytes, None if cache is None else bytes_of(pairs * d, cache.dtype)),
        bytes_written=bytes_of(tokens * h_q * d, q.dtype),
        unit="matrix",
        precision=q.dtype.precision if q.dtype else None,
        params={"N": tokens, "H_Q": h_q, "d": d, "pairs": pairs},
    )


def _gated_delta(args: OpArgs) -> OpCost | None:
    """Gated delta net: 7 operations per token and element of the state d_v×d_k of each value head.

    The heads come from the mixed projection N×(2·H_K·d_k + H_V·d_v) with two value heads to a key head.
    """
    mixed, b, state = tensor(args, 0), tensor(args, 1), tensor(args, 3)
    iteration = iteration_of(args.iteration)
    if mixed is None or b is None or state is None or iteration is None or not iteration.tokens:
        return None
    if len(mixed.shape) < 2 or len(b.shape) < 2 or len(state.shape) < 3:
        return None
    h_v, d_v = b.shape[1], state.shape[2]
    h_k, keys = h_v // 2, (mixed.shape[1] - h_v * d_v) // 2
    if h_k < 1 or keys < 1 or keys % h_k:
        return None
    d_k, tokens = keys // h_k, iteration.tokens
    read = elements(tokens * h_v * (d_k + d_v + 2), mixed.dtype)
    written = elements(tokens * h_v * d_v, mixed.dtype)
    return OpCost(
        flops=7 * tokens * h_v * d_v * d_k,
        bytes_read=read.bytes,
        bytes_written=written.bytes,
        unit="matrix",
        precision=mixed.dtype.precision if mixed.dtype else None,
        params={"tokens": tokens, "H_V": h_v, "H_K": h_k, "d_v": d_v, "d_k": d_k},
    )


def _store(args: OpArgs) -> OpCost | None:
    """``store_cache(k, v, …)``: keys and values, equally large, go to the cache."""
    keys = tensor(args, 0)
    return None if keys is None else vector(0, [keys, keys], [keys, keys], keys.dtype)


def _reshape_and_cache(args: OpArgs) -> OpCost | None:
    """``reshape_and_cache*(key, value, key cache, value cache, slots, …)``: as many tokens as there are slots."""
    keys, values, cache, slots = (tensor(args, index) for index in (0, 1, 2, 4))
    if keys is None or values is None or slots is None or cache is None:
        return None
    return _cached([keys, values], cache, slots)


def _concat_and_cache(args: OpArgs) -> OpCost | None:
    """``concat_and_cache_mla(latent, rotated keys, cache, slots, …)``."""
    latent, rotated, cache, slots = (tensor(args, index) for index in range(4))
    if latent is None or rotated is None or slots is None or cache is None:
        return None
    return _cached([latent, rotated], cache, slots)


def _cached(parts: list[Tensor], cache: Tensor, slots: Tensor) -> OpCost | None:
    if len(slots.shape) != 1 or any(not part.shape or part.shape[0] < slots.numel for part in parts):
        return None
    count = [slots.numel * (part.numel // part.shape[0]) if part.shape[0] else 0 for part in parts]
    read = [elements(number, part.dtype) for number, part in zip(count, parts, strict=True)]
    return vector(0, [*read, slots], [elements(sum(count), cache.dtype)], cache.dtype)


def _serving(heads: HeadsReader, *names: str, window: int | None = None, decode_only: bool = False) -> OpModel:
    cost = partial(_cost, heads=heads, window=window, decode_only=decode_only)
    return OpModel(names, _FAMILY, _FAMILY, cost, per_iteration=True)


def _plain(cost: Callable[[OpArgs], OpCost | None], *names: str, per_iteration: bool = False) -> OpModel:
    return OpModel(names, _FAMILY, _FAMILY, cost, per_iteration=per_iteration)


MODELS = (
    _serving(
        _by_head,
        "vllm::unified_attention_with_output",
        "vllm::unified_attention",
        "sglang::unified_attention_with_output",
        "aiter::mha_varlen_fwd",
        "pseudo_mla_decode_fwd",
    ),
    _serving(partial(_by_head, v=2), "aiter::fmha_v3_varlen_fwd", "aiter::mha_batch_prefill", "pseudo_mla_prefill_fwd"),
    _serving(partial(_by_head, q=2, k=3, v=4), "sglang_profiler::attention_paged_attention_ragged"),
    _serving(
        partial(_fixed_value_dim, position=4, otherwise=512),
        "sglang_profiler::tilelang_kernel_tilelang_sparse_fwd",
    ),
    _serving(_pages_by_head, "aiter::pa_decode_gluon", window=19, decode_only=True),
    _serving(partial(_counted_heads, q=1), "_C::paged_attention_v1", decode_only=True),
    _serving(partial(_counted_heads, q=4), "_C::paged_attention_v2", "_rocm_C::paged_attention", decode_only=True),
    _plain(_gated_delta, "vllm::gdn_attention_core", "aiter::linear_attention_with_output_base", per_iteration=True),
    _plain(_sparse_prefill, "aiter::pa_sparse_prefill_opus_fwd"),
    _plain(_store, "sglang::store_cache"),
    _plain(_reshape_and_cache, "_C_cache_ops::reshape_and_cache_flash", "_C_cache_ops::reshape_and_cache"),
    _plain(_concat_and_cache, "_C_cache_ops::concat_and_cache_mla"),
)
