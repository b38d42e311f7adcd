"""What the traced model is, as far as modules, shapes, dtypes and collectives tell.  What they do not stays unknown."""

import re

from tracelens_tui.run.manifest import UNKNOWN_MODEL, ModelInfo
from tracelens_tui.triage.model_evidence import ModelEvidence, ModuleCount

PRECISIONS = 3
LEAST_PERCENT = 1.0
WIDTH_SHARE = 0.6
"""Part of the GEMM time whose weights must have a side for it to be the model's width."""
MOSTLY = 0.9

_FAMILY = re.compile(
    r"^(?P<family>[A-Z]\w*?)"
    r"(?:For[A-Z]\w+|(?:LM|Double)HeadModel|Transformer(?:\dD)?Model|Pretrained\w*|Model|LMHead\w*)$"
)
_PLAIN_FAMILY = re.compile(
    r"^(?P<family>(?:Wide|Se)?Res(?:Net|NeXt)|VGG|DenseNet|MobileNet\w*|EfficientNet\w*|DLRM|Mamba\d?)$"
)
_NO_FAMILY = frozenset({"My", "Test", "Toy", "Simple", "Base", "Language", "Wrapped", "Transformer", "Causal"})


def identify(evidence: ModelEvidence) -> ModelInfo:
    """Return what the evidence supports."""
    model = _outermost(evidence)
    return ModelInfo(
        model=model.name if model else UNKNOWN_MODEL,
        architecture=_architecture(evidence),
        scale=_scale(evidence),
        precision=_precision(evidence),
        family=_family(model.name if model else ""),
        mode=_mode(evidence),
        parallelism=_parallelism(evidence),
    )


def _outermost(evidence: ModelEvidence) -> ModuleCount | None:
    """The outermost module that takes most GPU time."""
    outermost = [module for module in evidence.modules if module.outermost]
    return max(outermost, key=lambda one: (one.gpu_ms, one.name), default=None)


def _family(model: str) -> str:
    """The stem of a class that is named as libraries name models: ``LlamaForCausalLM`` -> ``Llama``."""
    found = _PLAIN_FAMILY.match(model) or _FAMILY.match(model)
    family = found["family"] if found else ""
    return family if family and family not in _NO_FAMILY else UNKNOWN_MODEL


def _architecture(evidence: ModelEvidence) -> str:
    """Transformer, convolutional network, both, or unknown: by the ops that ran."""
    time = {name.lower(): ms for name, ms in evidence.kernel_ms_by_category.items()}
    convolution = sum(ms for name, ms in time.items() if name.startswith("conv"))
    total = sum(time.values())
    convolutional = total > 0 and convolution > 0.1 * total
    if _attends(evidence):
        kind = "Transformer with convolutions" if convolutional else "Transformer"
        return f"{kind}, mixture of experts" if any(name.startswith("moe_") for name in time) else kind
    return "Convolutional network" if convolutional else UNKNOWN_MODEL


def _attends(evidence: ModelEvidence) -> bool:
    time = [name.lower() for name in evidence.kernel_ms_by_category]
    return any(name.startswith("sdpa") or "attention" in name for name in time) or any(
        "Attention" in module.name for module in evidence.modules
    )


def _scale(evidence: ModelEvidence) -> str:
    """Layers, width and heads, each where the trace shows it."""
    layers, shape, width = evidence.layers, evidence.attention, _width(evidence)
    told: list[str] = []
    if layers and layers.instances > 1:
        told.append(f"{layers.instances} {layers.name} modules")
    if width is not None:
        told.append(f"hidden size {width}")
    if shape and shape.heads > 1:
        shared = f" ({shape.kv_heads} for keys and values)" if shape.kv_heads != shape.heads else ""
        told.append(f"{shape.heads} attention heads{shared} of {shape.head_size}")
    return ", ".join(told) or UNKNOWN_MODEL


def _width(evidence: ModelEvidence) -> int | None:
    """The hidden size: the one side that most of a transformer's GEMM time has in its weights."""
    sides = evidence.gemm_ms_by_side
    if not sides or not _attends(evidence):
        return None
    most = max(sides.values())
    widest = [side for side, ms in sides.items() if ms == most]
    return widest[0] if len(widest) == 1 and most >= WIDTH_SHARE * evidence.gemm_ms else None


def _precision(evidence: ModelEvidence) -> str:
    """The precisions of the modelled kernel time, largest first."""
    total = sum(evidence.kernel_ms_by_precision.values())
    shares = [(name, 100 * ms / total) for name, ms in evidence.kernel_ms_by_precision.items()] if total else []
    told = [f"{name} ({share:.0f} % of modelled kernel time)" for name, share in shares if share >= LEAST_PERCENT]
    return ", ".join(told[:PRECISIONS]) or UNKNOWN_MODEL


def _mode(evidence: ModelEvidence) -> str:
    """Training, or inference with its phase where attention tells it."""
    if evidence.training:
        return "training"
    if not sum(evidence.kernel_ms_by_category.values()):
        return UNKNOWN_MODEL
    calls = evidence.attention_calls
    single = evidence.one_query_calls / calls if calls else 0.0
    if single >= MOSTLY:
        return "inference, decode"
    if single > 0:
        return "inference, prefill and decode"
    return "inference, prefill" if calls and evidence.causal_calls >= MOSTLY * calls else "inference"


def _parallelism(evidence: ModelEvidence) -> str:
    """The ranks, the collectives, and the kind of parallelism that such collectives are usual for."""
    if not evidence.collectives:
        if evidence.world_size is None:
            return UNKNOWN_MODEL
        return "one rank" if evidence.world_size == 1 else f"{evidence.world_size} ranks, no collective recorded"
    ranks = f"{evidence.world_size} ranks" if evidence.world_size else "several ranks"
    kinds = ", ".join(list(evidence.collectives)[:4])
    usual = _usual({kind.lower().replace("_", "") for kind in evidence.collectives}, training=evidence.training)
    return f"{ranks} ({kinds})" + (f", as {usual} does" if usual else "")


def _usual(kinds: set[str], *, training: bool) -> str:
    """The usual reason for such collectives; SendRecv kernels alone may be either of two."""

    def any_has(word: str) -> bool:
        return any(word in kind for kind in kinds)

    if any_has("alltoall"):
        return "expert parallelism"
    if kinds & {"send", "recv"}:
        return "pipeline parallelism"
    if "sendrecv" in kinds:
        return ""
    if training and any_has("reducescatter") and any_has("allgather"):
        return "sharded data parallelism"
    if any_has("allreduce"):
        return "data parallelism" if training else "tensor parallelism"
    return ""
