"""Rotary position embedding: three operations per rotated element (TraceLens), read and written once.

The angles that the call names are read too: a table of cosines and sines by position, no more of it than it has.
"""

from functools import partial

from tracelens_tui.perf.operands import Tensor, as_text, elements, matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import vector

_FAMILY, _CATEGORY = "RoPE", "RoPE_fwd"


def _fused(args: OpArgs) -> OpCost | None:
    """``(t, freqs, …)``: all of ``t`` is rotated."""
    x = tensor(args, 0)
    return None if x is None else vector(3 * x.numel, [x, tensor(args, 1)], [x], x.dtype, _params(x))


def _pair(args: OpArgs, *, first: int, second: int, angles: tuple[int, ...]) -> OpCost | None:
    """Queries and keys, all of them rotated."""
    q, k = tensor(args, first), tensor(args, second)
    if q is None or k is None:
        return None
    tables = [tensor(args, index) for index in angles]
    return vector(3 * (q.numel + k.numel), [q, k, *tables], [q, k], q.dtype, _params(q))


def _partial_rotation(args: OpArgs) -> OpCost | None:
    """flash-attn's ``(x, cos, sin, …)``: the first ``2 · cos.shape[-1]`` of each head are rotated, the rest copied."""
    x, cos, sin = (tensor(args, index) for index in range(3))
    if x is None or cos is None or sin is None or not x.shape or not cos.shape or not x.shape[-1]:
        return None
    rotated = x.numel // x.shape[-1] * min(2 * cos.shape[-1], x.shape[-1])
    return vector(3 * rotated, [x, cos, sin], [x], x.dtype, _params(x))


def _serving(args: OpArgs, *, head_at: int, table_at: int) -> OpCost | None:
    """``(positions, query, key, head_size, cos_sin_cache, …)``: in place, as much of a head as the table has."""
    positions, q, k = (tensor(args, index) for index in range(3))
    head, table = as_int(value(args, head_at)), matrix(args, table_at)
    if positions is None or q is None or table is None or head is None or head < 1:
        return None
    rotated = min(table.shape[1], head)
    parts = [elements(part.numel // head * rotated, part.dtype) for part in (q, k) if part is not None]
    angles = elements(min(positions.numel * table.shape[1], table.numel), table.dtype)
    count = sum(part.numel for part in parts)
    return vector(3 * count, [*parts, angles, positions], parts, q.dtype, _params(q))


def _latent_cache(args: OpArgs, *, heads_of_cache: bool, typed_result: int | None) -> OpCost | None:
    """aiter's RoPE that joins latent and rotated parts and fills an MLA cache.

    ``(q_nope [T, H, D_l], q_pe [T, H, D_p], k_nope [T, H_k, D_l] or one head, k_pe, cache, result, …)``
    """
    q, rotated, k, cache = matrix(args, 0, 3), tensor(args, 1), tensor(args, 2), tensor(args, 4)
    if q is None or rotated is None or k is None or cache is None or len(rotated.shape) < 3 or len(k.shape) < 2:
        return None
    tokens, heads, latent = q.shape
    width, cached = rotated.shape[2], k.shape[1] if heads_of_cache else 1
    result = q if typed_result is None else tensor(args, typed_result) or q
    read = elements(tokens * (heads + cached) * (latent + width), q.dtype)
    written = [
        elements(tokens * heads * (latent + width), result.dtype),
        elements(tokens * cached * (latent + width), cache.dtype),
    ]
    return vector(3 * tokens * width * (heads + cached), [read], written, q.dtype, _params(q))


def _params(x: Tensor) -> dict[str, int | float | str | bool]:
    return {"op_shape": as_text(x.shape), "dtype_in": x.dtype.name if x.dtype else ""}


MODELS = (
    OpModel(("FusedRoPEFunc",), _FAMILY, _CATEGORY, _fused),
    OpModel(
        ("aiter::rope_cached_positions_2c_fwd_impl",),
        _FAMILY,
        _CATEGORY,
        partial(_pair, first=2, second=3, angles=()),
    ),
    OpModel(("LigerRopeFunction",), _FAMILY, _CATEGORY, partial(_pair, first=0, second=1, angles=(2, 3))),
    OpModel(("ApplyRotaryEmb",), _FAMILY, _CATEGORY, _partial_rotation),
    OpModel(
        ("_C::rotary_embedding", "sgl_kernel::rotary_embedding"),
        _FAMILY,
        _CATEGORY,
        partial(_serving, head_at=3, table_at=4),
    ),
    OpModel(
        ("aiter::fused_qk_rope_cat_and_cache_mla",),
        "FusedRoPE",
        _CATEGORY,
        partial(_latent_cache, heads_of_cache=True, typed_result=None),
    ),
    OpModel(
        ("aiter::fused_qk_rope_concat_and_cache_mla",),
        "FusedRoPE",
        _CATEGORY,
        partial(_latent_cache, heads_of_cache=False, typed_result=5),
    ),
)
"""Argument positions as in the libraries' own schemas."""
