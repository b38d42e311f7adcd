"""Copies and collectives of the device: their groups, how much of them nothing hides, and what stands out."""

import polars as pl

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.analysis.transfers import bus_factor, transfers_of
from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.multi_kernel_files import (
    BlockingAssessment,
    CopyDirection,
    LongCollective,
    MemcpyAssessment,
    MemcpyIssue,
    MemcpySummary,
    MultiKernelData,
    MultiKernelMetrics,
    NcclSummary,
    OverlapAnalysis,
    OverlapAssessment,
    TransferGroup,
)
from tracelens_tui.text import duration, plain
from tracelens_tui.triage.impact import impact_of
from tracelens_tui.triage.metrics import NS_PER_MS
from tracelens_tui.triage.origins import NAME_LIMIT

CATEGORY = "multi_kernel"
LONG_PERCENT = 5.0
MANY_COPIES = 10
TARGET_OVERLAP = 70.0
LEAST_COMM_NS = 100_000
TOP = 10

_KEY = ("collective", "name", "pageable", "group", "group_size")


def multi_kernel_data(analysis: Analysis, split: TimeSplit) -> MultiKernelData:
    """Return ``multi_kernel_data.json``: everything on the chosen device, whatever op it belongs to."""
    every = transfers_of(analysis, rated=True)
    copies, comm = every.filter(~pl.col("collective")), every.filter("collective")
    directions = copies.group_by("name").agg(
        pl.len(), pl.col("dur_ns").sum(), pl.col("dur_ns").max().alias("longest"), pl.col("bytes").sum()
    )
    longest = comm.sort("dur_ns", "event", descending=[True, False]).head(TOP)
    names = analysis.trace.names.gather(analysis.trace.events["name"].gather(longest["event"]))
    return MultiKernelData(
        memcpy_summary=MemcpySummary(
            total_count=copies.height,
            total_time_us=_us(int(copies["dur_ns"].sum())),
            by_direction={
                str(name): CopyDirection(
                    count=count,
                    total_time_us=_us(time),
                    avg_time_us=_us(time / count),
                    max_time_us=_us(most),
                    total_bytes=int(size),
                    avg_bytes=size / count,
                )
                for name, count, time, most, size in directions.sort("name").iter_rows()
            },
        ),
        nccl_summary=NcclSummary(
            total_count=comm.height,
            total_time_us=_us(int(comm["dur_ns"].sum())),
            avg_time_us=_us(int(comm["dur_ns"].sum()) / comm.height) if comm.height else None,
            max_time_us=_us(longest["dur_ns"][0]) if comm.height else None,
            top_ops=[
                LongCollective(name=plain(str(name), NAME_LIMIT), duration_us=_us(ns), stream=stream)
                for name, ns, stream in zip(names, longest["dur_ns"], longest["stream"], strict=True)
            ],
        ),
        overlap_analysis=OverlapAnalysis(
            total_time_us=_us(split.window),
            computation_time_us=_us(split.compute),
            total_comm_time_us=_us(split.comm),
            exposed_comm_time_us=_us(split.exposed_comm),
            total_memcpy_time_us=_us(split.memcpy),
            exposed_memcpy_time_us=_us(split.exposed_memcpy),
            comm_overlap_ratio=1 - split.exposed_comm / split.comm if split.comm else None,
            memcpy_overlap_ratio=1 - split.exposed_memcpy / split.memcpy if split.memcpy else None,
            comm_percent_of_total=_percent(split.comm, split.window),
            memcpy_percent_of_total=_percent(split.memcpy, split.window),
        ),
    )


def multi_kernel_metrics(analysis: Analysis, split: TimeSplit, data: MultiKernelData) -> MultiKernelMetrics:
    """Return ``multi_kernel_metrics.json``: the assessments, and the transfers by group, most exposed time first.

    Copies inside the device that a modelled op makes are left out of the groups: that op's category judges them.
    """
    groups = _groups(analysis, split)
    return MultiKernelMetrics(
        status="SUCCESS",
        total_time_ms=split.window / NS_PER_MS,
        memcpy_summary=data.memcpy_summary,
        nccl_summary=data.nccl_summary,
        overlap_analysis=data.overlap_analysis,
        memcpy_assessment=_copies(data, split),
        nccl_blocking_assessment=_blocking(split),
        overlap_assessment=_overlap(split),
        impact_estimates=[_estimate(group) for group in groups],
        transfers=groups,
    )


def _groups(analysis: Analysis, split: TimeSplit) -> list[TransferGroup]:
    frame = transfers_of(analysis)
    room = _room(split)
    found = [
        _group(analysis, split, part, room)
        for _, part in frame.group_by(_KEY, maintain_order=True)
        if part["dur_ns"].sum()
    ]
    return sorted(found, key=lambda one: (-one.exposed_ms, one.kind, one.name, one.group or "", one.memory or ""))


def _room(split: TimeSplit) -> float:
    """The part of the exposed communication that the compute beside which none runs could hide, at most 1."""
    alone = split.compute - (split.comm - split.exposed_comm)
    return min(1.0, alone / split.exposed_comm) if split.exposed_comm else 1.0


