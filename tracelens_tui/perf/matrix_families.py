"""All families of models around matrix products: GEMM, attention, experts, state spaces; and fused library kernels."""

from tracelens_tui.perf import (
    attention,
    attention_libraries,
    attention_serving,
    gemm,
    gemm_low_bit,
    gemm_serving,
    gemm_training,
    grouped_gemm,
    hyper_connections,
    liger,
    moe,
    moe_aux,
    moe_stages,
    ssm,
)

MODELS = (
    *gemm.MODELS,
    *gemm_serving.MODELS,
    *gemm_low_bit.MODELS,
    *gemm_training.MODELS,
    *grouped_gemm.MODELS,
    *attention.MODELS,
    *attention_libraries.MODELS,
    *attention_serving.MODELS,
    *moe.MODELS,
    *moe_stages.MODELS,
    *moe_aux.MODELS,
    *ssm.MODELS,
    *hyper_connections.MODELS,
    *liger.MODELS,
)
