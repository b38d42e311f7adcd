"""The library that an op's GPU work comes from, by the op's name, then by its kernels' names."""

from collections.abc import Sequence

from tracelens_tui.perf.kernels import KernelRule, rule_of

_OP_NAMES = (
    # part of an op's name, library
    ("aiter", "AITER"),
    ("fbgemm", "FBGEMM"),
    ("miopen", "MIOpen"),
    ("cudnn", "cuDNN"),
    ("triton", "Triton"),
)
_SIDE_WORK = frozenset({
    # kernels that accompany the work of an op and are not what it is tuned by
    "concat", "conv_part", "copy_engine", "elementwise", "fill", "gemm_epilogue", "gemm_reduction", "index", "layout",
    "memset", "quantise", "random", "unknown",
})  # fmt: skip


def library_of(op: str, kernels: Sequence[str] = (), vendor: str | None = None) -> str | None:
    """Return the library's name ("Tensile", "cuBLAS", "PyTorch", ...), None if nothing tells.

    Of several kernels the first that does the op's main work decides.  ``vendor`` ("AMD", "NVIDIA") settles names
    that two libraries share.
    """
    lowered = op.lower()
    for part, library in _OP_NAMES:
        if part in lowered:
            return library
    rules = [rule for rule in map(rule_of, kernels) if rule is not None and rule.library is not None]
    main = next((rule for rule in rules if rule.kind not in _SIDE_WORK), rules[0] if rules else None)
    return None if main is None else main.library_on(vendor)


def kernel_library(kernel: str, vendor: str | None = None) -> str | None:
    """Return the library of one kernel by its name, None if the name does not tell."""
    rule: KernelRule | None = rule_of(kernel)
    return None if rule is None else rule.library_on(vendor)
