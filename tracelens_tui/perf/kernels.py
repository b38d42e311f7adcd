"""What a kernel's name says: its class, the library it comes from, and traits that the name proves.

The rules are data (``perf/data/kernel_patterns.json``): regular expressions tried from the top, the first that is
found decides, so specific ones stand before general ones.  A rule has a ``class`` (:data:`CATEGORY_OF_CLASS`), a
``library`` (``library_amd`` where the same name belongs to another library on AMD), and ``traits``: ``split_k``,
``stream_k``, ``split_kv``, ``no_tensor_core``, ``misaligned``, ``ampere_path``, ``tf32``, ``fallback``,
``layout_change``, ``unfused_epilogue``, ``weights_streaming`` and the like.  No trait proves that it is absent.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import msgspec

_LONGEST = 4096  # of a name that is looked at: real ones are shorter, hostile ones must not cost seconds


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename={"kind": "class"}):
    pattern: str
    kind: str
    library: str | None = None
    library_amd: str | None = None
    traits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelRule:
    """One kind of kernel, recognised by its name."""

    pattern: re.Pattern[str]
    kind: str  # a key of CATEGORY_OF_CLASS
    library: str | None  # None: the name does not tell
    library_amd: str | None  # where it differs on AMD GPUs
    traits: tuple[str, ...]

    def library_on(self, vendor: str | None) -> str | None:
        """Return the library for a vendor; both, as "NCCL/RCCL", where it is not known."""
        if self.library_amd is None or self.library is None or vendor == "NVIDIA":
            return self.library
        return self.library_amd if vendor == "AMD" else f"{self.library}/{self.library_amd}"


CATEGORY_OF_CLASS: dict[str, str] = {
    "attention_bwd": "SDPA_bwd",
    "attention_fwd": "SDPA_fwd",
    "attention_inference": "InferenceAttention",
    "collective": "record_param_comms",
    "concat": "other",
    "conv": "CONV_fwd",  # the name does not tell the direction
    "conv_bwd": "CONV_bwd",
    "conv_fwd": "CONV_fwd",
    "conv_part": "other",
    "copy_engine": "other",
    "elementwise": "elementwise",
    "embedding": "other",
    "fill": "elementwise",
    "fusion": "other",
    "gemm": "GEMM",
    "gemm_epilogue": "GEMM",
    "gemm_reduction": "GEMM",
    "gemv": "GEMM",
    "grouped_gemm": "GroupedGEMM_fwd",
    "index": "other",
    "kv_cache": "InferenceAttention",
    "layout": "other",
    "loss": "other",
    "memset": "other",
    "moe": "MoE_fused",
    "moe_aux": "MoE_aux",
    "multi_tensor": "multi_tensor_apply",
    "norm_bwd": "NORM_bwd",
    "norm_fwd": "NORM_fwd",
    "pool": "other",
    "quantise": "GroupQuant",
    "random": "elementwise",
    "reduce": "reduce",
    "rms_norm": "RMSNorm",
    "rotary": "RoPE_fwd",
    "scan": "other",
    "softmax": "reduce",
    "sort": "other",
    "ssm": "SSM_fwd",
    "topk": "other",
    "triton": "triton",
    "unknown": "other",
}
"""Display category (TraceLens's names) of a kernel class."""


@lru_cache(maxsize=1)
def kernel_rules() -> tuple[KernelRule, ...]:
    """Return the rules in order of priority."""
    data = (files("tracelens_tui.perf") / "data" / "kernel_patterns.json").read_bytes()
    entries = msgspec.json.decode(data, type=list[_Entry])
    return tuple(KernelRule(re.compile(e.pattern), e.kind, e.library, e.library_amd, e.traits) for e in entries)


def rule_of(kernel: str) -> KernelRule | None:
    """Return the first rule that fits a kernel's name, None if none does.  Ask once per distinct name."""
    name = kernel[:_LONGEST]
    return next((rule for rule in kernel_rules() if rule.pattern.search(name)), None)


def traits_of(kernel: str) -> tuple[str, ...]:
    """Return what a kernel's name proves about it, in words of this module; empty where it proves nothing."""
    rule = rule_of(kernel)
    return rule.traits if rule else ()
