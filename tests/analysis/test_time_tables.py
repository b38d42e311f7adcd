"""``step_timeline``, ``overlap_summary`` and ``launch_stats`` as they are written; figures by hand."""

import pytest

from tests.analysis.making import analysed
from tests.analysis.test_launches import EVENTS
from tests.analysis.test_stepsplit import STEPS
from tests.analysis.test_tables import step
from tests.trace.making import call, kernel, op
from tracelens_tui.analysis.tables import all_tables
from tracelens_tui.analysis.tables.write import csv_bytes


def test_steps():
    table = all_tables(analysed(STEPS))["step_timeline"]
    assert table.columns == [
        "step", "device", "ts", "host_time ms", "total_time ms", "computation_time ms", "exposed_comm_time ms",
        "exposed_memcpy_time ms", "busy_time ms", "idle_time ms", "total_comm_time ms", "comm_overlap_time ms",
        "total_memcpy_time ms", "elsewhere_time ms", "kernels", "gpu_events", "dead",
    ]  # fmt: skip
    assert table.row(0) == (1, 0, "0", 0.1, 0.13, 0.08, 0.03, 0.005, 0.115, 0.015, 0.04, 0.01, 0.01, 0.004, 3, 4, False)
    assert table.select("step", "device", "dead").rows()[4:] == [(3, 0, True), (3, 1, True)]
    assert csv_bytes(table).decode().splitlines()[5] == "3,0,200,0.05,,,,,,,,,,,0,0,True"


def test_overlap():
    """Compute runs in 100..204 and 240..250, the collective in 180..230, the copy in 210..220."""
    table = all_tables(analysed(step()))["overlap_summary"]
    assert table.row(0, named=True) == {
        "device": 0,
        "computation_time ms": 0.113999,
        "total_comm_time ms": 0.05,
        "comm_overlap_time ms": 0.024,
        "exposed_comm_time ms": 0.026,
        "comm_overlap percent": 48.0,
        "total_memcpy_time ms": 0.01,
        "memcpy_overlap_time ms": 0.01,
        "exposed_memcpy_time ms": 0.0,
        "memcpy_overlap percent": 100.0,
    }


def test_overlap_of_nothing_is_not_known():
    table = all_tables(analysed([kernel(1, 0, 5), kernel(2, 0, 5, device=1, name="ncclDevKernel_AllReduce")]))
    percents = table["overlap_summary"].select("device", "comm_overlap percent", "memcpy_overlap percent").rows()
    assert percents == [(0, None, None), (1, 0.0, None)]


def test_launches():
    table = all_tables(analysed(EVENTS))["launch_stats"]
    row = table.row(0, named=True)
    assert list(row)[:5] == ["device", "stream", "kernels", "latency_us_mean", "latency_us_p50"]
    assert row["stream"] is None
    times = ("latency_us_p50", "delay_us_p50", "queued_us_max", "starved_percent")
    assert tuple(row[name] for name in times) == (11, 9, 19, 60)
    assert row["depth_mean"] == pytest.approx(98 / 66)
    counts = ("depth_median", "depth_max", "graph_launches", "graph_kernels", "early_kernels", "unlinked_kernels")
    assert tuple(row[name] for name in counts) == (1, 3, 1, 2, 1, 1)


def test_short_kernels_under_ops_that_differ_in_what_is_not_shown_are_one_row():
    """The input types are no column of the table, so they make no row of their own."""
    events = [
        *(op("aten::add", 0, 5, **{"Input Dims": [[8]], "Input type": ["float"]}), call(1, 1), kernel(1, 20, 2)),
        *(op("aten::add", 6, 5, **{"Input Dims": [[8]], "Input type": ["double"]}), call(2, 7), kernel(2, 30, 3)),
        *(op("aten::add", 12, 5, **{"Input Dims": [[9]], "Input type": ["double"]}), call(3, 13), kernel(3, 40, 4)),
    ]
    table = all_tables(analysed(events))["short_kernels_summary"]
    names = ("Input dims", "Short Kernel count", "Short Kernel duration (µs) sum")
    assert table.select(names).rows() == [("[[8]]", 2, 5.0), ("[[9]]", 1, 4.0)]
