"""The analysis of a part of a trace: its numbers by hand, and against an independent reading of real traces."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.making import Event, kernel, launch, mm, op, opened
from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.info import info_lines, trace_info
from tracelens_tui.analysis.model import Analysis, Elsewhere, TimeSplit
from tracelens_tui.analysis.part import elsewhere_sentence, excerpt
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.analysis.stepsplit import step_split
from tracelens_tui.analysis.store import open_analysis, save_analysis
from tracelens_tui.analysis.tables import all_tables
from tracelens_tui.ingest.cache import open_trace
from tracelens_tui.trace.scope import Scope
from tracelens_tui.trace.types import Kind


def step(number: int, ts: float, dur: float, *, cat: str = "user_annotation") -> Event:
    name = f"ProfilerStep#{number}"
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": 1, "args": {}}


def analysis_of(events: list[Event], text: str | None = None) -> Analysis:
    """The analysis of a trace or of the part that the text names."""
    trace, tree = opened(events)
    if text is None:
        return analyse(trace, tree)
    cut = excerpt(trace, tree, Scope.of_text(text))
    return analyse(cut.trace, cut.tree, part=cut.part, elsewhere=cut.elsewhere)


def pipelined() -> list[Event]:
    """Two steps; the collective of the first runs on stream 9 far into the second, and hides a gap of it."""
    return [
        step(1, 10, 40),
        mm(12, 10, 64, 64, 64), launch(1, 14),
        op("c10d::allreduce_", 30, 10), launch(2, 32),
        step(2, 50, 50),
        mm(60, 10, 64, 64, 64), launch(3, 62),
        mm(80, 10, 64, 64, 64), launch(4, 82),
        kernel("gemm", 20, 20, 1),
        kernel("ncclDevKernel_AllReduce", 40, 50, 2, stream=9),
        kernel("gemm", 70, 10, 3),
        kernel("gemm", 100, 20, 4),
    ]  # fmt: skip


def test_the_split_of_each_step():
    first, second = (analysis_of(pipelined(), f"step={number}").splits[0] for number in (1, 2))
    us = 1000
    assert first == TimeSplit(70 * us, 70 * us, 0, 20 * us, 50 * us, 50 * us, 0, 0, 20 * us)
    assert second == TimeSplit(50 * us, 30 * us, 20 * us, 30 * us, 0, 0, 0, 0, 70 * us)


def test_work_outside_of_the_part_is_told_and_is_no_gap():
    analysis = analysis_of(pipelined(), "step=2")
    assert analysis.part is not None
    assert analysis.part.elsewhere == {0: Elsewhere(idle=10_000, beside=10_000)}  # 80 to 90 and 70 to 80 µs
    (gap,) = analysis.gaps.iter_rows(named=True)
    assert (gap["start_ns"], gap["dur_ns"], gap["cause"]) == (90_000, 10_000, "queued")  # launched before it began
    whole = analysis_of(pipelined())
    assert whole.part is None
    assert whole.gaps["dur_ns"].to_list() == [10_000]


def test_what_is_left_of_a_gap_that_other_work_ends_has_no_cause():
    events = [
        step(1, 10, 40), op("aten::copy", 30, 10), launch(1, 32), step(2, 50, 80),
        mm(60, 10, 64, 64, 64), launch(2, 62), mm(100, 18, 64, 64, 64), launch(3, 110),
        kernel("other", 90, 12, 1, stream=9), kernel("gemm", 70, 10, 2), kernel("gemm", 120, 20, 3),
    ]  # fmt: skip
    gaps = analysis_of(events, "step=2").gaps.select("start_ns", "dur_ns", "cause").rows()
    assert gaps == [(102_000, 18_000, "launch"), (80_000, 10_000, "unknown")]
    assert analysis_of(events, "step=2").splits[0].idle == 40_000


def test_the_sentence_on_other_work():
    assert elsewhere_sentence(2, Elsewhere(0, 0)) == ""
    assert elsewhere_sentence(2, Elsewhere(1_500_000, 0)) == (
        "Work outside of the part keeps GPU 2 busy for 1.50 ms of its idle time."
    )
    assert elsewhere_sentence(0, Elsewhere(1_000, 2_000)) == (
        "Work outside of the part keeps GPU 0 busy for 1.00 µs of its idle time and overlaps 2.00 µs of its own work "
        "on GPU 0."
    )


def test_tables_speak_of_the_part():
    tables = all_tables(analysis_of(pipelined(), "step=2"))
    (row,) = tables["unified_perf_summary"].iter_rows(named=True)
    assert (row["name"], row["operation_count"], row["Kernel Time (µs)_sum"]) == ("aten::mm", 2, 30)
    assert tables["kernel_launchers"].height == 2
    assert tables["coll_analysis"].height == 0


def test_info_tells_the_part():
    info = trace_info(analysis_of(pipelined(), "step=2"))
    assert info["scope"] == {
        "kind": "step",
        "text": "step=2",
        "title": "ProfilerStep#2",
        "events": 7,
        "start_us": {"0": 50},
        "elsewhere_us": {"0": {"idle": 10, "beside": 10}},
    }
    assert info["events"] == 14
    assert info["counts"]["kernel"] == 2
    assert trace_info(analysis_of(pipelined()))["scope"] is None
    lines = info_lines(analysis_of(pipelined(), "steps=1-2"))
    assert lines[2:4] == [
        "Part      ProfilerStep#1 to #2 (2 annotations): 14 of 14 events; quality is that of the whole file",
        "          GPU 0 from 0 ns to 100 µs after the window's start",
    ]


def test_a_stored_analysis_keeps_its_part(tmp_path: Path):
    analysis = analysis_of(pipelined(), "annotation=ProfilerStep#2")
    save_analysis(tmp_path / "stored", analysis)
    assert open_analysis(tmp_path / "stored").part == analysis.part


def test_a_node_is_told_by_its_name():
    trace, tree = opened(pipelined())
    uid = int(trace.events["uid"][1])
    assert excerpt(trace, tree, Scope("node", uid, uid)).part.title == f"the subtree of event {uid}, aten::mm"


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30), st.booleans()), min_size=1, max_size=25))
def test_kernel_time_of_the_steps_adds_up_to_that_of_their_union(work):
    """Each item: a step of 1000 µs or, for 3, the time after them; a kernel's length; whether it is a collective."""
    events = [step(number, 1000 * number, 1000) for number in range(3)]
    for correlation, (number, dur, comm) in enumerate(work, start=1):
        ts = 1000 * number + 30 * correlation
        events += [op("aten::relu", ts, 20), launch(correlation, ts + 5)]
        name = "ncclDevKernel_AllReduce" if comm else "relu"
        events.append(kernel(name, 1500 + 40 * correlation, dur, correlation, stream=number))
    chosen = sorted({number for number, _, comm in work if number < 3})
    if not chosen:
        return
    parts = [analysis_of(events, f"step={number}") for number in chosen]
    union = analysis_of(events, "steps=0-2")
    for frame, column in (("ops", "kernel_ns_sum"), ("kernels", "sum_ns")):
        assert sum(getattr(one, frame)[column].sum() for one in parts) == getattr(union, frame)[column].sum()
    assert union.kernels["sum_ns"].sum() == 1000 * sum(dur for number, dur, _ in work if number < 3)


