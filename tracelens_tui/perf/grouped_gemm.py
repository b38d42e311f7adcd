"""Grouped matrix products: one product per group (expert), the groups' sizes on the device.

FLOPs do not depend on how the rows are split.  A group without rows does not read its weights; which have none is not
recorded (:mod:`tracelens_tui.perf.experts`, with one expert per row).
"""

import math
from functools import partial

from tracelens_tui.perf.dtypes import Dtype, dtype_of_code
from tracelens_tui.perf.experts import Experts, expert_cost
from tracelens_tui.perf.operands import Tensor, bytes_of, matrix, moved, tensor, tensor_list, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.products import Extras, Product, filled, narrow_output, operand_precision, product_cost
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel, Shape

_FAMILY, _CATEGORY = "GroupedGEMM", "GroupedGEMM_fwd"


def _by_group(
    args: OpArgs, rows: Tensor, weights: Tensor, n: int, *, extra: tuple[int, ...] = (), out: Dtype | None
) -> OpCost | None:
    """M rows, each multiplied with the K×N weights of one of G groups."""
    m, k = math.prod(rows.shape[:-1]), rows.shape[-1]
    groups = weights.shape[0]
    each = None if weights.bytes is None or not groups else weights.bytes // groups
    experts = Experts(groups, m, 1, each)
    if not experts.possible:
        return None
    return expert_cost(
        experts,
        2 * m * n * k,
        moved(rows, *(filled(args, index) for index in extra)),
        bytes_of(m * n, out),
        operand_precision(args, rows.dtype),
        {"G": groups, "M": m, "N": n, "K": k},
    )


def _between(
    args: OpArgs, a: Tensor, b: Tensor, product: Product, *, extra: tuple[int, ...], out: Dtype | None
) -> OpCost | None:
    extras = Extras(read=[filled(args, index) for index in extra], out=out)
    return product_cost(args, product, a, b, extras)


def _torch(args: OpArgs, *, scales: tuple[int, ...], offsets: int, code: int) -> OpCost | None:
    """``_grouped_mm(self, mat2, offs, bias, out_dtype)``: either operand is a stack, or is split by the offsets.

    rows × stack: each row has one group's matrix.  stack × columns: each column has one.  rows × columns: the inner
    dimension is split, and every group has a result.
    """
    a, b, offs = tensor(args, 0), tensor(args, 1), tensor(args, offsets)
    if a is None or b is None:
        return None
    number = as_int(value(args, code))
    out = narrow_output(a.dtype) if number is None else dtype_of_code(number)
    match len(a.shape), len(b.shape):
        case 2, 3 if a.shape[1] == b.shape[1]:
            return _by_group(args, a, b, b.shape[2], extra=scales, out=out)
        case 3, 2 if a.shape[2] == b.shape[0]:
            return _by_column(args, a, b, scales, out)
        case 3, 3 if (a.shape[0], a.shape[2]) == b.shape[:2]:
            product = Product(a.shape[1], b.shape[2], a.shape[2], a.shape[0])
            return _between(args, a, b, product, extra=scales, out=out)
        case 2, 2 if a.shape[1] == b.shape[0] and offs is not None and len(offs.shape) == 1:
            return _split_inside(args, a, b, offs.shape[0], scales, out)
    return None


def _by_column(args: OpArgs, a: Tensor, b: Tensor, scales: tuple[int, ...], out: Dtype | None) -> OpCost | None:
    """Stack G×M×K times columns K×N: the transpose of rows × stack."""
    columns = Tensor((b.shape[1], b.shape[0]), b.dtype)
    return _by_group(args, columns, a, a.shape[1], extra=scales, out=out)


def _split_inside(
    args: OpArgs, a: Tensor, b: Tensor, groups: int, scales: tuple[int, ...], out: Dtype | None
) -> OpCost | None:
    """M×K times K×N, K split into groups: G results of M×N."""
    (m, k), n = a.shape, b.shape[1]
    written = bytes_of(groups * m * n, out)
    return OpCost(
        flops=2 * m * n * k,
        bytes_read=moved(a, b, *(filled(args, index) for index in scales)),
        bytes_written=written,
        unit="matrix",
        precision=operand_precision(args, a.dtype),
        params={"G": groups, "M": m, "N": n, "K": k},
    )


