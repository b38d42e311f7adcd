"""From the op rows of a category to its metrics file: operations, their impact, and the clusters of findings."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.types import Dims, Shape
from tracelens_tui.run.category_files import (
    CategoryFinding,
    CategoryMetadata,
    CategoryMetrics,
    ImpactEstimate,
    OperationEfficiency,
    OperationMetrics,
)
from tracelens_tui.text import clip, plain
from tracelens_tui.triage.impact import LOW_OVER_HIGH, MIN_MID, gap_percent, impact_of
from tracelens_tui.triage.origins import NOT_FOUND, Origin
from tracelens_tui.triage.traits import shapes_in

NS_PER_MS = 1e6
HIGH_COV = 1.0
MIN_COV_CALLS = 10
MIN_COV_PERCENT = 5.0
CHAIN_ROWS = 100  # call chains are kept in categories with at most this many ops
KERNEL_LIMIT = 75
NAME_LIMIT = 500
ARGS_LIMIT = 2_000

Band = Literal["0-30", "30-60", "60-100"]

_DTYPES = {
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e4m3fnuz": "fp8",
    "c10::Float8_e5m2": "fp8",
    "c10::Float8_e5m2fnuz": "fp8",
}
HOST_COPY = "host_copy"
_HOST_COPY = re.compile(r"HtoD|DtoH|HostToDevice|DeviceToHost|Host -> Device|Device -> Host", re.IGNORECASE)
_SCALARS = {"Scalar", "", "ScalarList"}


@dataclass(frozen=True, slots=True)
class Roofs:
    """The peaks that efficiencies refer to, as the metadata of a category has them."""

    tflops: Mapping[str, float]  # by compute spec
    bandwidth_tbs: float

    @classmethod
    def of(cls, metadata: CategoryMetadata) -> "Roofs | None":
        """Return the roofs of a run, None where the platform is unknown."""
        if metadata.peak_hbm_bw_tbs is None:
            return None
        return cls(metadata.max_achievable_tflops, metadata.peak_hbm_bw_tbs)


def category_metrics(
    category: str,
    ops: pl.DataFrame,
    kernels: Mapping[int, Sequence[str]],
    origins: Mapping[int, Origin],
    roofs: Roofs | None,
    window_ns: int,
) -> CategoryMetrics:
    """Return the metrics of a category.

    ``ops`` holds its rows of ``Analysis.ops``, most kernel time first; ``kernels`` and ``origins`` say for each row
    which kernels it runs (most time first) and where it was called from.
    """
    total_ns = int(ops["kernel_ns_sum"].sum())
    operations = [
        _operation(row, kernels.get(row["row"], ()), origins.get(row["row"]), roofs, total_ns, window_ns)
        for row in ops.iter_rows(named=True)
    ]
    if len(operations) > CHAIN_ROWS:
        operations = [op.model_copy(update={"call_chain": []}) for op in operations]
    window_ms = window_ns / NS_PER_MS
    clusters = clusters_of(category, operations, window_ms)
    return CategoryMetrics(
        category=category,
        status="OK" if operations else "NO_DATA",
        total_time_ms=total_ns / NS_PER_MS,
        percent_of_compute=_percent(total_ns, window_ns),
        operation_count=sum(op.count for op in operations),
        operations=operations,
        impact_estimates=[one for cluster in clusters for one in cluster.members],
        category_findings=_kept(category, clusters),
    )


def clusters_of(category: str, operations: Sequence[OperationMetrics], window_ms: float) -> list[CategoryFinding]:
    """Return the clusters by bound, library and efficiency band, most mid impact first, small ones included.

    An operation without a roofline, or above it, is in none: nothing can be said of what it could win.  Nor is a copy
    between host and device, which the device's memory roof does not limit.
    """
    groups: dict[tuple[str, str, Band], list[ImpactEstimate]] = {}
    for op in operations:
        estimate = _estimate(category, op, window_ms)
        if estimate is not None and estimate.bound_type and estimate.efficiency_pct is not None:
            key = (estimate.bound_type, op.library or "Unknown", band(estimate.efficiency_pct))
            groups.setdefault(key, []).append(estimate)
    clusters = [_cluster(key, members) for key, members in groups.items()]
    clusters.sort(key=lambda one: (-one.impact_score, one.bound_type, one.library, one.eff_bucket))
    return [one.model_copy(update={"rank": rank}) for rank, one in enumerate(clusters, 1)]


def band(percent: float) -> Band:
    """Return the efficiency band of a percentage."""
    return "0-30" if percent < 30 else "30-60" if percent < 60 else "60-100"


def args_text(dims: Dims, types: Sequence[str]) -> str:
    """Return the tensors of an op as text: ``(8192,2432) bf16<br>(2432,9728) bf16``, an em dash without any."""
    parts = [_arg(item, types[index] if index < len(types) else "") for index, item in enumerate(dims)]
    return plain("<br>".join(filter(None, parts)), ARGS_LIMIT) or NOT_FOUND


def _kept(category: str, clusters: Sequence[CategoryFinding]) -> list[CategoryFinding]:
    """The clusters that become findings, with the findings' ids."""
    kept = [cluster for cluster in clusters if cluster.impact_score >= MIN_MID]
    return [one.model_copy(update={"id": f"{category}-{one.rank}"}) for one in kept]


