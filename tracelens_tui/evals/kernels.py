"""Names of GPU kernels in the grammar of the libraries that write them, with invented tiles and functors."""

from math import ceil

from tracelens_tui.evals.host import Kernel

_TENSILE_FIELDS = (
    "SN_LDSB1_AFC1_AG0_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTLA0_DTLB0_DTVA0_DTVB0_EPS0_ELFLR0_EMLLn1_FDSI0_GRPM1_GRVWA8_GRVWB8_"
    "GSUAMB_GLS0_ISA942_IU1_K1_LDSTI0_LBSPPA{pad}_LBSPPB{pad}_LBSPPM0_LPA16_LPB16_LPM0_LRVW8_LWPMn1_MIAV0_MIWT{wave}_"
    "MO40_NTn1_NTA0_NTB0_NTC0_NTD4_NTM0_NEPBS16_NLCA1_NLCB1_ONLL1_PGR2_PLR1_PKA1_SIA3_SS1_SPO0_SRVW0_SSO0_SVW4_SK0_"
    "SKXCCM0_TLDS1_ULSGRO0_USL1_UIOFGRO0_USFGROn1_VSn1_VWA4_VWB1_WSGRA0_WSGRB0_WS64_WG32_8_1"
)
_ROCBLAS_FIELDS = (
    "SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1_AF1EM1_AMAS3_ASE_ASGT_ASLT_ASM_ASAE01_ASCE01_ASEM1_AAC0_BL1_BS1_CLR1_DTLA0_DTLB0_"
    "DTVA0_DTVB0_DVO0_ETSP_EPS1_ELFLR0_EMLL0_FSSC10_FL0_GLVWA1_GLVWB1_GRCGA1_GRCGB1_GRPM1_GRVW1_GSU1_GSUASB_GLS0_ISA942_"
    "IU1_K1_KLA_LBSPPA128_LBSPPB128_LPA8_LPB8_LDL1_LRVW4_LWPMn1_LDW0_FMA_MIAV1_MDA2_MO40_MMFSC_MKFGSU256_NTA0_NTB0_NTC0_"
    "NTD0_NEPBS0_NLCA1_NLCB1_ONLL1_OPLV0_PK0_PAP0_PGR1_PLR3_PKA0_SIA3_SLW1_SS1_SU32_SUM0_SUS256_SCIUI1_SPO0_SRVW0_SSO0_"
    "SVW1_SNLL0_TSGRA0_TSGRB0_TT4_28_TLDS0_UMLDSA0_UMLDSB0_U64SL1_USFGROn1_VAW1_VSn1_VW1_VWB1_VFLRP1_WSGRA1_WSGRB1_WS64_"
    "WG64_4_1_WGM8"
)
CPP = {"bf16": "c10::BFloat16", "fp16": "c10::Half", "fp32": "float", "fp64": "double", "int64": "long"}
_LETTERS = {"bf16": "B", "fp16": "H", "fp32": "S"}


def tensile(
    m: int, n: int, *, left_transposed: bool, right_transposed: bool, dtype: str = "bf16", tuned: bool = True
) -> Kernel:
    """Return the kernel of a GEMM with ``m`` rows and ``n`` columns as the framework sees them.

    BLAS sees the transposed problem, so the right operand comes first.  ``tuned`` gives a hipBLASLt kernel, else one of
    rocBLAS.  The grid is in work-items, as hipExtModuleLaunchKernel takes it.
    """
    tile_m, tile_n, tile_k = (
        (256, 224, 64) if tuned and m * n > 1 << 22 else (128, 112, 64) if tuned else (256, 112, 64)
    )
    first, second = "Alik" if right_transposed else "Ailk", "Bjlk" if left_transposed else "Bljk"
    letter = _LETTERS[dtype]
    tile = f"MT{tile_m}x{tile_n}x{tile_k}"
    if tuned:
        fields = _TENSILE_FIELDS.format(pad=tile_k * 8, wave=f"{tile_m // 32}_{tile_n // 32}")
        name = f"Cijk_{first}_{second}_{letter}{letter}S_{letter}H_Bias_HA_S_SAV_UserArgs_{tile}_MI16x16x1_{fields}"
    else:
        name = f"Cijk_{first}_{second}_{letter}{letter}S_{letter}H_{tile}_MI16x16x16x1_{_ROCBLAS_FIELDS}"
    blocks = ceil(n / tile_m) * ceil(m / tile_n)
    return Kernel(name, (blocks * 256, 1, 1), (256, 1, 1), "hipExtModuleLaunchKernel")


def vectorized(functor: str, tensors: int, elements: int, width: int = 8) -> Kernel:
    """Return the contiguous elementwise kernel of ATen; ``tensors`` counts inputs and output."""
    arrays = f"std::array<char*, {tensors}ul>"
    name = f"void at::native::vectorized_elementwise_kernel<{width}, {functor}, {arrays} >(int, {functor}, {arrays})"
    return Kernel(name, (ceil(elements / (256 * 4 * width)), 1, 1), (256, 1, 1))


