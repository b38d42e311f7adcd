"""Matrix products of inference engines: vLLM, SGLang, TensorRT-LLM, bitsandbytes, FlashInfer.

Each line of the table says where an op keeps its operands; what is counted stands in
:mod:`tracelens_tui.perf.products`.  Shapes that do not fit the description have no answer.
"""

from tracelens_tui.perf.operands import matrix, tensor, value
from tracelens_tui.perf.parse import as_int
from tracelens_tui.perf.products import BF16, Extras, Gemm, Product, dtype_of_code, filled, flat, product_cost
from tracelens_tui.perf.types import OpArgs, OpCost, OpModel


def _gemm(model: Gemm, *names: str) -> OpModel:
    return OpModel(names, "GEMM", "GEMM", model)


def _either_way(args: OpArgs) -> OpCost | None:
    """(out, a, b): the output tells which way b lies."""
    out, a, b = tensor(args, 0), tensor(args, 1), matrix(args, 2)
    made, rows = flat(out), flat(a)
    if out is None or made is None or rows is None or b is None or made[0] != rows[0]:
        return None
    n, k = made[1], rows[1]
    fits = b.shape in {(n, k), (k, n)}
    return product_cost(args, Product(rows[0], n, k) if fits else None, a, b, Extras(out=out.dtype))


def _dynamic_quant(args: OpArgs) -> OpCost | None:
    """``gemm_with_dynamic_quant(x, weight, …)``: weights N×K/2 with two fp4 values a byte; x as wide, or packed too."""
    x, weight = tensor(args, 0), matrix(args, 1)
    rows = flat(x)
    if x is None or rows is None or weight is None:
        return None
    n, columns = weight.shape
    in_bytes = weight.dtype is None or weight.dtype.bytes == 1
    product = Product(rows[0], n, 2 * columns) if in_bytes and rows[1] in {columns, 2 * columns} else None
    narrow = x.dtype is not None and x.dtype.bytes == 1
    return product_cost(args, product, x, weight, Extras(out=BF16 if narrow else x.dtype, precision="fp4"))


def _batched(args: OpArgs) -> OpCost | None:
    """``bmm_fp8(A, B, scale, scale, dtype, backend)``: B×M×K by B×K×N."""
    a, b = matrix(args, 0, 3), matrix(args, 1, 3)
    fits = a is not None and b is not None and (a.shape[0], a.shape[2]) == b.shape[:2]
    product = (
        Product(a.shape[1], b.shape[2], a.shape[2], a.shape[0]) if a is not None and b is not None and fits else None
    )
    code = as_int(value(args, 4))
    out = BF16 if code is None else dtype_of_code(code)
    return product_cost(args, product, a, b, Extras(read=[filled(args, 2), filled(args, 3)], out=out))


MODELS = (
    # vLLM
    _gemm(Gemm(a=1, b=2, scales=(3, 4), bias=5, out=0), "_C::cutlass_scaled_mm"),
    _gemm(Gemm(a=1, b=2, scales=(3, 4, 5, 6), bias=7, out=0), "_C::cutlass_scaled_mm_azp"),
    _gemm(
        Gemm(a=1, b=2, rows_of_b="N", scales=(3, 4), out=0, packed=2, precision="fp4"),
        "_C::cutlass_scaled_fp4_mm",
        "sgl_kernel::cutlass_scaled_fp4_mm",
    ),
    _gemm(
        Gemm(b=2, rows_of_b="N", scales=(1, 3), out=4, otherwise="bf16"),
        "vllm::fp8_gemm_nt_op",
        "sglang::deep_gemm_fp8_fp8_bf16_nt",
    ),
    _gemm(Gemm(rows_of_b="N", scales=(2, 3), out_code=5, otherwise="bf16"), "vllm::w8a8_triton_block_scaled_mm_func"),
    _gemm(Gemm(rows_of_b="N", bias=2), "vllm::rocm_unquantized_gemm"),
    _gemm(Gemm(scales=(2, 3), out_code=5, otherwise="bf16", packed=2, precision="fp4"), "vllm::flashinfer_mm_fp4"),
    OpModel(("vllm::bmm_fp8",), "GEMM", "GEMM", _batched),
    OpModel(("vllm::gemm_with_dynamic_quant",), "GEMM", "GEMM", _dynamic_quant),
    # SGLang
    _gemm(
        Gemm(scales=(2, 3), bias=5, out_code=4, otherwise="bf16"),
        "sgl_kernel::fp8_scaled_mm",
        "sgl_kernel::int8_scaled_mm",
        "sgl_kernel::fp8_blockwise_scaled_mm",
    ),
    OpModel(
        ("sgl_kernel::dsv3_fused_a_gemm", "_C::dsv3_fused_a_gemm", "sgl_kernel::dsv3_router_gemm"),
        "GEMM",
        "GEMM",
        _either_way,
    ),
    # TensorRT-LLM
    _gemm(Gemm(scales=(2, 3), bias=4, out_code=5, otherwise="narrow"), "trtllm::cublas_scaled_mm"),
    _gemm(Gemm(bias=2, out_code=3), "trtllm::cublas_mm"),
    _gemm(
        Gemm(rows_of_b="N", scales=(2, 3), out_code=5, otherwise="bf16", packed=2, precision="fp4"),
        "trtllm::nvfp4_gemm",
    ),
    # bitsandbytes: A times the transpose of B
    _gemm(Gemm(rows_of_b="N", otherwise="int32"), "bitsandbytes::int8_linear_matmul"),
)
"""Argument positions as the libraries register their ops; a recorded type or type number of the output decides."""
