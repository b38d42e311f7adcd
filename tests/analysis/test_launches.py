"""Latency, queueing and depth of the queue: figures by hand, by counting ticks, and by a plain reading of a trace."""

import gzip
import json
from collections import Counter, defaultdict
from decimal import Decimal
from statistics import median

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.making import analysed
from tests.trace.making import call, finished, kernel, opened
from tracelens_tui.analysis.launch_info import launch_info
from tracelens_tui.analysis.launches import launch_stats
from tracelens_tui.analysis.model import LAUNCHES_SCHEMA
from tracelens_tui.analysis.timesplit import time_split
from tracelens_tui.ingest.load import load_trace


def stats(*events):
    """{(device, stream): row}, times in µs."""
    trace, tree = opened(*events)
    frame = launch_stats(trace, tree, time_split(trace))
    assert dict(frame.schema) == {name: dtype() for name, dtype in LAUNCHES_SCHEMA.items()}
    times = pl.col("^(latency|delay|queued)_.*$") / 1e3
    return {(row["device"], row["stream"]): row for row in frame.with_columns(times).iter_rows(named=True)}


def picked(row, *names):
    return tuple(row[name] for name in names)


EVENTS = [
    call(1, 0, 2), kernel(1, 5, 10),
    call(2, 4, 2), kernel(2, 15, 10),
    call(3, 6, 2), kernel(3, 26, 4),
    call(4, 20, 1), kernel(4, 40, 10, stream=8),
    call(7, 27, 1, name="cudaMemcpyAsync"), kernel(7, 30, 5, cat="gpu_memcpy", name="Memcpy DtoH (Device -> Pinned)"),
    call(8, 31, 1), kernel(8, 36, 1),
    call(5, 60, 1), kernel(5, 55, 3),  # starts before its launch
    call(6, 61, 3, name="cudaGraphLaunch"), kernel(6, 66, 2), kernel(6, 68, 1),
    kernel(None, 70, 1, stream=8),
]  # fmt: skip
"""Window 5..71."""


def test_times_of_kernels_with_a_launch_of_their_own():
    """Latencies 5, 11, 20, 20, 5; delays 3, 9, 18, 19, 4.

    Stream 7 is busy until 15 for the second kernel (called at 4), until 25 for the third (at 6) and until 35, with the
    copy, for the last (at 31): queued 0, 11, 19, 0, 4.
    """
    row = stats(*EVENTS)[0, None]
    assert row["kernels"] == 5
    latencies = picked(row, *(f"latency_{stat}" for stat in ("mean", "p50", "p90", "p99", "max")))
    assert latencies == pytest.approx((12.2, 11, 20, 20, 20))
    assert picked(row, "delay_mean", "delay_p50", "delay_p90", "delay_max") == pytest.approx((10.6, 9, 18.6, 19))
    assert picked(row, "queued_mean", "queued_p50", "queued_max") == pytest.approx((6.8, 4, 19))
    assert row["starved"] == 3  # delays of 3, 4 and 9


def test_graphs_early_and_unlinked_kernels_count_apart():
    row = stats(*EVENTS)[0, None]
    assert picked(row, "graph_launches", "graph_kernels", "early", "unlinked") == (1, 2, 1, 1)


def test_depth_of_the_device_s_queue():
    """In the queue: 0..15, 4..25, 6..30, 20..50, 31..37 and the graph 61..69, all within 5..71.

    Depth 3 in 6..15 and 20..25; of 66 µs it is 0 for 13 and at most 1 for 35.  98 launch-µs in all.
    """
    row = stats(*EVENTS)[0, None]
    assert row["depth_mean"] == pytest.approx(98 / 66)
    assert picked(row, "depth_median", "depth_max") == (1, 3)


def test_each_stream_has_a_row():
    found = stats(*EVENTS)
    assert list(found) == [(0, None), (0, 7), (0, 8)]
    assert picked(found[0, 8], "kernels", "latency_p50", "depth_median", "depth_max", "unlinked") == (1, 20, 0, 1, 1)
    assert found[0, 8]["depth_mean"] == pytest.approx(30 / 66)
    assert found[0, 7]["depth_mean"] == pytest.approx((10 + 20 + 24 + 6 + 8) / 66)


def test_the_median_depth_is_not_exceeded_for_half_of_the_window():
    """The queue is empty for 10 of 20 µs."""
    row = stats(call(1, 0, 0), kernel(1, 0, 5), call(2, 15, 0), kernel(2, 15, 5))[0, None]
    assert picked(row, "depth_mean", "depth_median", "depth_max") == (0.5, 0, 1)


def test_the_end_of_a_launch_stands_before_the_call_at_the_same_time():
    row = stats(call(1, 0), kernel(1, 1, 9), call(2, 10), kernel(2, 11, 9))[0, None]
    assert picked(row, "depth_median", "depth_max") == (1, 1)


def test_a_launch_with_several_kernels_is_one():
    row = stats(call(1, 0), kernel(1, 1, 4), kernel(1, 5, 5, stream=8))[0, None]
    assert picked(row, "kernels", "depth_max", "depth_mean") == (2, 1, 1)


