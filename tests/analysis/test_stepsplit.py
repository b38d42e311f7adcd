"""The time split of each step: figures by hand, by counting ticks, and by a plain reading of a real trace."""

import gzip
import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.making import call, event, finished, kernel, mark, opened
from tracelens_tui.analysis.model import STEPS_SCHEMA
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.analysis.stepsplit import step_split
from tracelens_tui.analysis.timesplit import time_split
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.scope import Scope

NCCL = "ncclDevKernel_AllReduce_Sum"
COPY: dict[str, Any] = {"name": "Memcpy DtoH (Device -> Pinned)", "cat": "gpu_memcpy"}
PARTS = ("window", "busy", "idle", "compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy", "elsewhere")


def split(*events):
    """{(step, device): ((window, busy, … as in PARTS) in µs, kernels, GPU events)}."""
    frame = step_split(*opened(*events))
    assert dict(frame.schema) == {name: dtype() for name, dtype in STEPS_SCHEMA.items()}
    return {
        (row["step"], row["device"]): (
            tuple(None if row[f"{part}_ns"] is None else row[f"{part}_ns"] / 1e3 for part in PARTS),
            row["kernels"],
            row["gpu_events"],
        )
        for row in frame.iter_rows(named=True)
    }


STEPS = [
    mark("ProfilerStep#1", 0, 100),
    mark("ProfilerStep#2", 100, 100),
    mark("ProfilerStep#3", 200, 50),
    call(1, 10), kernel(1, 20, 40),
    call(2, 20), kernel(2, 50, 40, name=NCCL, stream=9),
    call(3, 30), kernel(3, 85, 10, name="Memcpy HtoD (Pinned -> Device)", cat="gpu_memcpy", stream=10),
    call(4, 90), kernel(4, 110, 40),  # runs after the end of its step
    call(5, 40), kernel(5, 60, 10, device=1),
    call(6, 104), kernel(6, 106, 6, stream=8),
    call(7, 120), kernel(7, 160, 10, stream=8),
    kernel(None, 120, 5, device=1),  # without a launch: by its own start
]  # fmt: skip
NONE = (None,) * len(PARTS)


def test_steps_on_two_devices():
    assert split(*STEPS) == {
        # 20..60 and 110..150 compute, 50..90 comm, 85..95 copy; idle in 95..110, where step 2 works from 106 on
        (1, 0): ((130, 115, 15, 80, 40, 30, 10, 5, 4), 3, 4),
        (1, 1): ((10, 10, 0, 10, 0, 0, 0, 0, 0), 1, 1),
        # 106..112 and 160..170; step 1 works until 150
        (2, 0): ((64, 16, 48, 16, 0, 0, 0, 0, 38), 2, 2),
        (2, 1): ((5, 5, 0, 5, 0, 0, 0, 0, 0), 1, 1),
        (3, 0): (NONE, 0, 0),
        (3, 1): (NONE, 0, 0),
    }


def test_the_host_s_time_is_that_of_the_mark():
    frame = step_split(*opened(*STEPS))
    assert frame.filter(pl.col("device") == 0)["host_ns"].to_list() == [100_000, 100_000, 50_000]


def test_no_steps_and_no_gpu():
    assert split(call(1, 10), kernel(1, 20, 40)) == {}
    assert split() == {}
    assert split(mark("ProfilerStep#4", 0, 10)) == {(4, None): (NONE, 0, 0)}


def test_a_step_ends_where_the_next_one_begins_and_no_later():
    found = split(
        mark("ProfilerStep#1", 0, 60),
        mark("ProfilerStep#2", 50, 50),
        *(call(1, 49), kernel(1, 200, 1), call(2, 50), kernel(2, 210, 1), call(3, 100), kernel(3, 220, 1)),
    )
    assert {key: row[1] for key, row in found.items()} == {(1, 0): 1, (2, 0): 1}


def test_each_rank_of_a_merged_file_has_its_own_steps():
    """Both ranks number their launches alike; each has a GPU of its own."""
    ranks = [
        [
            mark("ProfilerStep#5", at, 100, pid=pid),
            call(1, at + 10, pid=pid),
            kernel(1, at + 20, 30, pid=gpu, device=gpu),
        ]
        for pid, gpu, at in ((10, 0, 0), (20, 1, 40))
    ]
    assert {key: row[0][0] for key, row in split(*ranks[0], *ranks[1]).items()} == {(5, 0): 30, (5, 1): 30}


def test_marks_on_the_gpu_alone():
    """Two streams carry the marks of one step; its work belongs by its own start and the host's time is not known."""
    marks = [
        event("gpu_user_annotation", "ProfilerStep#8", 0, 50, 0, 7),
        event("gpu_user_annotation", "ProfilerStep#8", 20, 50, 0, 8),
        event("gpu_user_annotation", "ProfilerStep#9", 70, 30, 0, 7),
    ]
    events = [*marks, kernel(1, 10, 20), kernel(2, 60, 9, stream=8), kernel(3, 75, 5)]
    assert {key: (row[0][0], row[1]) for key, row in split(*events).items()} == {(8, 0): (59, 2), (9, 0): (5, 1)}
    assert step_split(*opened(*events))["host_ns"].to_list() == [None, None]


