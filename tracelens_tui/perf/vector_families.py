"""All families of models that run on the vector unit, but for plain elementwise ops."""

from tracelens_tui.perf import (
    activations,
    creation,
    fused_norms,
    indexing,
    losses,
    movement,
    normalization,
    optimizers,
    ordering,
    pooling,
    quantization,
    reduction,
    resampling,
    rope,
    softmax,
)

MODELS = (
    *normalization.MODELS,
    *fused_norms.MODELS,
    *softmax.MODELS,
    *reduction.MODELS,
    *pooling.MODELS,
    *resampling.MODELS,
    *movement.MODELS,
    *indexing.MODELS,
    *creation.MODELS,
    *ordering.MODELS,
    *losses.MODELS,
    *optimizers.MODELS,
    *activations.MODELS,
    *rope.MODELS,
    *quantization.MODELS,
)
