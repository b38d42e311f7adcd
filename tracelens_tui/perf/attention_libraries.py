"""Fused attention of libraries: flash-attn 2 and 3, xFormers, vLLM's fork, AITER and CK, Evoformer, Transformer Engine.

What is counted stands in :mod:`tracelens_tui.perf.attention_cost`.
"""

import re
from dataclasses import replace

from tracelens_tui.perf.attention import attention
from tracelens_tui.perf.attention_cost import attention_cost
from tracelens_tui.perf.attention_layout import Layout, bottom_right, everything, mask_type
from tracelens_tui.perf.attention_pairs import ALL, BOTTOM_RIGHT, TOP_LEFT
from tracelens_tui.perf.operands import Tensor, tensor
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel

_FLASH = Layout(heads_first=False, mask=bottom_right(5), dropout=3, window=(6, 7))
_FLASH_BACKWARD = Layout(
    heads_first=False, mask=bottom_right(11), q=1, grad=0, saved=(4, 5), dropout=9, window=(12, 13)
)
_FLASH_2 = (
    attention(
        _FLASH,
        "flash_attn::_flash_attn_forward",
        "flashattn::_flash_attn_forward",
        "aiter::_flash_attn_forward",
        "aiter::mha_fwd",
        "aiter::fmha_v3_fwd",
    ),
    attention(replace(_FLASH, window=(6,)), "FlashAttnFunc"),
    attention(_FLASH_BACKWARD, "flash_attn::_flash_attn_backward", "flashattn::_flash_attn_backward"),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(9),
            dropout=7,
            sequences=(3, 4),
            longest=(5, 6),
            window=(10, 11),
            unknown=(15, 17),
        ),
        "flash_attn::_flash_attn_varlen_forward",
        "flashattn::_flash_attn_varlen_forward",
    ),
    attention(
        Layout(heads_first=False, mask=bottom_right(9), dropout=7, sequences=(3, 4), longest=(5, 6), window=(10,)),
        "FlashAttnVarlenFunc",
        leaf_only=True,
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(15),
            q=1,
            grad=0,
            saved=(4, 5),
            dropout=13,
            sequences=(9, 10),
            longest=(11, 12),
            window=(16, 17),
        ),
        "flash_attn::_flash_attn_varlen_backward",
        "flashattn::_flash_attn_varlen_backward",
    ),
)
_FLASH_3 = (
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(24),
            sequences=(7, 8),
            longest=(12, 13),
            window=(25, 26),
            unknown=(3, 9, 10, 11, 14, 15),
        ),
        "flash_attn_3::fwd",
        "_vllm_fa3_C::fwd",
        "sgl_kernel::fwd",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(16),
            q=1,
            grad=0,
            saved=(4, 5),
            sequences=(9, 10),
            longest=(13, 14),
            window=(17, 18),
            unknown=(11, 12),
        ),
        "flash_attn_3::bwd",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(15),
            dropout=12,
            sequences=(4, 5),
            longest=(10, 11),
            window=(16, 17),
            unknown=(6, 8),
        ),
        "_vllm_fa2_C::varlen_fwd",
    ),
)
_XFORMERS = (
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(10),
            dropout=8,
            sequences=(3, 4),
            longest=(6, 7),
            window=(11, 12),
            unknown=(5, 14),
        ),
        "xformers_flash::flash_fwd",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(13),
            q=2,
            grad=1,
            saved=(5, 6),
            dropout=11,
            sequences=(7, 8),
            longest=(9, 10),
            window=(14, 15),
        ),
        "xformers_flash::flash_bwd",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(11),
            dropout=9,
            sequences=(3, 4),
            longest=(7, 8),
            window=(17, 18),
            unknown=(5, 15),
        ),
        "xformers_flash3::flash_fwd",
    ),
    attention(
        Layout(heads_first=False, mask=mask_type(9, window=12), bias=3, sequences=(4, 5), unknown=(11,), flash=False),
        "xformers::efficient_attention_forward_cutlass",
    ),
)
_AITER = (
    attention(
        Layout(heads_first=False, mask=bottom_right(6), q=1, dropout=4, window=(7, 8)), "aiter::wrapper_fmha_v3_fwd"
    ),
    attention(
        replace(_FLASH_BACKWARD, mask=bottom_right(12), dropout=10, window=(13, 14)), "aiter::_flash_attn_backward"
    ),
    attention(replace(_FLASH_BACKWARD, mask=bottom_right(9), dropout=7, window=(10, 11)), "aiter::wrapper_fmha_v3_bwd"),
    attention(replace(_FLASH_BACKWARD, mask=bottom_right(8), dropout=6, window=(9, 10)), "aiter::mha_bwd"),
)


def _evoformer(args: OpArgs) -> OpCost | None:
    """B×S×N×H×D: an attention over N for each of the B·S sequences."""
    folded = [_folded(tensor(args, index)) for index in range(3)]
    if any(shape is None for shape in folded):
        return None
    dims = tuple(shape for shape in folded if shape is not None)
    plain = replace(args, dims=dims, strides=())
    return attention_cost(plain, Layout(heads_first=False, mask=everything, flash=False))


def _folded(found: Tensor | None) -> tuple[int, ...] | None:
    if found is None or len(found.shape) != 5:
        return None
    batch, sequences, *rest = found.shape
    return (batch * sequences, *rest)


_TE_ORDER = re.compile(r"(bshd|sbhd)(?:_\1){2}")
_TE_MASKS = {"no_mask": ALL, "causal": TOP_LEFT, "causal_bottom_right": BOTTOM_RIGHT}


def _te_fused(args: OpArgs) -> OpCost | None:
    """Transformer Engine's ``FusedAttnFunc``: Q, K and V are the first three tensors of four dimensions.

    Their order and the mask stand in texts; where those were not recorded, or padding is masked, FLOPs are unknown.
    """
    first = next((index for index in range(len(args.dims)) if len(args.dims[index]) == 4), None)
    if first is None:
        return None
    texts = [text.strip("'\"") for text in args.concrete]
    order = next((found[1] for found in map(_TE_ORDER.fullmatch, texts) if found), None)
    mask = next((_TE_MASKS[text] for text in texts if text in _TE_MASKS), None)
    known = None if order is None else mask
    plain = _batch_first(args, first) if order == "sbhd" else args
    return attention_cost(plain, Layout(heads_first=False, mask=lambda _: known, q=first, flash=False))


def _batch_first(args: OpArgs, first: int) -> OpArgs:
    """Swap length and batch of the three tensors."""
    dims = [
        (shape[1], shape[0], *shape[2:]) if first <= index < first + 3 and len(shape) == 4 else shape
        for index, shape in enumerate(args.dims)
    ]
    return replace(args, dims=tuple(dims), strides=())


MODELS = (
    *_FLASH_2,
    *_FLASH_3,
    *_XFORMERS,
    *_AITER,
    OpModel(("EvoformerAttention",), "SDPA", "SDPA_fwd", _evoformer),
    OpModel(("FusedAttnFunc",), "SDPA", "SDPA_fwd", _te_fused),
)
"""Argument positions as the libraries register their ops."""