def _cluster(key: tuple[str, str, Band], members: list[ImpactEstimate]) -> CategoryFinding:
    bound, library, bucket = key
    members = sorted(members, key=lambda one: (-one.impact_score, one.row or 0))
    return CategoryFinding(
        bound_type="compute" if bound == "compute" else "memory",
        library=library,
        eff_bucket=bucket,
        impact_score=math.fsum(one.impact_score for one in members),
        impact_score_low=math.fsum(one.impact_score_low for one in members),
        impact_score_high=math.fsum(one.impact_score_high for one in members),
        member_count=len(members),
        members=members,
        rank=0,
    )


def _estimate(category: str, op: OperationMetrics, window_ms: float) -> ImpactEstimate | None:
    percent = op.efficiency.surest_percent
    exposed = op.time_ms if op.exposed_ms is None else op.exposed_ms
    high = gap_percent(exposed, None if percent is None else percent / 100, window_ms)
    if high is None or op.classification.get(HOST_COPY):
        return None
    impact = impact_of(high, low=_least(op, exposed, window_ms))
    return ImpactEstimate(
        operation=op.name,
        category=category,
        type="kernel_tuning",
        impact_score=impact.mid or 0.0,
        impact_score_low=impact.low or 0.0,
        impact_score_high=high,
        efficiency_pct=percent,
        bound_type=op.efficiency.bound_type,
        library=op.library,
        time_ms=op.time_ms,
        percent_of_total=op.percent_of_total,
        row=op.row,
    )


def _least(op: OperationMetrics, exposed: float, window_ms: float) -> float | None:
    """The low end where the arguments leave open how much work there is: from the most work that can be."""
    most = op.efficiency.efficiency_high_percent
    if most is None:
        return None
    return LOW_OVER_HIGH * (gap_percent(exposed, min(most / 100, 1.0), window_ms) or 0.0)


def _operation(
    row: dict[str, Any],
    kernels: Sequence[str],
    origin: Origin | None,
    roofs: Roofs | None,
    total_ns: int,
    window_ns: int,
) -> OperationMetrics:
    args = op_args(row["name"], row["dims"], row["types"])
    share = _percent(row["kernel_ns_sum"], window_ns)
    efficiency = _efficiency(row, roofs)
    cov = row["kernel_time_cov"]
    return OperationMetrics(
        row=row["row"],
        name=row["name"],
        count=row["count"],
        time_ms=row["kernel_ns_sum"] / NS_PER_MS,
        percent_of_category=_percent(row["kernel_ns_sum"], total_ns),
        percent_of_total=share,
        efficiency=efficiency,
        efficiency_warning=efficiency.warning,
        **{"Input Dims": row["dims"], "Input type": row["types"]},
        has_perf_model=row["modelled"],
        args=args_text(args.dims, args.types),
        cov=cov,
        high_variance=_varies(cov, row["count"], share),
        library=row["library"],
        launcher_path=_path(origin, row["library"]),
        kernel_name=_kernel_names(kernels, NAME_LIMIT),
        kernel_name_trunc=_kernel_names(kernels, KERNEL_LIMIT),
        module_chain=list(origin.modules) if origin else [],
        call_chain=list(origin.chain) if origin else [],
        dims=_shapes(args.dims),
        dtype=row["precision"],
        exposed_ms=row["exposed_ns"] / NS_PER_MS,
        classification={HOST_COPY: True} if any(map(_HOST_COPY.search, kernels)) else {},
    )


