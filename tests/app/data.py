"""A small hand-made trace, its analysis and a run: every number is written down, none comes from the product."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.analysis.model import (
    CALLS_SCHEMA,
    GAPS_SCHEMA,
    GPU_SCHEMA,
    KERNELS_SCHEMA,
    LAUNCHES_SCHEMA,
    OPS_SCHEMA,
    STEPS_SCHEMA,
    Analysis,
    TimeSplit,
)
from tracelens_tui.perf.platforms import Peak, Platform
from tracelens_tui.run.findings import Evidence, Finding, Impact, Metric, Operation
from tracelens_tui.run.state import AgentState, RunState, StageState
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import (
    ARGS_SCHEMA,
    DETAIL_SCHEMA,
    EVENT_SCHEMA,
    REPAIR_SCHEMA,
    THREAD_SCHEMA,
    DataQuality,
    Kind,
    QualityItem,
    Role,
    Source,
    Trace,
    TraceMetadata,
)

HOSTILE = "k<a>[/b][red]\x1b[31m"
HOSTILE_SHOWN = "k<a>[/b][red]"
GEMM = "Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI32x32x8x1"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
GPU0 = 2


@dataclass(frozen=True)
class Ev:
    """One event: times in µs."""

    kind: Kind
    name: str
    start: float
    dur: float
    parent: int = -1
    thread: int = 0
    stream: int = -1
    role: Role = Role.NONE
    args: int = 0
    correlation: int = 0

    @property
    def on_gpu(self) -> bool:
        return self.stream >= 0


EVENTS = (
    Ev(Kind.USER_ANNOTATION, "ProfilerStep#2", 0, 1000),  # 0
    Ev(Kind.PYTHON_FUNCTION, "model.py(10): forward", 5, 900, parent=0),  # 1
    Ev(Kind.CPU_OP, "aten::addmm", 10, 50, parent=1, args=1),  # 2
    Ev(Kind.RUNTIME, "hipExtModuleLaunchKernel", 20, 10, parent=2, correlation=11),  # 3
    Ev(Kind.KERNEL, GEMM, 40, 120, parent=3, thread=1, stream=7, role=Role.COMPUTE, correlation=11),  # 4
    Ev(Kind.CPU_OP, "aten::relu", 70, 20, parent=1, args=2),  # 5
    Ev(Kind.RUNTIME, "hipLaunchKernel", 75, 5, parent=5, correlation=12),  # 6
    Ev(Kind.KERNEL, HOSTILE, 160, 40, parent=6, thread=1, stream=7, role=Role.COMPUTE, correlation=12),  # 7
    Ev(Kind.CPU_OP, "aten::addmm", 300, 50, parent=1, args=1),  # 8
    Ev(Kind.RUNTIME, "hipExtModuleLaunchKernel", 310, 10, parent=8, correlation=13),  # 9
    Ev(Kind.KERNEL, GEMM, 400, 180, parent=9, thread=1, stream=7, role=Role.COMPUTE, correlation=13),  # 10
    Ev(Kind.RUNTIME, "hipMemcpyAsync", 620, 10, parent=1, correlation=14),  # 11
    Ev(Kind.MEMCPY, "CopyDeviceToHost", 640, 60, parent=11, thread=1, stream=7, role=Role.COPY, correlation=14),  # 12
    Ev(Kind.KERNEL, "ncclDevKernel_Generic", 700, 100, thread=2, stream=8, role=Role.COMM),  # 13, unlinked
    Ev(Kind.GPU_ANNOTATION, "nccl:all_reduce", 700, 100, thread=2, stream=8),  # 14
)
THREADS = (
    ("77", "77", "python3", "", "thread 77 (python3)", False),
    ("0", "7", "python3", "GPU 2", "stream 7", True),
    ("0", "8", "python3", "GPU 2", "stream 8", True),
)
ARGS = (
    ("", "", "", ""),
    (
        "[[2816],[8944,1024],[1024,2816],[],[]]",
        '["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"]',
        "",
        '["","","","1","1"]',
    ),
    ("[[8944,2816]]", '["c10::BFloat16"]', "", '[""]'),
)
QUALITY = DataQuality(
    items=(QualityItem("unlinked", 1, "1 GPU event has no launch.", "It counts in the time split.", gates=True),)
)


def frame(rows: Sequence[Sequence[object]], schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.DataFrame([list(row) for row in rows], schema=schema, orient="row")


def make_trace(events: Sequence[Ev] = EVENTS, quality: DataQuality = QUALITY) -> Trace:
    names = list(dict.fromkeys(event.name for event in events))
    rows = [
        (
            uid,
            int(e.kind),
            int(e.role),
            names.index(e.name),
            e.thread,
            GPU0 if e.on_gpu else -1,
            e.stream,
            round(e.start * 1000),
            round(e.dur * 1000),
            e.correlation,
            0,
            -1,
            -1,
            e.args,
            0,
            -1,
        )
        for uid, e in enumerate(events)
    ]
    return Trace(
        events=frame(rows, EVENT_SCHEMA),
        names=pl.Series("name", names, dtype=pl.String),
        threads=frame(THREADS, THREAD_SCHEMA),
        args=frame(ARGS, ARGS_SCHEMA),
        details=frame([("",) * len(DETAIL_SCHEMA)], DETAIL_SCHEMA),
        repairs=frame((), REPAIR_SCHEMA),
        metadata=TraceMetadata(Source("/traces/llama_step.json.gz", "kineto", 1234)),
        quality=quality,
    )


def make_tree(events: Sequence[Ev] = EVENTS) -> EventTree:
    """The tree of the parents written down in the events, by recursion (an oracle of its own)."""
    children: dict[int, list[int]] = {-1: []}
    for index, event in enumerate(events):
        children.setdefault(event.parent, []).append(index)
    for siblings in children.values():
        siblings.sort(key=lambda i: (events[i].start, -events[i].dur, i))
    n = len(events)
    order: list[int] = []
    depth, size = [0] * n, [1] * n
    gpu_count = [int(event.role != Role.NONE) for event in events]
    gpu_ns = [round(event.dur * 1000) * count for event, count in zip(events, gpu_count, strict=True)]

    def walk(index: int, level: int) -> None:
        order.append(index)
        depth[index] = level
        for child in children.get(index, []):
            walk(child, level + 1)
            for sums in (size, gpu_ns, gpu_count):
                sums[index] += sums[child]

    for root in children[-1]:
        walk(root, 0)
    following = dict(pair for siblings in children.values() for pair in pairwise(siblings))
    return EventTree(
        parent=ints([event.parent for event in events]),
        first_child=ints([children.get(index, [-1])[0] for index in range(n)]),
        next_sibling=ints([following.get(index, -1) for index in range(n)]),
        order=ints(order),
        position=ints([order.index(index) for index in range(n)]),
        size=ints(size),
        depth=ints(depth),
        launch=ints([event.parent if event.on_gpu else -1 for event in events]),
        op=ints([_op_above(events, index) for index in range(n)]),
        gpu_ns=np.array(gpu_ns, np.int64),
        gpu_count=ints(gpu_count),
    )


def ints(values: Sequence[int]) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def _op_above(events: Sequence[Ev], index: int) -> int:
    if not events[index].on_gpu and events[index].kind != Kind.RUNTIME:
        return -1
    above = events[index].parent
    while above >= 0 and events[above].kind != Kind.CPU_OP:
        above = events[above].parent
    return above


def op_row(row: int, name: str, category: str, count: int, kernel_ns: int, **other: object) -> tuple[object, ...]:
    values: dict[str, object] = {}
    for column in OPS_SCHEMA:
        values[column] = None
    values.update(
        row=row,
        name=name,
        category=category,
        process_name="python3",
        process_label="",
        thread_name="thread 77 (python3)",
        dims="",
        types="",
        strides="",
        concrete="",
        first_event=0,
        count=count,
        host_ns_sum=100_000,
        kernel_ns_sum=kernel_ns,
        exposed_ns=float(kernel_ns),
        device=GPU0,
        modelled=False,
        params="{}",
    )
    values.update(other)
    return tuple(values.values())


PLATFORM = Platform(
    name="MI300X",
    vendor="AMD",
    arch="gfx942",
    sm_count=304,
    memory_gb=192,
    mem_bw_gbps=5300,
    measured_bw_gbps=4300,
    peaks={"matrix_bf16": Peak(1307.4, 708, "A")},
)

# addmm: 2 * 8944 * 1024 * 2816 = 51,581,550,592 FLOP; 300 µs in 2 calls -> 343.9 TFLOPS; roof 708 -> 72.855 µs a call
OPS = (
    op_row(
        0,
        "aten::addmm",
        "GEMM",
        2,
        300_000,
        dims=ARGS[1][0],
        types=ARGS[1][1],
        concrete=ARGS[1][3],
        first_event=2,
        flops=51_581_550_592.0,
        bytes=74_000_000.0,
        spec="matrix_bf16",
        precision="bf16",
        bound="compute",
        roof_ns=72_855.0,
        efficiency=0.4857,
        pct_roofline_mean=50.59,
        library="Tensile",
        modelled=True,
        params='{"M": 8944, "N": 2816, "K": 1024}',
    ),
    op_row(1, "aten::relu", "elementwise", 1, 40_000, dims=ARGS[2][0], types=ARGS[2][1], first_event=5),
)
CALLS = ((2, 0, 120_000, 50_000), (5, 1, 40_000, 20_000), (8, 0, 180_000, 50_000))
GPU = (
    (4, 0, "GEMM", "Tensile"),
    (7, 1, "elementwise", None),
    (10, 0, "GEMM", "Tensile"),
    (12, None, "memcpy", None),
    (13, None, "comm", "RCCL"),
)
_K = int(Kind.KERNEL)
KERNELS = (
    (0, GEMM, GPU0, 7, _K, 1, "GEMM", "Tensile", 2, 300_000, 150_000.0, 120_000, 180_000, 4),
    (None, "ncclDevKernel_Generic", GPU0, 8, _K, 2, "comm", "RCCL", 1, 100_000, 100_000.0, 100_000, 100_000, 13),
    (None, "CopyDeviceToHost", GPU0, 7, int(Kind.MEMCPY), 3, "memcpy", None, 1, 60_000, 6e4, 60_000, 60_000, 12),
    (1, HOSTILE, GPU0, 7, _K, 1, "elementwise", None, 1, 40_000, 40_000.0, 40_000, 40_000, 7),
)
GAPS = (
    (GPU0, 200_000, 200_000, 7, 10, "host", 8, True, True, 80_000, 60_000, None),
    (GPU0, 580_000, 60_000, 10, 12, "launch", None, True, True, 2_000, 58_000, None),
)
STEPS = (
    (
        *(0, 2, GPU0, 0, 1_000_000),
        *(40_000, 760_000, 500_000, 260_000, 340_000, 100_000, 100_000, 60_000, 60_000, 0),
        *(4, 5),
    ),
)
# window 40..800 µs; compute 120+40+180 = 340; comm 100; copies 60; idle 200+60 = 260
SPLIT = TimeSplit(760_000, 500_000, 260_000, 340_000, 100_000, 100_000, 60_000, 60_000, 40_000)


def make_analysis(**changes: object) -> Analysis:
    analysis = Analysis(
        trace=make_trace(),
        tree=make_tree(),
        platform=PLATFORM,
        platform_note="MI300X, named in the trace",
        device=GPU0,
        splits={GPU0: SPLIT},
        ops=frame(OPS, OPS_SCHEMA),
        calls=frame(CALLS, CALLS_SCHEMA),
        gpu=frame(GPU, GPU_SCHEMA),
        kernels=frame(KERNELS, KERNELS_SCHEMA),
        gaps=frame(GAPS, GAPS_SCHEMA),
        steps=frame(STEPS, STEPS_SCHEMA),
        launches=frame((), LAUNCHES_SCHEMA),
    )
    return replace(analysis, **changes)  # type: ignore[arg-type]


# The run


def finding(number: int, title: str, tier: str, category: str, mid: float | None, **other: object) -> Finding:
    impact = Impact(low=mid * 0.857, mid=mid, high=mid * 1.143) if mid is not None else None
    values: dict[str, object] = {
        "id": f"{category}-{number}",
        "agent": category.replace("_", "-"),
        "analyst": "rules",
        "tier": tier,
        "category": category,
        "title": title,
        "confidence": "high",
        "impact": impact or Impact(low=None, mid=None, high=None),
        "insight": "It takes [[share]] of the window at [[roof]] of the roof.",
        "action": "Pad the inner dimension, then compare.",
        "identification": "By time.",
        "reasoning": "The tile does not divide the shape.",
        "resolution": "Choose sizes that the tiles divide.",
        "evidence": [
            Evidence(id="share", label="share of the window", value=39.5, unit="%", source="a.csv", key="row 0"),
            Evidence(id="roof", label="efficiency", value=48.6, unit="%", source="b.json", key="ops[0]"),
        ],
    }
    return Finding.model_validate({**values, **other})


ADDMM = Operation(
    row=0, name="aten::addmm", args="(8944, 1024) bf16<br>(1024, 2816) bf16", count=2, time_ms=0.3,
    percent_of_window=39.47, efficiency_percent=48.57, bound="compute",
)  # fmt: skip
FINDINGS = (
    finding(
        1, "GEMM runs at half of its roof", "compute", "gemm", 17.8,
        operations=[ADDMM], library="Tensile", bound="compute",
    ),
    finding(
        1, "The GPU idles between kernels", "system", "cpu_idle", 12.0, agent="cpu-idle", confidence="medium",
        metrics=[Metric(metric="Idle share", value="[[share]]", flagged=True)],
    ),
    finding(
        1, f"Elementwise {HOSTILE} is unfused", "fusion", "kernel_fusion", 3.4,
        agent="kernel-fusion", confidence="low",
    ),
)  # fmt: skip
AGENTS = (
    AgentState(
        "gemm", "gemm", "compute", "finished", "share of GPU time ≥ 1 %", 60.0, seconds=0.4, findings=1, done=1, total=1
    ),
    AgentState("norm", "norm_fwd", "compute", "skipped", "no op of this category", 0.0),
    AgentState(
        "cpu-idle", "cpu_idle", "system", "running", "idle share ≥ 10 %", 34.2,
        started=NOW - timedelta(seconds=41), done=2, total=5, text="looking at 2 gaps",
    ),
    AgentState(
        "multi-kernel", "multi_kernel", "system", "failed", "copies or collectives", 21.1,
        seconds=3.0, reason="the metrics file is damaged",
    ),
    AgentState("kernel-fusion", "kernel_fusion", "fusion", "planned", "2 candidates", 2.0, unit=""),
)  # fmt: skip
LIVE = RunState(
    status="running",
    run_id="r1",
    trace="/traces/llama_step.json.gz",
    platform="MI300X",
    analyst="rules",
    host="node1",
    pid=4711,
    started=NOW - timedelta(seconds=61),
    stages=(StageState("prepare", NOW - timedelta(seconds=60), seconds=9.0), StageState("agents", NOW)),
    agents=AGENTS,
    findings=FINDINGS[:1],
    last_seq=20,
)
DONE = replace(
    LIVE,
    status="finished",
    seconds=75.0,
    agents=(
        *AGENTS[:2],
        replace(AGENTS[2], status="finished", seconds=42.0, findings=1, done=5),
        AGENTS[3],
        replace(AGENTS[4], status="finished", seconds=2.0, findings=1),
    ),
    findings=FINDINGS,
    report="analysis.md",
    last_seq=40,
)
REPORT = """# Llama - MI300X Standalone Analysis

## Executive Summary

The window is **0.76 ms**; `aten::addmm` takes 39.5 % of it.

| Metric | Value |
|---|---|
| Total Time | 0.76 ms |
| Idle % | 34.21 |

![Performance Improvement](data:image/png;base64,AAAA)

## Compute Kernel Optimizations

### 🔴 P1: GEMM runs at half of its roof (Tensile)

**Insight**: It takes 39.5 % of the window.

<!-- impact-begin kind=p_item category=gemm low=15.2 mid=17.8 high=20.3 -->
**Impact**: impact_score: 17.8
<!-- impact-end -->

[Detailed Analysis: Compute kernel insights > P1](#detailed-analysis-compute-p1)

---

| Operation | Args | Kernel Name | Time (ms) |
|---|---|---|---|
| aten::addmm | (8944, 1024) bf16<br>(1024, 2816) bf16 | `k<a>[/b][red]` | 0.300 |
"""
