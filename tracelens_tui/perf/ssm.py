"""State-space models: causal convolutions over time, Mamba's selective scan and Mamba-2's chunked scan.

The chunked scan (SSD) is matrix products in chunks of C tokens.  With G groups of states of size N and H heads of size
P, per token: C·Bᵀ costs 2·G·C·N, scores times X 2·H·C·P, making and reading the states 4·H·N·P.  The selective scan
counts 7 operations for each channel, state and token (the decay exp(Δ·A): 2, Δu·B: 1, the update: 2, C·h: 2), and per
channel and token 1 for Δ·u, 2 for the skip and 2 for the gate where there are any.
"""

from dataclasses import dataclass
from functools import partial

from tracelens_tui.perf.dtypes import Dtype
from tracelens_tui.perf.operands import Tensor, bytes_of, elements, matrix, moved, tensor, total, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.products import filled
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel
from tracelens_tui.perf.work import vector

_FAMILY, _FWD, _BWD = "SSM", "SSM_fwd", "SSM_bwd"


def _matrix_unit(flops: int, read: int | None, written: int | None, dtype: Dtype | None, **params: int) -> OpCost:
    return OpCost(flops, read, written, "matrix", None if dtype is None else dtype.precision, params)


def _conv1d(args: OpArgs) -> OpCost | None:
    """``_causal_conv1d_fwd_cpp(x B×C×T, weight C×k, bias, …)``; x may be C×T of packed sequences."""
    x, weight, bias = tensor(args, 0), matrix(args, 1), filled(args, 2)
    if x is None or weight is None or not _over_channels(x, weight.shape[0]):
        return None
    return _matrix_unit(2 * x.numel * weight.shape[1], moved(x, weight, bias), x.bytes, x.dtype, taps=weight.shape[1])


def _conv1d_backward(args: OpArgs) -> OpCost | None:
    """``_causal_conv1d_bwd_cpp(x, weight, bias, dout, …)``: the gradients of x and of the weight, two products."""
    x, weight, bias, grad = matrix(args, 0, 3), matrix(args, 1), filled(args, 2), matrix(args, 3, 3)
    if x is None or weight is None or grad is None or x.shape != grad.shape or x.shape[1] != weight.shape[0]:
        return None
    written = moved(x, weight, bias)
    return _matrix_unit(
        4 * x.numel * weight.shape[1],
        total(moved(x, weight, grad), 0 if bias is None else bias.bytes),
        written,
        x.dtype,
    )


def _conv1d_update(args: OpArgs) -> OpCost | None:
    """``_causal_conv1d_update_cpp(x B×C×T, state, weight C×k, …)``: a state of each sequence is read and written."""
    x, state, weight = tensor(args, 0), matrix(args, 1, 3), matrix(args, 2)
    if x is None or len(x.shape) not in {2, 3} or state is None or weight is None or x.shape[1] != weight.shape[0]:
        return None
    used = elements(x.shape[0] * state.shape[1] * state.shape[2], state.dtype)
    return _matrix_unit(2 * x.numel * weight.shape[1], moved(x, used, weight), moved(used, x), x.dtype)


@dataclass(frozen=True, slots=True)
class _Scan:
    """Sizes of a chunked scan: B sequences of T tokens, H heads of size P, G groups of states of size N."""

    batch: int
    t: int
    h: int
    p: int
    g: int
    n: int
    chunk: int

    @property
    def flops(self) -> int:
        """The four products."""
        tokens = self.batch * self.t
        return 2 * tokens * (self.g * self.chunk * self.n + self.h * self.chunk * self.p + 2 * self.h * self.n * self.p)

    def params(self) -> dict[str, int]:
        """The sizes by name."""
        return {
            "B": self.batch, "T": self.t, "H": self.h, "P": self.p, "G": self.g, "N": self.n, "chunk": self.chunk,
        }  # fmt: skip