def _primus(args: OpArgs) -> OpCost | None:
    """``grouped_gemm(a, b, …)``: rows M×K and weights G×K×N or G×N×K, or lists of both."""
    if tensor_list(args, 0) is not None:
        return _pairs(args, inner_first=False)
    rows, weights = matrix(args, 0), matrix(args, 1, 3)
    if rows is None or weights is None or rows.shape[1] not in weights.shape[1:]:
        return None
    k = rows.shape[1]
    n = weights.shape[2] if weights.shape[1] == k else weights.shape[1]
    return _by_group(args, rows, weights, n, out=narrow_output(rows.dtype))


def _primus_variable_k(args: OpArgs) -> OpCost | None:
    """``grouped_gemm_variable_k(a, b, group lengths, …)``: M×K and M×N, M split into groups: G results of K×N."""
    if tensor_list(args, 0) is not None:
        return _pairs(args, inner_first=True)
    a, b, lengths = matrix(args, 0), matrix(args, 1), matrix(args, 2, 1)
    if a is None or b is None or a.shape[0] != b.shape[0] or lengths is None:
        return None
    turned = Tensor((a.shape[1], a.shape[0]), a.dtype)
    return _split_inside(args, turned, b, lengths.shape[0], (), narrow_output(a.dtype))


def _pairs(args: OpArgs, *, inner_first: bool) -> OpCost | None:
    """Lists of matrices, whose element types a trace does not have: FLOPs alone."""
    left, right = tensor_list(args, 0), tensor_list(args, 1)
    if left is None or right is None or len(left) != len(right):
        return None
    flops = [_pair_flops(a, b, inner_first=inner_first) for a, b in zip(left, right, strict=True)]
    known = [one for one in flops if one is not None]
    if len(known) != len(flops):
        return None
    return OpCost(sum(known), None, None, "matrix", None, {"G": len(known)})


def _pair_flops(a: Shape, b: Shape, *, inner_first: bool) -> int | None:
    if len(a) != 2 or len(b) != 2:
        return None
    if inner_first:
        return 2 * a[0] * a[1] * b[1] if a[0] == b[0] else None
    if a[1] not in b:
        return None
    return 2 * a[0] * a[1] * (b[1] if b[0] == a[1] else b[0])


def _cutlass_moe(args: OpArgs) -> OpCost | None:
    """``cutlass_moe_mm(out, a, b, a scales, b scales, …)``: rows that are sorted by expert, weights E×K×N or E×N×K."""
    out, rows, weights = matrix(args, 0), matrix(args, 1), matrix(args, 2, 3)
    if out is None or rows is None or weights is None or rows.shape[0] != out.shape[0]:
        return None
    n = out.shape[1]
    if sorted(weights.shape[1:]) != sorted((rows.shape[1], n)):
        return None
    return _by_group(args, rows, weights, n, extra=(3, 4), out=out.dtype)


def _grouped(cost: partial[OpCost | None], *names: str) -> OpModel:
    return OpModel(names, _FAMILY, _CATEGORY, cost)


_PRIMUS = ("primus_turbo::", "primus_turbo_cpp_extension::")

MODELS = (
    _grouped(partial(_torch, scales=(), offsets=2, code=4), "aten::_grouped_mm"),
    _grouped(partial(_torch, scales=(2, 3), offsets=4, code=7), "aten::_scaled_grouped_mm"),
    _grouped(
        partial(_primus),
        *(
            f"{library}{name}"
            for library in _PRIMUS
            for name in ("grouped_gemm", "grouped_gemm_impl", "ck_grouped_gemm")
        ),
    ),
    _grouped(
        partial(_primus_variable_k),
        *(
            f"{library}{name}"
            for library in _PRIMUS
            for name in ("grouped_gemm_variable_k", "grouped_gemm_variable_k_impl", "ck_grouped_gemm_variable_k")
        ),
    ),
    _grouped(partial(_cutlass_moe), "_C::cutlass_moe_mm"),
)
"""Argument positions as in PyTorch's ``native_functions.yaml`` and as the libraries register their ops."""