def by_hand(path: Path) -> dict[int, dict[str, int]]:
    """Step number -> kernel name -> ns, read from the JSON alone: of launches inside a step, else starts inside."""
    events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal, parse_int=Decimal)["traceEvents"]
    timed = [one for one in events if one.get("ph") == "X"]
    steps = [one for one in timed if one["name"].startswith("ProfilerStep#") and "gpu" not in str(one.get("cat"))]
    launches: dict[Any, Decimal] = {}
    for one in timed:
        if one.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime"):
            launches.setdefault(one["args"].get("correlation"), one["ts"])
    found: dict[int, dict[str, int]] = {int(one["name"].split("#")[1]): {} for one in steps}
    for one in timed:
        if str(one.get("cat")).lower() != "kernel":
            continue
        time = launches.get(one["args"].get("correlation"), one["ts"])
        for mark in steps:
            if mark["ts"] <= time < mark["ts"] + mark["dur"]:
                sums = found[int(mark["name"].split("#")[1])]
                sums[one["name"]] = sums.get(one["name"], 0) + int(one["dur"] * 1000)
    return found


@pytest.mark.parametrize("name", ["hta_nccl", "mi300_resnet_ckpt", "hta_sampled_rank0"])
def test_the_kernels_of_the_steps_of_real_traces(shared: Path, name: str):
    path = shared / f"traces/{name}.json.gz"
    expected = by_hand(path)
    assert len(expected) >= 2
    for number, sums in expected.items():
        analysis = open_analysis_of(path, scope=Scope("step", number, number), use_cache=False)
        kernels = analysis.kernels.filter(kind=int(Kind.KERNEL)).group_by("kernel").agg(pl.col("sum_ns").sum())
        assert dict(kernels.iter_rows()) == sums


@pytest.mark.parametrize("name", ["hta_nccl", "mi300_resnet_ckpt", "hta_diff_test", "hta_mi250_toy"])
def test_a_step_alone_has_the_split_that_the_table_of_steps_gives_it(shared: Path, name: str):
    path = shared / f"traces/{name}.json.gz"
    trace, tree = open_trace(path, use_cache=False)
    rows = step_split(trace, tree).filter(pl.col("gpu_events") > 0)
    assert rows.height
    for row in rows.iter_rows(named=True):
        cut = excerpt(trace, tree, Scope("step", row["step"], row["step"]))
        analysis = analyse(cut.trace, cut.tree, part=cut.part, elsewhere=cut.elsewhere)
        split, device = analysis.splits[row["device"]], row["device"]
        found = {name: getattr(split, name) for name in ("window", "busy", "idle", "compute", "comm", "memcpy")}
        assert found == {name: row[f"{name}_ns"] for name in found}
        assert split.start_ns == row["gpu_start_ns"]
        assert cut.part.elsewhere[device].idle == row["elsewhere_ns"]
        assert analysis.gaps["dur_ns"].sum() == row["idle_ns"] - row["elsewhere_ns"]