def strided(functor: str, elements: int, width: int = 8) -> Kernel:
    """Return the elementwise kernel of ATen on ROCm for broadcast or strided tensors."""
    close = " >" if functor.endswith(">") else ">"
    call = f"at::native::gpu_kernel_impl_nocast<{functor}{close}(at::TensorIteratorBase&, {functor} const&)"
    lam = f"{call}::{{lambda(int, bool)#1}}"
    name = f"void at::native::elementwise_kernel_manual_unroll<128, {width}, {lam}>(int, {lam})"
    return Kernel(name, (ceil(elements / (128 * width)), 1, 1), (128, 1, 1))


def binary(op: str, dtype: str = "bf16", *, compute: str = "float") -> str:
    """Return the functor of a binary op such as Mul or Div on two tensors."""
    name = CPP[dtype]
    return f"at::native::BinaryFunctor<{name}, {name}, {name}, at::native::binary_internal::{op}Functor<{compute}> >"


def scalar_binary(op: str, dtype: str = "bf16") -> str:
    """Return the functor of a binary op of a tensor and a number."""
    name = CPP[dtype]
    return f"at::native::AUnaryFunctor<{name}, {name}, {name}, at::native::binary_internal::{op}Functor<float> >"


def dispatched(kernel: str, number: int, dtype: str = "bf16") -> str:
    """Return the functor of a unary op that ATen dispatches through lambdas."""
    return (
        f"at::native::{kernel}(at::TensorIteratorBase&)::{{lambda()#1}}::operator()() const::"
        f"{{lambda()#{number}}}::operator()() const::{{lambda({CPP[dtype]})#1}}"
    )


def reduce(op: str, outputs: int, dtype: str = "fp32") -> Kernel:
    """Return ATen's reduction kernel; ``op`` is Mean or Sum."""
    name = CPP[dtype]
    functor = (
        f"at::native::MeanOps<{name}, float, float, {name}>"
        if op == "Mean"
        else f"at::native::func_wrapper_t<{name}, at::native::sum_functor<{name}, float, {name}>::operator()"
        "(at::TensorIterator&)::{lambda(float, float)#1}>"
    )
    reducer = f"at::native::ReduceOp<{name}, {functor}, unsigned int, {name}, 4, 4>"
    return Kernel(
        f"void at::native::reduce_kernel<512, 1, {reducer} >({reducer})", (ceil(outputs / 8), 1, 1), (64, 8, 1)
    )


def foreach(functor: str, depth: int, blocks: int) -> Kernel:
    """Return the multi-tensor kernel of the foreach optimizer; ``depth`` is the number of tensor lists."""
    space = "at::native::(anonymous namespace)::"
    lists = f"{space}TensorListMetadata<{depth}>"
    name = f"void {space}multi_tensor_apply_kernel<{lists}, {space}{functor}, float>({lists}, {space}{functor}, float)"
    return Kernel(name, (blocks, 1, 1), (512, 1, 1))


def copy(source: str, target: str, elements: int, *, contiguous: bool = True) -> Kernel:
    """Return the kernel of ``aten::copy_`` between two element types."""
    if source == "bf16" and target == "fp32":
        functor = (
            f"at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{{lambda({CPP['bf16']})#1}}"
        )
        return vectorized(functor, 2, elements, 4)
    if target == "bf16" and source == "fp32":
        functor = "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}"
        return vectorized(functor, 2, elements, 4)
    functor = (
        "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
        f"{{lambda()#12}}::operator()() const::{{lambda({CPP[source]})#1}}"
    )
    return vectorized(functor, 2, elements) if contiguous else strided(functor, elements)


def aotriton(name: str, blocks: int) -> Kernel:
    """Return a kernel of AOTriton, PyTorch's own attention on ROCm: attn_fwd, bwd_kernel_dk_dv, bwd_kernel_dq …"""
    return Kernel(name, (blocks, 1, 1), (256, 1, 1), "hipModuleLaunchKernel", 8192)


def ck_fmha(direction: str, heads: int, rows: int, dim: int = 128) -> Kernel:
    """Return an attention kernel of Composable Kernel: direction Fwd or BwdDQDKDV."""
    shape = (
        f"ck_tile::TileFmhaShape<ck_tile::sequence<128, 128, 32, {dim}, 32, {dim}>, ck_tile::sequence<4, 1, 1>, true>"
    )
    problem = (
        "ck_tile::bf16_t, ck_tile::bf16_t, ck_tile::bf16_t, float, float, "
        f"{shape}, false, ck_tile::SimplifiedGenericAttentionMask<true>"
    )
    pipeline = f"ck_tile::BlockFmha{direction}PipelineQRKSVSAsync<ck_tile::BlockFmhaPipelineProblem<{problem}> >"
    kernel = f"ck_tile::Fmha{direction}Kernel<{pipeline}, ck_tile::Default2DEpilogue<float, ck_tile::bf16_t> >"
    name = f"void ck_tile::kentry<256, 2, {kernel}, {kernel}::Kargs>({kernel}::Kargs)"
    return Kernel(name, (ceil(rows / 128), heads, 1), (256, 1, 1))


def rccl(blocks: int = 56) -> Kernel:
    """Return RCCL's kernel: one name for every collective."""
    return Kernel(
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", (blocks, 1, 1), (256, 1, 1), "hipExtLaunchKernel"
    )
