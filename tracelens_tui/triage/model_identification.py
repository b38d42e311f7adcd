"""What the traced model is, as far as modules, ops and dtypes tell.  What they do not tell stays unknown."""

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.manifest import UNKNOWN_MODEL, ModelInfo
from tracelens_tui.run.store import AGENTS
from tracelens_tui.triage.origins import module_class

EVIDENCE = f"{AGENTS}/model-identification/evidence.json"

_WRAPPERS = re.compile(
    r"^(Sequential|Module(List|Dict)?|(Distributed)?DataParallel|FullyShardedDataParallel|FSDP\w*|OptimizedModule|\w*Wrapper|"
    r"Linear|Conv\w*|Embedding|LayerNorm|RMSNorm|Dropout|ReLU|GELU|SiLU|Identity|Softmax|BatchNorm\w*|\w*Loss)$"
)
_LAYER = re.compile(r"(Layer|Block|Bottleneck)$")
_PRECISIONS = 3
_LEAST_PERCENT = 1.0
_LIMIT = 40


class ModuleCount(Schema):
    """A module class: how many instances the names tell apart, and the GPU time below its outermost calls."""

    name: str
    instances: int
    gpu_ms: float
    outermost: bool  # called from no other module that is more than a wrapper


class ModelEvidence(Schema):
    """What the identification goes by."""

    schema_version: int = SCHEMA_VERSION
    modules: list[ModuleCount]
    kernel_ms_by_precision: dict[str, float]
    kernel_ms_by_category: dict[str, float]


def model_evidence(analysis: Analysis) -> ModelEvidence:
    """Return the module classes of the trace and the kernel time by precision and category."""
    ops = analysis.ops
    return ModelEvidence(
        modules=_modules(analysis),
        kernel_ms_by_precision=_time_by(ops.drop_nulls("precision"), "precision"),
        kernel_ms_by_category=_time_by(ops, "category"),
    )


def identify(evidence: ModelEvidence) -> ModelInfo:
    """Return what the evidence supports."""
    outermost = [module for module in evidence.modules if module.outermost]
    model = max(outermost, key=lambda one: (one.gpu_ms, one.name), default=None)
    return ModelInfo(
        model=model.name if model else UNKNOWN_MODEL,
        architecture=_architecture(evidence),
        scale=_scale(evidence),
        precision=_precision(evidence),
    )


def _modules(analysis: Analysis) -> list[ModuleCount]:
    trace, tree = analysis.trace, analysis.tree
    names = trace.names.to_frame("name").with_row_index("code").filter(pl.col("name").str.starts_with("nn.Module: "))
    if not names.height:
        return []
    classes = {code: module_class(name) or "" for code, name in names.iter_rows()}
    instances = Counter(classes.values())
    code = trace.events["name"].to_numpy()
    events = np.flatnonzero(np.isin(code, list(classes)))
    events = events[np.argsort(tree.position[events])]
    outermost = _outermost(analysis, [(int(event), classes[int(code[event])]) for event in events])
    by_name = Counter(dict.fromkeys(instances, 0))
    for event, name in outermost:
        by_name[name] += int(tree.gpu_ns[event])
    outer = {name for _, name in outermost}
    found = [
        ModuleCount(name=name, instances=count, gpu_ms=by_name[name] / 1e6, outermost=name in outer)
        for name, count in instances.items()
        if name
    ]
    return sorted(found, key=lambda one: (-one.gpu_ms, -one.instances, one.name))[:_LIMIT]


def _outermost(analysis: Analysis, events: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The module calls, in preorder, that lie in no other one; wrappers and plain layers are looked through."""
    position, size = analysis.tree.position, analysis.tree.size
    out: list[tuple[int, str]] = []
    end = -1
    for event, name in events:
        if position[event] < end or _WRAPPERS.match(name):
            continue
        end = int(position[event]) + int(size[event])
        out.append((event, name))
    return out


def _time_by(ops: pl.DataFrame, column: str) -> dict[str, float]:
    groups = (
        ops.group_by(column)
        .agg(pl.col("kernel_ns_sum").sum())
        .sort(["kernel_ns_sum", column], descending=[True, False])
    )
    return {str(name): ns / 1e6 for name, ns in groups.iter_rows()}


def _architecture(evidence: ModelEvidence) -> str:
    """Transformer, convolutional network, both, or unknown: by the ops that ran."""
    time = {name.lower(): ms for name, ms in evidence.kernel_ms_by_category.items()}
    attention = any(name.startswith("sdpa") or "attention" in name for name in time) or any(
        "Attention" in module.name for module in evidence.modules
    )
    convolution = sum(ms for name, ms in time.items() if name.startswith("conv"))
    total = sum(time.values())
    convolutional = total > 0 and convolution > 0.1 * total
    if attention:
        return "Transformer with convolutions" if convolutional else "Transformer"
    return "Convolutional network" if convolutional else UNKNOWN_MODEL


def _scale(evidence: ModelEvidence) -> str:
    """The number of instances of the most frequent layer or block class."""
    layers = [module for module in evidence.modules if _LAYER.search(module.name)]
    most = max(layers, key=lambda one: (one.instances, one.name), default=None)
    return f"{most.instances} {most.name} modules" if most and most.instances > 1 else UNKNOWN_MODEL


def _precision(evidence: ModelEvidence) -> str:
    """The precisions of the modelled kernel time, largest first."""
    total = sum(evidence.kernel_ms_by_precision.values())
    shares = [(name, 100 * ms / total) for name, ms in evidence.kernel_ms_by_precision.items()] if total else []
    told = [f"{name} ({share:.0f} % of modelled kernel time)" for name, share in shares if share >= _LEAST_PERCENT]
    return ", ".join(told[:_PRECISIONS]) or UNKNOWN_MODEL
