"""What the identification of the traced model goes by: modules, shapes, categories and collectives."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from tracelens_tui.analysis.model import Analysis
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.store import AGENTS
from tracelens_tui.text import plain
from tracelens_tui.trace.types import Kind, Role
from tracelens_tui.triage.origins import module_class

EVIDENCE = f"{AGENTS}/model-identification/evidence.json"

_WRAPPERS = re.compile(
    r"^(Sequential|Module(List|Dict)?|(Distributed)?DataParallel|FullyShardedDataParallel|FSDP\w*|OptimizedModule|\w*Wrapper|"
    r"Linear|Conv\w*|Embedding|LayerNorm|RMSNorm|Dropout|ReLU|GELU|SiLU|Identity|Softmax|BatchNorm\w*|\w*Loss)$"
)
_LAYER = re.compile(r"(Layer|Block|Bottleneck)$")
_KIND = re.compile(r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|send_?recv|send|recv|reduce")
_LEAST_SIDE = 32
"""A GEMM whose weight is narrower says nothing about the width of the model."""
_LIMIT = 40

Scalar = int | float | str | bool


class ModuleCount(Schema):
    """A module class: how many instances the names tell apart, and the GPU time below its outermost calls."""

    name: str
    instances: int
    gpu_ms: float
    outermost: bool  # called from no other module that is more than a wrapper


class LayerStack(Schema):
    """The class of layers or blocks that takes most of the model's GPU time."""

    name: str
    instances: int


class AttentionShape(Schema):
    """The attention that takes most of the kernel time."""

    heads: int
    kv_heads: int
    head_size: int


class ModelEvidence(Schema):
    """What the identification goes by."""

    schema_version: int = SCHEMA_VERSION
    modules: list[ModuleCount]
    kernel_ms_by_precision: dict[str, float]
    kernel_ms_by_category: dict[str, float]
    layers: LayerStack | None = None  # within the outermost module that takes most time
    gemm_ms: float = 0.0  # kernel time of GEMMs with a weight: one matrix, both sides at least 32
    gemm_ms_by_side: dict[int, float] = Field(default_factory=dict)  # the part whose weight has a side of that length
    attention: AttentionShape | None = None
    attention_calls: int = 0
    one_query_calls: int = 0  # of them with one query per sequence
    causal_calls: int = 0
    training: bool = False
    world_size: int | None = None
    collectives: dict[str, int] = Field(default_factory=dict)  # kernels by the recorded kind


def model_evidence(analysis: Analysis, *, training: bool = False) -> ModelEvidence:
    """Return the evidence of a trace; ``training`` says that a backward pass or an optimizer is in it."""
    ops = analysis.ops
    modules, layers = _modules(analysis)
    shapes = [
        (str(category), int(count), int(ns), msgspec.json.decode(params, type=dict[str, Scalar]))
        for category, count, ns, params in ops.select("category", "count", "kernel_ns_sum", "params").iter_rows()
        if params
    ]
    sides, gemm_ns = _gemm_sides(shapes)
    calls = [(count, ns, params) for _, count, ns, params in shapes if "N_Q" in params]
    return ModelEvidence(
        modules=modules,
        kernel_ms_by_precision=_time_by(ops.drop_nulls("precision"), "precision"),
        kernel_ms_by_category=_time_by(ops, "category"),
        layers=layers,
        gemm_ms=gemm_ns / 1e6,
        gemm_ms_by_side={side: ns / 1e6 for side, ns in sides.items()},
        attention=_attention(calls),
        attention_calls=sum(count for count, _, _ in calls),
        one_query_calls=sum(count for count, _, params in calls if params["N_Q"] == 1),
        causal_calls=sum(count for count, _, params in calls if params.get("causal") is True),
        training=training,
        world_size=analysis.trace.metadata.world_size,
        collectives=_collectives(analysis),
    )