def _group(analysis: Analysis, split: TimeSplit, part: pl.DataFrame, room: float) -> TransferGroup:
    collective, name, pageable, group, ranks = part.select(_KEY).row(0)
    time, exposed = int(part["dur_ns"].sum()), int(part["exposed_ns"].sum())
    sized = part.filter(pl.col("bytes").is_not_null() & (pl.col("dur_ns") > 0))
    moved = int(sized["bytes"].sum()) if sized.height else None
    rate = moved / int(sized["dur_ns"].sum()) if moved else None
    factor = bus_factor(name, ranks) if collective else None
    return TransferGroup(
        kind="collective" if collective else "copy",
        name=plain(name, NAME_LIMIT),
        memory=None if pageable is None else "pageable" if pageable else "pinned",
        group=None if group is None else plain(group, NAME_LIMIT),
        group_size=ranks,
        count=part.height,
        time_ms=time / NS_PER_MS,
        exposed_ms=exposed / NS_PER_MS,
        exposed_percent=_percent(exposed, split.window),
        winnable_percent=_percent(exposed, split.window) * (room if collective else 1.0),
        hidden_percent=100 * (1 - exposed / time) if time else None,
        mean_us=_us(time / part.height),
        longest_us=_us(part["dur_ns"].to_numpy().max()),
        median_bytes=_median(sized),
        total_bytes=moved,
        rate_gbps=rate,
        bus_gbps=None if rate is None or factor is None else rate * factor,
        waiter=_waiter(analysis, part),
        same_stream_percent=_percent(int(part.filter("same_stream")["dur_ns"].sum()), time),
    )


def _median(sized: pl.DataFrame) -> float | None:
    return float(sized.select(pl.col("bytes").median()).item()) if sized.height else None


def _waiter(analysis: Analysis, part: pl.DataFrame) -> str | None:
    """The op, else the kernel, that begins after most of the exposed time."""
    waiting = part.filter(pl.col("waiter").is_not_null() & (pl.col("exposed_ns") > 0))
    if not waiting.height:
        return None
    trace, tree = analysis.trace, analysis.tree
    event = waiting["waiter"].to_numpy().astype(int)
    op = tree.op[event]
    shown = pl.Series([int(own) if own >= 0 else int(kernel) for own, kernel in zip(op, event, strict=True)])
    names = trace.names.gather(trace.events["name"].gather(shown))
    sums = pl.DataFrame({"name": names, "ns": waiting["exposed_ns"]}).group_by("name").agg(pl.col("ns").sum())
    return plain(str(sums.sort("ns", "name", descending=[True, False])["name"][0]), NAME_LIMIT)


def _copies(data: MultiKernelData, split: TimeSplit) -> MemcpyAssessment:
    """Copies between host and device that take over 5 % of the window or are more than ten and not negligible."""
    window_us = split.window / 1e3
    issues = [
        MemcpyIssue(
            direction=name,
            count=one.count,
            time_ms=one.total_time_us / 1e3,
            percent_of_total=_percent(one.total_time_us, window_us),
            avg_bytes=one.avg_bytes,
            description=f"{one.count:,} copies {name} take {duration(one.total_time_us * 1e3)}",
        )
        for name, one in data.memcpy_summary.by_direction.items()
        if name in {"H2D", "D2H"} and (_percent(one.total_time_us, window_us) > LONG_PERCENT or one.count > MANY_COPIES)
    ]
    return MemcpyAssessment(
        flagged=bool(issues),
        total_count=data.memcpy_summary.total_count,
        total_time_ms=data.memcpy_summary.total_time_us / 1e3,
        percent_of_total=_percent(data.memcpy_summary.total_time_us, window_us),
        issues=issues,
    )


def _blocking(split: TimeSplit) -> BlockingAssessment:
    share = _percent(split.exposed_comm, split.window)
    return BlockingAssessment(
        flagged=share > LONG_PERCENT,
        exposed_comm_time_ms=split.exposed_comm / NS_PER_MS,
        total_comm_time_ms=split.comm / NS_PER_MS,
        exposed_percent_of_total=share,
        description=f"{share:.1f} % of the window is communication that no compute hides",
    )


def _overlap(split: TimeSplit) -> OverlapAssessment:
    ratio = 1 - split.exposed_comm / split.comm if split.comm else None
    flagged = ratio is not None and split.comm >= LEAST_COMM_NS and 100 * ratio < TARGET_OVERLAP
    words = "there is no communication" if ratio is None else f"{100 * ratio:.1f} % of the communication is hidden"
    return OverlapAssessment(
        flagged=flagged,
        overlap_ratio=ratio,
        overlap_percent=None if ratio is None else 100 * ratio,
        target_percent=TARGET_OVERLAP,
        description=words,
    )


def _estimate(group: TransferGroup) -> ImpactEstimate:
    impact = impact_of(group.winnable_percent)
    return ImpactEstimate(
        operation=group.name,
        category=CATEGORY,
        type="copy" if group.kind == "copy" else "communication",
        impact_score=impact.mid or 0.0,
        impact_score_low=impact.low or 0.0,
        impact_score_high=group.winnable_percent,
        time_ms=group.exposed_ms,
    )


def _us(ns: float) -> float:
    return float(ns) / 1e3


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else 0.0
