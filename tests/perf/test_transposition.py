"""Names as they occur in traces of both vendors."""

import pytest

from tests.perf.calling import BF16, args
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.transposition import transposition


@pytest.mark.parametrize(
    ("kernel", "letters"),
    [
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", "TN"),
        ("Cijk_Ailk_Bjlk_SB_MT64x64x16", "NT"),
        ("Custom_Cijk_Ailk_Bljk_HHS_BH_MT256x256x32", "NN"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopB_TNT", "TN"),
        ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NN", "NN"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas", "TN"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x256_32x3_nn_align8>", "NN"),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "TN"),
        ("volta_sgemm_128x64_nt", "NT"),
        ("void at::native::elementwise_kernel<1>", None),
        ("my_own_gemm", None),
        ("nt" * 100_000, None),
    ],
)
def test_names(kernel, letters):
    assert transposition(["Memset (Device)", kernel]) == letters


def test_a_product_tells_it():
    cost = cost_of(args("aten::mm", [[4, 8], [8, 2]], BF16, kernels=["Cijk_Alik_Bljk_BBS_BH"]))
    assert cost is not None
    assert cost.params["transpose"] == "TN"
    bare = cost_of(args("aten::mm", [[4, 8], [8, 2]], BF16))
    assert bare is not None
    assert "transpose" not in bare.params