def _efficiency(row: dict[str, Any], roofs: Roofs | None) -> OperationEfficiency:
    """The roofline figures of a row; null where they cannot be known."""
    calls_ns = row["kernel_ns_sum"] / row["count"] if row["count"] else 0
    flops, moved, ratio = row["flops"], row["bytes"], row["efficiency"]
    rated = roofs is not None and ratio is not None
    percent = 100 * ratio if ratio is not None else None
    ends = [None if row[name] is None else 100 * row[name] for name in ("efficiency_low", "efficiency_high")]
    highest = percent if ends[1] is None else ends[1]
    return OperationEfficiency(
        tflops_achieved=flops / calls_ns / 1e3 if flops and calls_ns else None,
        tb_s_achieved=moved / calls_ns / 1e3 if moved and calls_ns else None,
        efficiency_percent=percent,
        bound_type=row["bound"],
        flops_per_byte=flops / moved if flops is not None and moved else None,
        compute_spec=row["spec"],
        resolved_peak_maf=roofs.tflops.get(row["spec"]) if rated and roofs and row["spec"] else None,
        resolved_peak_hbm_bw=roofs.bandwidth_tbs if rated and roofs else None,
        warning=_warning(row) if highest is not None and highest > 100 else None,
        is_anomaly=highest is not None and highest > 100,
        mean_efficiency_percent=row["pct_roofline_mean"],
        efficiency_low_percent=ends[0],
        efficiency_high_percent=ends[1],
    )


def _warning(row: dict[str, Any]) -> str:
    """The likely reason of an efficiency above the roof."""
    if row["efficiency_high"] is not None:
        return (
            "the range reaches above the roof: the call had less to do than its arguments allow (fewer experts hit,"
            " shorter sequences); only what the least work leaves to win counts"
        )
    if row["bound"] == "memory":
        return (
            "above the memory roof: the data probably stayed in the last-level cache, or the op moves less than the"
            " model assumes; not counted as a gain"
        )
    return (
        "above the compute roof: the op probably does less work than the model assumes (a masked, sparse or Winograd"
        " variant), or the peaks belong to another GPU; not counted as a gain"
    )


def _varies(cov: float | None, count: int, share: float) -> bool:
    """True where the calls of an op that matters differ a lot."""
    return cov is not None and cov > HIGH_COV and count > MIN_COV_CALLS and share >= MIN_COV_PERCENT


def _path(origin: Origin | None, library: str | None) -> str:
    """Where the op was called from, else its library."""
    if origin is not None and origin.path != NOT_FOUND:
        return origin.path
    return f"{library} (vendor)" if library else NOT_FOUND


def _kernel_names(kernels: Sequence[str], limit: int) -> str:
    """The kernels of one op, each cut to ``limit`` characters; numbered where there are several."""
    names = [_cut(plain(name), limit) for name in kernels]
    if len(names) < 2:
        return names[0] if names else NOT_FOUND
    return "<br>".join(f"Kernel {index}: {name}" for index, name in enumerate(names, 1))


def _cut(name: str, limit: int) -> str:
    return clip(name, limit) if limit > KERNEL_LIMIT else name if len(name) <= limit else name[:limit] + "..."


def _arg(item: Shape | tuple[Shape, ...], kind: str) -> str:
    """One argument as text, "" for a scalar."""
    if kind in _SCALARS:
        return ""
    inner = [f"({', '.join(map(str, shape))})" for shape in item if isinstance(shape, tuple)]
    if inner:
        return f"({','.join(inner)}) {kind}"
    sides = ",".join(map(str, item))
    return f"({sides}{',' if len(item) == 1 else ''}) {_DTYPES.get(kind, kind)}"


def _shapes(dims: Dims) -> list[list[int]] | None:
    """The shapes of the tensors, tensor lists laid flat; None where none was recorded."""
    shapes = [list(shape) for shape in shapes_in(dims)]
    return shapes or None


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
