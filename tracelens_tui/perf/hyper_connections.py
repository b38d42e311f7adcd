"""AITER's kernels of manifold-constrained hyper-connections: n residual streams of C columns for each of M tokens.

The mixing weights come from a product of all K = n·C columns with hc3 rows; they then mix the streams.  Every tensor
that a kernel reads or writes is an argument, so bytes are all of them once.
"""

from collections.abc import Callable

from tracelens_tui.perf.operands import Tensor, matrix, moved, tensor
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Unit


def _cost(args: OpArgs, flops: int, unit: Unit, main: Tensor) -> OpCost:
    everything = [found for found in (tensor(args, index) for index in range(len(args.dims))) if found is not None]
    return OpCost(
        flops=flops,
        bytes_read=moved(*everything),
        bytes_written=0,  # which of the tensors are results is not told apart
        unit=unit,
        precision=None if main.dtype is None else main.dtype.precision,
    )


def _post(args: OpArgs) -> OpCost | None:
    """``mhc_post(out M×n×C, x M×C, …)``: n streams mixed from n streams and x."""
    out, x = matrix(args, 0, 3), matrix(args, 1)
    if out is None or x is None or (out.shape[0], out.shape[2]) != x.shape:
        return None
    (m, n, c) = out.shape
    return _cost(args, 2 * m * n * c * (n + 1), "matrix", x)


def _pre_gemm(args: OpArgs) -> OpCost | None:
    """``mhc_pre_gemm_sqrsum(out, squares, x M×n×C, weights hc3×K)``."""
    x, weights = matrix(args, 2, 3), matrix(args, 3)
    if x is None or weights is None or x.shape[1] * x.shape[2] != weights.shape[1]:
        return None
    return _cost(args, 2 * x.shape[0] * weights.numel, "matrix", x)


def _pre_fuse(args: OpArgs) -> OpCost | None:
    """``mhc_pre_big_fuse_rmsnorm(mix M×n, …, out M×C, …)``: the streams mixed into one, and its norm."""
    mix, out = tensor(args, 0), matrix(args, 2)
    if mix is None or out is None or len(mix.shape) < 2 or mix.shape[0] != out.shape[0]:
        return None
    return _cost(args, out.numel * (2 * mix.shape[1] + 5), "vector", out)


def _post_pre(args: OpArgs) -> OpCost | None:
    """``mhc_fused_post_pre_gemm_sqrsum``: both at once; the weights are the matrix with as many columns as K."""
    found = [one for one in (tensor(args, index) for index in range(len(args.dims))) if one is not None]
    for streams in (one for one in found if len(one.shape) == 3):
        m, n, c = streams.shape
        weights = next((one for one in found if len(one.shape) == 2 and one.shape[1] == n * c), None)
        if weights is not None:
            return _cost(args, 2 * m * n * c * (n + 1) + 2 * m * weights.numel, "matrix", streams)
    return None


def _model(cost: Callable[[OpArgs], OpCost | None], name: str) -> OpModel:
    return OpModel((name,), "mHC", "mHC", cost)


MODELS = (
    _model(_post, "aiter::mhc_post"),
    _model(_pre_gemm, "aiter::mhc_pre_gemm_sqrsum"),
    _model(_pre_fuse, "aiter::mhc_pre_big_fuse_rmsnorm"),
    _model(_post_pre, "aiter::mhc_fused_post_pre_gemm_sqrsum"),
)