def test_work_without_a_known_duration_is_counted_and_has_no_time():
    found = split(
        mark("ProfilerStep#1", 0, 100), call(1, 10), kernel(1, 20, -5), call(2, 30), kernel(2, 40, 5, stream=8)
    )
    assert found[1, 0] == ((5, 5, 0, 5, 0, 0, 0, 0, 0), 2, 2)
    assert split(mark("ProfilerStep#1", 0, 100), call(1, 10), kernel(1, 20, -5)) == {(1, 0): (NONE, 1, 1)}


@st.composite
def traces(draw):
    """Steps of 20 µs, and work on two devices launched in and between them; a stream for each event."""
    work = draw(
        st.lists(
            st.tuples(
                st.integers(0, 70), st.integers(0, 30), st.integers(1, 20), st.sampled_from(["k", NCCL, "copy"]),
                st.integers(0, 1),
            ),
            min_size=1, max_size=8,
        )
    )  # fmt: skip
    return work, [draw(st.integers(0, 3)) for _ in range(2)]


@given(traces())
@settings(max_examples=60, deadline=None)
def test_the_split_counts_ticks(drawn):
    """An oracle that marks every µs; busy + idle = window; each piece of work counts in the step of its launch."""
    work, pauses = drawn
    begins = [0, 20 + pauses[0], 40 + sum(pauses)]
    events = [mark(f"ProfilerStep#{n}", begin, 20) for n, begin in enumerate(begins)]
    ticks = defaultdict(lambda: defaultdict(set))
    kernels = defaultdict(int)
    busy = defaultdict(set)
    for number, (called, delay, length, name, device) in enumerate(work, 1):
        start = called + delay
        copy: dict[str, Any] = (
            {"name": "Memcpy DtoH (Device -> Pinned)", "cat": "gpu_memcpy"} if name == "copy" else {"name": name}
        )
        events += [call(number, called), kernel(number, start, length, stream=100 + number, device=device, **copy)]
        during = set(range(start, start + length))
        busy[device] |= during
        step = next((n for n, begin in enumerate(begins) if begin <= called < begin + 20), None)
        if step is not None:
            ticks[step, device][name] |= during
            kernels[step, device] += name != "copy"
    found = split(*events)
    devices = {device for *_, device in work}
    assert set(found) == {(step, device) for step in range(3) for device in devices}
    for key, (parts, count, _) in found.items():
        compute, comm, copies = (ticks[key][name] for name in ("k", NCCL, "copy"))
        mine = compute | comm | copies
        assert count == kernels[key]
        if not mine:
            assert parts == NONE
            continue
        window = max(mine) + 1 - min(mine)
        others = busy[key[1]] & set(range(min(mine), max(mine) + 1)) - mine
        assert parts == (
            window, len(mine), window - len(mine), len(compute), len(comm), len(comm - compute), len(copies),
            len(copies - compute - comm), len(others),
        )  # fmt: skip
    assert sum(count for _, count, _ in found.values()) == sum(kernels.values())


@pytest.mark.parametrize("name", ["hta_diff_control", "hta_nccl"])
def test_a_real_trace_read_plainly(shared, name):
    """Kernels and windows by correlation and time stamps alone, in Python's decimals."""
    path = shared / f"traces/{name}.json.gz"
    with gzip.open(path, "rt") as file:
        events = [e for e in json.load(file, parse_float=Decimal)["traceEvents"] if e.get("ph") == "X"]
    ns = {id(e): (int(Decimal(e["ts"]) * 1000), int((Decimal(e["ts"]) + Decimal(e["dur"])) * 1000)) for e in events}
    steps = {int(e["name"].split("#")[1]): ns[id(e)] for e in events if e["name"].startswith("ProfilerStep#")
             and e["cat"] == "user_annotation"}  # fmt: skip
    called = {e["args"]["correlation"]: ns[id(e)][0] for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")
              if "correlation" in e["args"]}  # fmt: skip
    work = defaultdict(list)
    for e in events:
        if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            at = called[e["args"]["correlation"]]
            work[next((n for n, (low, high) in steps.items() if low <= at < high), None)].append(e)
    frame = step_split(*finished(load_trace(path)))
    rows = {row["step"]: row for row in frame.iter_rows(named=True)}
    assert set(rows) == set(steps)
    for step, row in rows.items():
        mine = work[step]
        bounds = sorted(ns[id(e)] for e in mine)
        busy, reach = 0, bounds[0][0]
        for low, high in bounds:
            busy, reach = busy + max(0, high - max(low, reach)), max(reach, high)
        assert (row["kernels"], row["gpu_events"]) == (sum(e["cat"] == "kernel" for e in mine), len(mine))
        assert row["window_ns"] == max(high for _, high in bounds) - bounds[0][0]
        assert row["busy_ns"] == busy
        assert row["busy_ns"] + row["idle_ns"] == row["window_ns"]


@pytest.mark.parametrize("name", ["mi300_resnet_ckpt", "hta_diff_test"])
def test_a_step_has_the_split_that_the_part_of_it_has(shared, name):
    path = shared / f"traces/{name}.json.gz"
    trace, tree = finished(load_trace(path))
    for row in step_split(trace, tree).iter_rows(named=True):
        part = open_analysis_of(path, scope=Scope.of_text(f"step={row['step']}"), use_cache=False)
        own = time_split(part.trace)[row["device"]]
        for part_of_time in PARTS[:-1]:
            assert getattr(own, part_of_time) == row[f"{part_of_time}_ns"]
        assert part.part is not None
        assert part.part.elsewhere[row["device"]].idle == row["elsewhere_ns"]