def test_kernels_that_the_repair_moved_are_left_out():
    far = 2_000_000
    row = stats(call(1, far), kernel(1, far + 5, 5), call(2, far + 10), kernel(2, 5, 5))[0, None]
    assert picked(row, "kernels", "early") == (1, 1)


def test_devices_apart_and_nothing_at_all():
    found = stats(call(1, 0), kernel(1, 5, 5), call(2, 0), kernel(2, 9, 5, device=1), kernel(None, 20, 1, device=2))
    assert [(key, row["kernels"], row["latency_max"]) for key, row in found.items() if key[1] is None] == [
        ((0, None), 1, 5), ((1, None), 1, 9), ((2, None), 0, None),
    ]  # fmt: skip
    assert picked(found[2, None], "depth_mean", "depth_median", "unlinked") == (None, None, 1)
    assert stats() == {}
    assert stats(call(1, 0), kernel(1, 5, 5, cat="gpu_memcpy")) == {}


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 12), st.integers(0, 1)), min_size=1, max_size=9
    )
)
@settings(max_examples=60, deadline=None)
def test_depth_counts_ticks(work):
    """An oracle that counts the launches of every µs; kernels on a stream of their own, so that nothing is repaired."""
    events, depth = [], {device: Counter() for *_, device in work}
    for number, (called, delay, length, device) in enumerate(work, 1):
        events += [call(number, called, 0), kernel(number, called + delay, length, stream=number, device=device)]
    found = stats(*events)
    for device in depth:
        mine = [(called, called + delay, called + delay + length) for called, delay, length, d in work if d == device]
        window = range(min(start for _, start, _ in mine), max(end for *_, end in mine))
        counts = sorted(sum(called <= tick < end for called, _, end in mine) for tick in window)
        row = found[device, None]
        assert row["depth_mean"] == pytest.approx(sum(counts) / len(counts))
        assert picked(row, "depth_median", "depth_max") == (counts[(len(counts) + 1) // 2 - 1], counts[-1])
        assert row["latency_mean"] == pytest.approx(sum(start - called for called, start, _ in mine) / len(mine))
        assert row["kernels"] == len(mine)


@pytest.mark.parametrize("name", ["hta_nccl", "mi300_sd35"])
def test_a_real_trace_read_plainly(shared, name):
    """Latencies by correlation and time stamps alone, in Python's decimals."""
    path = shared / f"traces/{name}.json.gz"
    with gzip.open(path, "rt") as file:
        events = [e for e in json.load(file, parse_float=Decimal)["traceEvents"] if e.get("ph") == "X"]
    called = {
        e["args"]["correlation"]: (int(Decimal(e["ts"]) * 1000), int((Decimal(e["ts"]) + Decimal(e["dur"])) * 1000))
        for e in events
        if e["cat"] in ("cuda_runtime", "cuda_driver") and "correlation" in e["args"]
    }
    times = defaultdict(list)
    for e in events:
        if e["cat"] == "kernel":
            begin, end = called[e["args"]["correlation"]]
            start = int(Decimal(e["ts"]) * 1000)
            times["latency"].append(start - begin)
            times["delay"].append(start - end)
    trace, tree = finished(load_trace(path))
    row = launch_stats(trace, tree, time_split(trace)).filter(pl.col("stream").is_null()).row(0, named=True)
    assert row["kernels"] == len(times["latency"])
    assert row["early"] + row["unlinked"] + row["graph_kernels"] == 0
    assert row["starved"] == sum(delay <= 10_000 for delay in times["delay"])
    for key, values in times.items():
        assert (row[f"{key}_p50"], row[f"{key}_max"]) == (median(values), max(values))
        assert row[f"{key}_mean"] == pytest.approx(sum(values) / len(values))


def test_the_sentence_of_info():
    found = launch_info(analysed(EVENTS))
    assert found is not None
    assert found["sentence"] == (
        "From launch call to start on GPU 0 11.0 µs in the median of 5 kernels; "
        "60.0 % start at most 10.0 µs after the call has returned, so that the GPU was waiting for them; "
        "in graphs 2 kernels of GPU 0 from 1 launch; 1 kernel with impossible times left out; "
        "the queue holds 1.5 launches on average."
    )
    assert found["latency_us"] == {"mean": 12.2, "p50": 11, "p90": 20, "p99": 20, "max": 20}
    assert (found["starved_percent"], found["depth"]) == (60, {"mean": 1.484848, "median": 1, "max": 3})
    assert json.loads(json.dumps(found)) == found


def test_info_of_graphs_alone_and_of_nothing():
    found = launch_info(analysed([call(1, 0, name="hipGraphLaunch"), kernel(1, 5, 5), kernel(1, 10, 5)]))
    assert found is not None
    assert (found["kernels"], found["latency_us"], found["starved_percent"]) == (0, None, None)
    assert found["sentence"].startswith("In graphs 2 kernels of GPU 0 from 1 launch; the queue holds 1.0 launches")
    assert launch_info(analysed([kernel(None, 5, 5)])) is None
    assert launch_info(analysed([])) is None
