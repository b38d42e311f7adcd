"""``agents/run_context.json``: what every sub-agent may know about the run as a whole."""

from collections.abc import Mapping

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.perf.parse import op_args
from tracelens_tui.run.category_files import CategoryMetrics
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.store import AGENTS
from tracelens_tui.triage.facts import OtherOp, RunContext
from tracelens_tui.triage.idle import has_stacks
from tracelens_tui.triage.metrics import NS_PER_MS

CONTEXT = f"{AGENTS}/run_context.json"

_BACKWARD = ("_bwd",)
_TRAINING = ("backward", "optimizer", "_foreach_", "_fused_adam", "_fused_sgd")


class ContextFile(Schema):
    """The run as a whole."""

    schema_version: int = SCHEMA_VERSION
    window_ms: float
    platform: str | None
    vendor: str | None
    arch: str | None
    sm_count: int | None
    training: bool  # a backward pass or an optimizer is in the trace
    with_stack: bool
    gated: bool  # the data needs a warning before any advice
    quality: list[str]  # quality codes of the trace


def context_file(analysis: Analysis, split: TimeSplit) -> ContextFile:
    """Return what holds for the run."""
    platform, quality = analysis.platform, analysis.trace.quality
    return ContextFile(
        window_ms=split.window / NS_PER_MS,
        platform=platform.name if platform else None,
        vendor=(platform.vendor or None) if platform else None,
        arch=(platform.arch or None) if platform else None,
        sm_count=platform.sm_count if platform else None,
        training=_trains(analysis),
        with_stack=has_stacks(analysis),
        gated=quality.gated,
        quality=sorted(item.code for item in quality.items),
    )


def run_context(file: ContextFile, metrics: Mapping[str, CategoryMetrics]) -> RunContext:
    """Return the context with the operations of all categories."""
    others = tuple(
        OtherOp(
            name=op.name,
            category=category,
            dims=op_args(op.name, op.input_dims, op.input_type).dims,
            count=op.count,
            time_ms=op.time_ms,
        )
        for category, one in metrics.items()
        for op in one.operations
    )
    return RunContext(
        window_ms=file.window_ms,
        platform=file.platform,
        vendor=file.vendor,
        arch=file.arch,
        sm_count=file.sm_count,
        training=file.training,
        with_stack=file.with_stack,
        gated=file.gated,
        quality=frozenset(file.quality),
        others=others,
        shapes=any(op.input_dims for one in metrics.values() for op in one.operations),
    )


def _trains(analysis: Analysis) -> bool:
    """True where an op of a backward pass or of an optimizer is among the rows."""
    categories = analysis.ops["category"].unique().to_list()
    names = (str(name).lower() for name in analysis.ops["name"].unique().to_list())
    return any(str(name).endswith(_BACKWARD) for name in categories) or any(
        word in name for name in names for word in _TRAINING
    )
