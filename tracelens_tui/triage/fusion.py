"""The candidates for kernel fusion and what fusing them saves: ``fusion_candidates`` and ``kernel_fusion_metrics``."""

import math
from collections import Counter
from typing import Any

import polars as pl

from tracelens_tui.analysis.fusion import fusion_chains
from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.fusion_files import (
    CandidateKernel,
    FusionCandidate,
    FusionCandidates,
    FusionSaving,
    KernelFusionMetrics,
)
from tracelens_tui.text import plain
from tracelens_tui.trace.kinds import GPU_KINDS
from tracelens_tui.triage.impact import MIN_MID, impact_of
from tracelens_tui.triage.origins import NAME_LIMIT, module_class
from tracelens_tui.triage.overlap import fusion_room, fusion_share
from tracelens_tui.triage.prepare_source import PrepareSource

CATEGORY = "kernel_fusion"
ARROW = " > "
_NS_PER_US = 1e3
_NS_PER_MS = 1e6
_MATRIX = "GEMM"


def fusion_groups(source: PrepareSource) -> pl.DataFrame:
    """Return one row per candidate, most time first: base_name, chains, members, and times in ns over all instances.

    ``members`` are the calls of the instance that takes longest, ``first`` is a call of the first instance.
    """
    ops = source.ops.select("row", "name", "category", "dims")
    chains = fusion_chains(source.analysis).join(ops, on="row", how="inner", maintain_order="left")
    chains = chains.join(fusion_share(source.ops), on="row", how="left", maintain_order="left")
    time = pl.col("kernel_ns")
    instances = chains.group_by("chain", maintain_order=True).agg(
        pl.col("name").str.join(ARROW).alias("base_name"),
        pl.col("event"),
        pl.col("container").first(),
        pl.col("dims").first(),
        pl.col("kernels").sum(),
        time.sum().alias("time_ns"),
        time.filter(pl.col("category") == _MATRIX).sum().alias("matrix_ns"),
        (time * pl.col("removed")).sum().alias("removed_ns"),
        (time * pl.col("removed") * pl.col("share")).sum().alias("claimed_ns"),
    )
    longest = pl.col("time_ns").arg_max()
    groups = instances.group_by("base_name", maintain_order=True).agg(
        pl.len().alias("instances"),
        pl.col("event").get(longest).alias("members"),
        pl.col("kernels").get(longest),
        pl.col("container").first(),
        pl.col("dims").first(),
        pl.col("time_ns", "matrix_ns", "removed_ns", "claimed_ns").sum(),
    )
    return groups.sort(["time_ns", "base_name"], descending=[True, False])


def fusion_candidates(source: PrepareSource, groups: pl.DataFrame) -> FusionCandidates:
    """Return the candidates in the order of ``groups``."""
    return FusionCandidates(candidates=[_candidate(source, group) for group in groups.iter_rows(named=True)])


def fusion_metrics(source: PrepareSource, groups: pl.DataFrame, found: FusionCandidates) -> KernelFusionMetrics:
    """Return what each candidate saves and may claim; what all claim together stays within the room that is left."""
    window = source.split.window
    room = fusion_room(source.ops, source.split)
    wanted = math.fsum(impact_of(100 * ns / window).mid or 0.0 for ns in groups["claimed_ns"]) if window else 0.0
    scale = min(1.0, room / wanted) if wanted else 0.0
    savings: list[FusionSaving] = []
    findings = 0
    for group, candidate in zip(groups.iter_rows(named=True), found.candidates, strict=True):
        percent = 100 * scale * group["claimed_ns"] / window if window else 0.0
        worth = (impact_of(percent).mid or 0.0) >= MIN_MID
        findings += worth
        savings.append(_saving(group, candidate, percent, scale, f"{CATEGORY}-{findings}" if worth else None))
    estimates = [_estimate(saving) for saving in savings]
    platform = source.analysis.platform
    return KernelFusionMetrics(
        status="OK" if savings else "NO_DATA",
        total_time_ms=math.fsum(saving.time_ms for saving in savings),
        candidate_count=len(savings),
        estimated_count=len(estimates),
        total_impact_score=math.fsum(one.impact_score for one in estimates),
        platform=source.platform,
        peak_hbm_bw_tbs=platform.mem_bw_gbps / 1e3 if platform else None,
        impact_estimates=estimates,
        savings=savings,
        room_percent=room,
    )