def _split_conv_scan(args: OpArgs) -> OpCost | None:
    """``MambaSplitConv1dScanCombinedFn(zxbcdt, conv weight, conv bias, dt bias, A, D, chunk, …, head, …, groups, …)``.

    The one input is z, x, B, C and dt side by side: 2·H·P + 2·G·N + H columns.
    """
    mixed, conv, heads = matrix(args, 0, 3), matrix(args, 1), tensor(args, 3)
    if mixed is None or conv is None or heads is None or len(heads.shape) != 1:
        return None
    (batch, t, columns), (channels, taps), h = mixed.shape, conv.shape, heads.shape[0]
    chunk, p, g = (as_int(value(args, index)) or otherwise for index, otherwise in ((6, 128), (15, 64), (16, 1)))
    states = columns - 2 * h * p - h
    if min(chunk, p, g) < 1 or states <= 0 or states % (2 * g):
        return None
    scan = _Scan(batch, t, h, p, g, states // (2 * g), chunk)
    out = bytes_of(batch * t * h * p, mixed.dtype)
    read = moved(mixed, conv, *(tensor(args, index) for index in (2, 3, 4, 5)))
    return _matrix_unit(2 * batch * channels * t * taps + scan.flops, read, out, mixed.dtype, **scan.params())


def _chunk_scan(args: OpArgs) -> OpCost | None:
    """``MambaChunkScanCombinedFn(x B×T×H×P, dt, A, B B×T×G×N, C, chunk, D, z, …)``."""
    x, b, chunk = matrix(args, 0, 4), matrix(args, 3, 4), as_int(value(args, 5))
    if x is None or b is None or chunk is None or chunk < 1 or x.shape[:2] != b.shape[:2]:
        return None
    (batch, t, h, p), (_, _, g, n) = x.shape, b.shape
    scan = _Scan(batch, t, h, p, g, n, chunk)
    read = moved(*(tensor(args, index) for index in (0, 1, 2, 3, 4, 6, 7)))
    return _matrix_unit(scan.flops, read, x.bytes, x.dtype, **scan.params())


def _selective_scan(args: OpArgs) -> OpCost | None:
    """``(u B×D×L, delta, A D×N, B, C, D, z, …)``: Mamba's scan, on the vector unit in fp32."""
    u, delta, a, skip, gate = (filled(args, index) for index in (0, 1, 2, 5, 6))
    if u is None or delta is None or a is None or len(a.shape) != 2 or not _over_channels(u, a.shape[0]):
        return None
    n, channel_tokens = a.shape[1], u.numel
    per_token = 7 * n + 1 + (0 if skip is None else 2) + (0 if gate is None else 2)
    read = [u, delta, a, *(filled(args, index) for index in (3, 4)), skip, gate, filled(args, 7)]
    return vector(channel_tokens * per_token, read, [u], a.dtype, {"D": a.shape[0], "N": n})


def _over_channels(u: Tensor, channels: int) -> bool:
    """B×D×L, or D×L of packed sequences."""
    return len(u.shape) in {2, 3} and u.shape[-2] == channels


def _ssm(cost: partial[OpCost | None], *names: str, category: str = _FWD) -> OpModel:
    return OpModel(names, _FAMILY, category, cost)


MODELS = (
    _ssm(partial(_conv1d), "DaoAILab::_causal_conv1d_fwd_cpp", "_C::causal_conv1d_fwd"),
    _ssm(partial(_conv1d_backward), "DaoAILab::_causal_conv1d_bwd_cpp", category=_BWD),
    _ssm(partial(_conv1d_update), "DaoAILab::_causal_conv1d_update_cpp"),
    _ssm(partial(_split_conv_scan), "MambaSplitConv1dScanCombinedFn"),
    _ssm(partial(_chunk_scan), "MambaChunkScanCombinedFn"),
    _ssm(partial(_selective_scan), "SelectiveScanFn", "_C::selective_scan_fwd"),
)
"""Argument positions as mamba-ssm and causal-conv1d have them."""