def _modules(analysis: Analysis) -> tuple[list[ModuleCount], LayerStack | None]:
    trace, tree = analysis.trace, analysis.tree
    names = trace.names.to_frame("name").with_row_index("code").filter(pl.col("name").str.starts_with("nn.Module: "))
    if not names.height:
        return [], None
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
    model = max(outer, key=lambda name: (by_name[name], name), default=None)
    layers = _layers(analysis, [event for event, name in outermost if name == model], events, classes)
    return sorted(found, key=lambda one: (-one.gpu_ms, -one.instances, one.name))[:_LIMIT], layers


def _outermost(analysis: Analysis, events: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
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


def _layers(
    analysis: Analysis, models: Sequence[int], events: NDArray[np.int64], classes: Mapping[int, str]
) -> LayerStack | None:
    """The layer class with most GPU time below ``models``; its instances are told apart by their names."""
    if not models:
        return None
    tree, code = analysis.tree, analysis.trace.events["name"].to_numpy()
    begins = tree.position[np.asarray(models, np.int64)]
    ends = begins + tree.size[np.asarray(models, np.int64)]
    place = np.searchsorted(begins, tree.position[events], side="right") - 1
    inside = (place >= 0) & (tree.position[events] < ends[np.maximum(place, 0)])
    time: Counter[str] = Counter()
    names: dict[str, set[int]] = {}
    for event in events[inside].tolist():
        name = classes[int(code[event])]
        if _LAYER.search(name):
            time[name] += int(tree.gpu_ns[event])
            names.setdefault(name, set()).add(int(code[event]))
    most = max(time, key=lambda name: (time[name], name), default=None)
    return None if most is None else LayerStack(name=most, instances=len(names[most]))


def _gemm_sides(shapes: Sequence[tuple[str, int, int, Mapping[str, Scalar]]]) -> tuple[Counter[int], int]:
    """Kernel time (ns) of the GEMMs with a weight by each side of it, and in all."""
    sides: Counter[int] = Counter()
    total = 0
    for category, _, ns, params in shapes:
        weight = {int(params.get(name, 0)) for name in ("N", "K")} if category == "GEMM" else {0}
        if min(weight) < _LEAST_SIDE or params.get("B", 1) != 1:
            continue
        total += ns
        sides.update(dict.fromkeys(weight, ns))
    return sides, total


def _attention(calls: Sequence[tuple[int, int, Mapping[str, Scalar]]]) -> AttentionShape | None:
    """The shape with most kernel time; of equal ones the first."""
    time: Counter[tuple[int, int, int]] = Counter()
    for _, ns, params in calls:
        if {"H_Q", "H_KV", "d_h_qk"} <= params.keys():
            time[int(params["H_Q"]), int(params["H_KV"]), int(params["d_h_qk"])] += ns
    if not time:
        return None
    heads, kv_heads, size = max(time, key=time.__getitem__)
    return AttentionShape(heads=heads, kv_heads=kv_heads, head_size=size)


def _collectives(analysis: Analysis) -> dict[str, int]:
    """Kernels of collectives by the recorded kind, else by the one in the kernel's name, "unnamed" without either."""
    trace = analysis.trace
    gpu = trace.events.select("kind", "role", "name", "detail")[analysis.gpu["event"]]
    events = gpu.filter((pl.col("role") == Role.COMM) & (pl.col("kind") == Kind.KERNEL))
    kinds = trace.details["collective"].gather(events["detail"]).to_list()
    kernels = trace.names.gather(events["name"]).to_list()
    counts = Counter(plain(kind or _kind_of(kernel), 60) for kind, kernel in zip(kinds, kernels, strict=True))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _kind_of(kernel: str) -> str:
    found = _KIND.search(kernel)
    return found[0].replace("_", "").lower() if found else "unnamed"


def _time_by(ops: pl.DataFrame, column: str) -> dict[str, float]:
    groups = (
        ops.group_by(column)
        .agg(pl.col("kernel_ns_sum").sum())
        .sort(["kernel_ns_sum", column], descending=[True, False])
    )
    return {str(name): ns / 1e6 for name, ns in groups.iter_rows()}