def _candidate(source: PrepareSource, group: dict[str, Any]) -> FusionCandidate:
    kernels = _kernels(source, group["members"])
    types = [kernel.type for kernel in kernels]
    modules, call = _around(source, group["container"])
    return FusionCandidate(
        module_name=modules[-1] if modules else "",
        base_name=plain(group["base_name"], 5 * NAME_LIMIT),
        parent_chain=modules,
        instance_count=group["instances"],
        kernel_count=len(kernels),
        eligible_kernel_count=sum(kernel.eligible for kernel in kernels),
        kernels=kernels,
        kernel_type_signature=types,
        kernel_type_summary=dict(Counter(types)),
        total_kernel_time_us=group["time_ns"] / _NS_PER_US,
        input_dims=group["dims"],
        host_call=call,
    )


def _kernels(source: PrepareSource, members: list[int]) -> list[CandidateKernel]:
    """The kernels of one instance in the order of the stream."""
    analysis = source.analysis
    kinds = [int(kind) for kind in GPU_KINDS]
    calls = dict(analysis.calls.filter(pl.col("event").is_in(members)).select("event", "row").iter_rows())
    ops = source.ops.filter(pl.col("row").is_in(list(calls.values()))).select("row", "name", "category")
    known = {row: (plain(name, NAME_LIMIT), category) for row, name, category in ops.iter_rows()}
    found: list[CandidateKernel] = []
    for call in members:
        name, category = known[calls[call]]
        below = pl.Series("uid", analysis.tree.subtree(call), dtype=pl.UInt32)
        events = analysis.trace.events.select("name", "kind", "dur_ns", "start_ns")[below.to_list()].with_columns(below)
        gpu = events.filter(pl.col("kind").is_in(kinds)).sort("start_ns", "uid")
        titles = analysis.trace.names.gather(gpu["name"]).to_list()
        found += [
            CandidateKernel(
                name=plain(title, 4 * NAME_LIMIT),
                type=category,
                dur_us=dur / _NS_PER_US,
                eligible=category != _MATRIX,
                gpu_op_uid=uid,
                op=name,
            )
            for title, dur, uid in zip(titles, gpu["dur_ns"], gpu["uid"], strict=True)
        ]
    return found


def _around(source: PrepareSource, container: int) -> tuple[list[str], str]:
    """The modules around an event, outermost first, and the event's own name."""
    trace, tree = source.analysis.trace, source.analysis.tree
    events = [*tree.ancestors(container)[::-1], container]
    names = trace.names.gather(trace.events["name"][events]).to_list()
    return [found for name in names if (found := module_class(name))], plain(names[-1], NAME_LIMIT)


def _saving(
    group: dict[str, Any], candidate: FusionCandidate, percent: float, scale: float, finding: str | None
) -> FusionSaving:
    time, matrix, removed = group["time_ns"], group["matrix_ns"], group["removed_ns"]
    other = time - matrix
    return FusionSaving(
        finding=finding,
        operation=candidate.base_name,
        module=candidate.module_name,
        host_call=candidate.host_call,
        instance_count=candidate.instance_count,
        kernel_count=candidate.kernel_count,
        modelled_kernel_count=candidate.kernel_count,
        fusion_type="matrix_compute" if matrix else "memory_bound",
        bound_type="compute" if matrix else "memory",
        time_ms=time / _NS_PER_MS,
        matrix_ms=matrix / _NS_PER_MS,
        removed_percent=100 * removed / other if other else 0.0,
        removed_ms=removed / _NS_PER_MS,
        claimed_ms=scale * group["claimed_ns"] / _NS_PER_MS,
        claimed_percent=percent,
        kernels=candidate.kernels,
    )


def _estimate(saving: FusionSaving) -> ImpactEstimate:
    impact = impact_of(saving.claimed_percent)
    return ImpactEstimate(
        operation=saving.operation,
        category=CATEGORY,
        type=CATEGORY,
        impact_score=impact.mid or 0.0,
        impact_score_low=impact.low or 0.0,
        impact_score_high=impact.high or 0.0,
        bound_type=saving.bound_type,
        time_ms=saving.time_ms,
    )
