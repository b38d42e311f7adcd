"""PyTorch's fused attention ops, forward and backward; :mod:`tracelens_tui.perf.attention_cost` says what is counted.

The math backend has no model: it decomposes into ops that are counted.
"""

from functools import partial

from tracelens_tui.perf.attention_cost import attention_cost
from tracelens_tui.perf.attention_layout import Layout, bottom_right, mask_type, top_left
from tracelens_tui.perf.types import OpModel


def attention(layout: Layout, *names: str, leaf_only: bool = False) -> OpModel:
    """Return the model of ops that are laid out alike."""
    category = "SDPA_fwd" if layout.grad is None else "SDPA_bwd"
    return OpModel(names, "SDPA", category, partial(attention_cost, layout=layout), leaf_only=leaf_only)


_FORWARD = (
    attention(
        Layout(heads_first=True, mask=bottom_right(4), dropout=3),
        "aten::_scaled_dot_product_flash_attention",
    ),
    attention(
        Layout(heads_first=True, mask=top_left(6), dropout=5, bias=3, flash=False),
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
    ),
    attention(
        Layout(heads_first=True, mask=top_left(5), dropout=4, bias=3, flash=False),
        "aten::_scaled_dot_product_fused_attention_overrideable",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(8),
            dropout=7,
            sequences=(3, 4),
            longest=(5, 6),
            window=(11, 12),
            unknown=(13,),
        ),
        "aten::_flash_attention_forward",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=mask_type(9, window=13),
            dropout=8,
            bias=3,
            sequences=(4, 5),
            longest=(6, 7),
            unknown=(12,),
            flash=False,
        ),
        "aten::_efficient_attention_forward",
    ),
    attention(
        Layout(
            heads_first=True,
            mask=top_left(10),
            dropout=9,
            bias=3,
            sequences=(4, 5),
            longest=(6, 7),
            flash=False,
        ),
        "aten::_cudnn_attention_forward",
    ),
)

_BACKWARD = (
    attention(
        Layout(
            heads_first=True,
            mask=bottom_right(11),
            q=1,
            grad=0,
            saved=(4, 5),
            dropout=10,
            sequences=(6, 7),
            longest=(8, 9),
        ),
        "aten::_scaled_dot_product_flash_attention_backward",
    ),
    attention(
        Layout(heads_first=True, mask=top_left(11), q=1, grad=0, saved=(5, 6), dropout=9, bias=4, flash=False),
        "aten::_scaled_dot_product_efficient_attention_backward",
    ),
    attention(
        Layout(
            heads_first=True,
            mask=top_left(14),
            q=1,
            grad=0,
            saved=(4, 5),
            dropout=13,
            bias=8,
            sequences=(9, 10),
            longest=(11, 12),
            flash=False,
        ),
        "aten::_scaled_dot_product_cudnn_attention_backward",
        "aten::_cudnn_attention_backward",
    ),
    attention(
        Layout(
            heads_first=True,
            mask=top_left(13),
            q=1,
            grad=0,
            saved=(6, 7),
            dropout=12,
            bias=4,
            sequences=(8, 9),
            longest=(10, 11),
            flash=False,
        ),
        "aten::_scaled_dot_product_fused_attention_overrideable_backward",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=bottom_right(11),
            q=1,
            grad=0,
            saved=(4, 5),
            dropout=10,
            sequences=(6, 7),
            longest=(8, 9),
            window=(15, 16),
        ),
        "aten::_flash_attention_backward",
    ),
    attention(
        Layout(
            heads_first=False,
            mask=mask_type(14, window=18),
            q=1,
            grad=0,
            saved=(5, 10),
            dropout=11,
            bias=4,
            sequences=(6, 7),
            longest=(8, 9),
            flash=False,
        ),
        "aten::_efficient_attention_backward",
    ),
)

MODELS = (*_FORWARD, *_BACKWARD)
"""Argument positions as in PyTorch's ``native_functions.yaml``."""
