import pytest

from tracelens_tui.perf.categories import OTHER, kernel_category, op_category
from tracelens_tui.perf.kernels import CATEGORY_OF_CLASS, kernel_rules, rule_of, traits_of
from tracelens_tui.perf.library import kernel_library, library_of
from tracelens_tui.perf.registry import default_registry

TENSILE = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN_SK0_ISA942"
NVJET = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT"
XMMA = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"


@pytest.mark.parametrize(
    ("kernel", "category", "library", "traits"),
    [
        (TENSILE, "GEMM", "Tensile", ()),
        ("Cijk_Alik_Bljk_BBS_BH_MT128x128x64_SK3_ISA942", "GEMM", "Tensile", ("stream_k",)),
        ("Cijk_S_PostGSU4", "GEMM", "Tensile", ("split_k",)),
        (NVJET, "GEMM", "cuBLAS", ()),
        ("nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT", "GEMM", "cuBLAS", ("split_k",)),
        (XMMA, "GEMM", "cuBLAS", ()),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>", "GEMM", "cuBLAS", ("no_tensor_core",)),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align2>", "GEMM", "cuBLAS", ("misaligned",)),
        ("cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>", "GEMM", "cuBLAS", ("ampere_path",)),
        ("void gemv2T_kernel_val<int, int, float>", "GEMM", "cuBLAS", ("weights_streaming",)),
        ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>", "SDPA_fwd",
         "FlashAttention", ("ampere_path",)),
        ("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<x>", "SDPA_bwd", "FlashAttention",
         ("ampere_path",)),
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<x>>", "SDPA_fwd", "FlashAttention", ()),
        ("attn_fwd", "SDPA_fwd", "AOTriton", ("triton",)),
        ("attn_fwd.kd", "SDPA_fwd", "AOTriton", ("triton",)),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(x)", "SDPA_fwd", "CUTLASS", ()),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", "SDPA_bwd", "cuDNN", ()),
        ("void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<x>>", "SDPA_fwd", "CK", ()),
        ("igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1", "CONV_fwd", "MIOpen", ("nhwc",)),
        ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1", "CONV_bwd", "MIOpen", ("nhwc",)),
        ("naive_conv_ab_nonpacked_fwd_nchw_float_double_float", "CONV_fwd", "MIOpen", ("fallback",)),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_nhwckrsc_nchw", "CONV_fwd", "cuDNN", ()),
        ("void cudnn::ops::nchwToNhwcKernel<float>", "other", "cuDNN", ("layout_change",)),
        ("MIOpenBatchNormBwdSpatial", "NORM_bwd", "MIOpen", ()),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>", "NORM_fwd", "PyTorch", ()),
        (ADD, "elementwise", "PyTorch", ("vectorised",)),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduce", "PyTorch", ()),
        ("void at::native::index_elementwise_kernel<128, 4, x>", "elementwise", "PyTorch", ()),
        ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<x>", "multi_tensor_apply", "PyTorch", ()),
        ("void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, x>", "reduce", "PyTorch", ()),
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<x>", "other", "PyTorch", ()),
        ("triton_poi_fused_add_0", "triton", "Triton", ("pointwise",)),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "record_param_comms",
         "NCCL/RCCL", ()),
        ("ncclDevKernel_Generic_1(x)", "record_param_comms", "RCCL", ("unknown_type",)),
        ("void vllm::cross_device_reduce_1stage<bf16, 8>", "record_param_comms", "custom all-reduce", ("one_shot",)),
        ("Memcpy DtoH (Device -> Pinned)", "other", None, ()),
        ("Memset (Device)", "other", None, ()),
        ("some_kernel_of_mine", "other", None, ()),
        ("", "other", None, ()),
    ],
)  # fmt: skip
def test_a_kernel_by_its_name(kernel, category, library, traits):
    assert kernel_category(kernel) == category
    assert kernel_library(kernel) == library
    assert traits_of(kernel) == traits


def test_the_vendor_settles_a_shared_name():
    kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    assert [kernel_library(kernel, vendor) for vendor in ("NVIDIA", "AMD", None)] == ["NCCL", "RCCL", "NCCL/RCCL"]


def test_every_rule_has_a_category():
    assert {rule.kind for rule in kernel_rules()} <= set(CATEGORY_OF_CLASS)


def test_a_hostile_name_costs_no_time():
    assert rule_of("cutlass" * 1_000_000) is not None
    assert rule_of("Cijk_" + "_PostGSU" * 200_000) is not None


@pytest.mark.parametrize(
    ("op", "kernels", "category"),
    [
        ("aten::mm", (), "GEMM"),
        ("aten::_scaled_dot_product_flash_attention", (), "SDPA_fwd"),
        ("aten::_flash_attention_forward", (), "SDPA_fwd"),
        ("aten::_scaled_dot_product_flash_attention_backward", (), "SDPA_bwd"),
        ("aten::cudnn_convolution", (), "CONV_fwd"),
        ("aten::convolution_backward", (), "CONV_bwd"),
        ("aten::native_layer_norm", (), "NORM_fwd"),
        ("aten::native_batch_norm_backward", (), "NORM_bwd"),
        ("aten::mean", (), "reduce"),
        ("aten::_softmax", (), "reduce"),
        ("aten::mul", (), "elementwise"),
        ("aten::copy_", ("Memcpy DtoD (Device -> Device)",), "elementwise"),
        ("aten::cat", (), "other"),
        ("aiter::silu_and_mul", (), "elementwise"),
        ("aiter::rmsnorm", (), "RMSNorm"),
        ("triton_red_fused_add_mean_0", (), "triton"),
        ("record_param_comms", (), "record_param_comms"),
        ("mine::op", (), "other"),
        ("mine::op", (ADD,), "elementwise"),
        ("mine::op", ("Memset (Device)", NVJET), "GEMM"),
        ("mine::op", ("unheard_of", TENSILE), "GEMM"),
        ("mine::op", ("Memcpy DtoH (Device -> Pinned)",), "other"),
    ],
)
def test_an_op_by_its_name_then_its_kernels(op, kernels, category):
    assert op_category(op, kernels) == category


def test_every_model_is_in_the_category_that_its_name_has():
    registry = default_registry()
    for name in registry.names:
        model = registry.model(name)
        assert model is not None
        assert op_category(name) == (model.category or OTHER)


@pytest.mark.parametrize(
    ("op", "kernels", "library"),
    [
        ("aten::mm", (TENSILE,), "Tensile"),
        ("aten::mm", ("Memset (Device)", XMMA), "cuBLAS"),
        ("aten::miopen_convolution", ("Im2d2Col_v2", TENSILE), "MIOpen"),
        ("aten::convolution_backward", ("batched_transpose_32x32_half", "void kernel_grouped_conv_bwd_data<x>"), "CK"),
        ("aiter::gemm_a8w8_ck", ("kernel_gemm_xdl_cshuffle_v3",), "AITER"),
        ("vllm::rocm_aiter_rmsnorm", (), "AITER"),
        ("triton_poi_fused_add_0", (), "Triton"),
        ("fbgemm::permute", (), "FBGEMM"),
        ("aten::add", (ADD,), "PyTorch"),
        ("aten::nonzero", ("void rocprim::detail::init_lookback_scan_state_kernel<x>",), "rocPRIM"),
        ("aten::mm", (), None),
        ("mine::op", ("unheard_of",), None),
    ],
)
def test_the_library_of_an_op(op, kernels, library):
    assert library_of(op, kernels) == library
