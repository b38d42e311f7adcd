"""Idle gaps and what the host did in them; all figures by hand."""

import pytest

from tests.trace.making import call, event, finished, frame, kernel, mark, op, opened
from tracelens_tui.analysis.gaps import idle_gaps
from tracelens_tui.analysis.model import GAPS_SCHEMA
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.intervals import total
from tracelens_tui.trace.types import GPU_KINDS


def rows(*events):
    """(cause, start µs, length µs, host event, event before, event after, in step) of each gap, longest first."""
    trace, tree = opened(*events)
    frame = idle_gaps(trace, tree, 0)
    assert dict(frame.schema) == {name: dtype() for name, dtype in GAPS_SCHEMA.items()}

    def name(event):
        return None if event is None else trace.names[trace.events["name"][event]]

    return [
        (r["cause"], r["start_ns"] / 1e3, r["dur_ns"] / 1e3, name(r["host_event"]), name(r["before_event"]),
         name(r["after_event"]), r["in_step"])
        for r in frame.iter_rows(named=True)
    ]  # fmt: skip


def cause(*host, start=100):
    """The cause of the one gap between a kernel that ends at 20 µs and one that starts at ``start``."""
    first = [call(1, 0), kernel(1, 10, 10, name="first")]
    ((found, *_),) = rows(*first, *host, kernel(2, start, 10, name="second"))
    return found


def test_gaps_lie_between_the_busy_intervals_of_all_streams_of_one_device():
    found = rows(
        kernel(1, 0, 10, name="a"),
        kernel(2, 5, 20, name="b", stream=8),
        kernel(3, 12, 3, name="c"),
        kernel(4, 30, 5, name="d"),
        kernel(5, 26, 1, name="elsewhere", device=1),
        kernel(6, 28, 0, name="nothing"),
        kernel(7, 65, 5, name="e", cat="gpu_memcpy"),
    )
    assert found == [
        ("unknown", 35, 30, None, "d", "e", True),
        ("unknown", 25, 5, None, "b", "d", True),
    ]


def test_launch_bound_the_thread_is_busy_with_ops():
    assert cause(op("aten::mm", 30, 66), call(2, 90, 3)) == "launch"
    assert cause(op("aten::a", 15, 40), op("aten::b", 58, 10), call(2, 90, 3)) == "launch"


def test_python_or_unrecorded_work_of_the_thread():
    assert cause(frame("f.py(1): f", 0, 99), op("aten::mm", 80, 15), call(2, 90, 3)) == "host"
    assert cause(op("aten::mm", 80, 15), call(2, 90, 3)) == "host"


def test_a_wait_that_is_active_when_the_queue_runs_empty():
    wait = call(9, 5, 20, name="cudaStreamSynchronize")
    assert cause(wait, op("aten::mm", 30, 66), call(2, 90, 3)) == "sync"
    assert cause(call(9, 5, 20, name="hipMemcpyWithStream"), op("aten::mm", 30, 66), call(2, 90, 3)) == "sync"


@pytest.mark.parametrize("name", ["cudaMemcpyAsync", "cudaEventQuery", "cudaLaunchKernel"])
def test_calls_that_do_not_wait(name):
    assert cause(call(9, 5, 20, name=name), op("aten::mm", 30, 66), call(2, 90, 3)) == "launch"


def test_a_wait_on_another_thread_is_not_the_cause():
    wait = call(9, 5, 20, name="cudaStreamSynchronize", tid=2)
    assert cause(wait, op("aten::mm", 30, 66), call(2, 90, 3)) == "launch"


BACKWARD = call(2, 92, 3, tid=2)  # the launch at the gap's end, by the autograd thread


def test_a_read_on_the_thread_that_launched_before_is_the_cause():
    """The main thread reads a scalar, works in Python, and starts the backward pass on a silent autograd thread."""
    read = [frame("train.py(9): log", 2, 80), op("aten::item", 3, 20), call(9, 4, 18, name="hipMemcpyWithStream")]
    found = rows(call(1, 0), kernel(1, 10, 10, name="a"), *read, BACKWARD, kernel(2, 100, 10, name="b"))
    assert found == [("sync", 20, 80, "hipMemcpyWithStream", "a", "b", True)]


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        ((5, 20), "sync"),  # active when the gap begins, over before the launch
        ((5, 15), "launch"),  # over when the gap begins
        ((5, 90), "launch"),  # goes on while the next launch is made: that one did not wait for it
        ((25, 20), "launch"),  # begins in the gap: the queue was empty without it
    ],
)
def test_a_wait_elsewhere_counts_where_the_next_launch_can_have_waited_for_it(wait, expected):
    call_ = call(9, *wait, name="cudaStreamSynchronize")
    assert cause(call_, op("aten::mm", 30, 61, tid=2), BACKWARD) == expected


def test_a_thread_that_is_launching_when_the_gap_begins_does_not_wait_for_another():
    wait = call(9, 5, 20, name="cudaStreamSynchronize")
    assert cause(wait, op("aten::mm", 15, 76, tid=2), BACKWARD) == "launch"


def test_the_last_wait_before_the_launch_is_the_one_that_is_named():
    third = [call(3, 1, tid=3), kernel(3, 10, 5, name="c", stream=8)]
    waits = [call(9, 5, 30, name="cudaDeviceSynchronize", tid=3), call(8, 5, 20, name="cudaStreamSynchronize")]
    gaps = rows(*third, call(1, 0), kernel(1, 10, 10, name="a"), *waits, BACKWARD, kernel(2, 100, 10, name="b"))
    assert [gap[3] for gap in gaps] == ["cudaDeviceSynchronize"]


def test_the_wait_itself_is_the_host_event():
    wait = call(9, 5, 20, name="cudaStreamSynchronize")
    host = [call(1, 0), wait, op("aten::mm", 30, 55), call(2, 90, 3)]
    found = rows(*host, kernel(1, 10, 10, name="a"), kernel(2, 100, 9, name="b"))
    assert found == [("sync", 20, 80, "cudaStreamSynchronize", "a", "b", True)]


def test_where_the_launching_thread_is_silent_the_one_that_launched_before_is_asked():
    gap = [call(1, 0), kernel(1, 10, 10, name="a"), BACKWARD, kernel(2, 100, 10, name="b")]
    assert rows(*gap, frame("log.py(3): write", 25, 60)) == [("host", 20, 80, "log.py(3): write", "a", "b", True)]
    assert rows(*gap, op("aten::mm", 25, 60)) == [("launch", 20, 80, "aten::mm", "a", "b", True)]
    assert rows(*gap, op("aten::mm", 25, 60, tid=2), frame("other thread", 0, 200))[0][3] == "aten::mm"


def test_then_the_threads_that_launch_most():
    """Thread 3 launches twice, thread 4 once; thread 1 launched before the gap and is silent."""
    more = [call(3 + n, n, tid=tid) for n, tid in enumerate((3, 3, 4))]
    work = [kernel(3 + n, 11 + n, 1, name="c", stream=8) for n in range(3)]
    gap = [call(1, 4), kernel(1, 10, 10, name="a"), BACKWARD, kernel(2, 100, 10, name="b")]
    busy = [op("fourth", 25, 70, tid=4), op("third", 25, 70, tid=3), op("fifth", 25, 70, tid=5)]
    assert [row[3] for row in rows(*more, *work, *gap, *busy)] == ["third"]
    assert [row[3] for row in rows(*more, *work, *gap, *busy[::2])] == ["fourth"]
    assert [row[3] for row in rows(*more, *work, *gap, busy[2])] == [None]  # it launches nothing


def test_threads_that_launch_on_another_device_are_not_asked():
    elsewhere = [call(3, 1, tid=3), kernel(3, 10, 9, name="c", device=1)]
    wait = [call(9, 5, 20, name="cudaDeviceSynchronize", tid=3), op("aten::mm", 30, 60, tid=3)]
    found = rows(*elsewhere, *wait, call(1, 0), kernel(1, 10, 10, name="a"), BACKWARD, kernel(2, 100, 10, name="b"))
    assert [(row[0], row[3]) for row in found] == [("unknown", None)]


def test_work_that_was_queued_before_the_gap_is_not_the_fault_of_the_host():
    assert cause(op("aten::mm", 2, 6), call(2, 5, 2), op("aten::next", 10, 90)) == "queued"


def test_runtime_calls_alone_do_not_tell_what_the_thread_did():
    assert cause(call(2, 90, 3)) == "unknown"


def test_the_host_event_is_the_innermost_of_the_launching_thread_at_the_middle():
    found = rows(
        call(1, 0, tid=2),
        kernel(1, 10, 10, name="first"),
        op("outer", 25, 90, tid=2),
        op("inner", 40, 30, tid=2),
        op("main thread", 0, 200),
        call(2, 80, 3, tid=2),
        kernel(2, 100, 10, name="second"),
    )
    assert found == [("launch", 20, 80, "inner", "first", "second", True)]


def test_steps_without_a_length_hold_no_gap():
    found = rows(mark("ProfilerStep#1", 0, 0), kernel(1, 10, 10), kernel(2, 100, 10))
    assert [in_step for *_, in_step in found] == [False]


def test_gaps_in_steps_and_between_them():
    """A step lasts until the last work that it launched has ended."""
    found = rows(
        mark("ProfilerStep#1", 0, 100),
        call(1, 10),
        kernel(1, 20, 10, name="a"),
        call(2, 90),
        kernel(2, 110, 40, name="b"),
        call(3, 190),
        kernel(3, 250, 10, name="c"),
        mark("ProfilerStep#2", 300, 50),
        call(4, 310),
        kernel(4, 320, 10, name="d"),
        call(5, 330),
        kernel(5, 400, 5, name="e"),
    )
    assert [(row[4], row[5], row[6]) for row in sorted(found, key=lambda row: row[1])] == [
        ("a", "b", True), ("b", "c", False), ("c", "d", False), ("d", "e", True),
    ]  # fmt: skip


def test_no_gaps():
    assert rows(kernel(1, 0, 5)) == []
    assert rows(op("a", 0, 5)) == []


def test_a_wait_event_row_of_the_gpu_is_not_work():
    found = rows(kernel(1, 0, 5, name="a"), event("cuda_sync", "Stream Sync", 5, 5, 0, 7), kernel(2, 10, 5, name="b"))
    assert [row[1:3] for row in found] == [(5, 5)]


@pytest.mark.parametrize("name", ["mi300_sd35", "h100_qwen", "hta_nccl"])
def test_gaps_add_up_to_the_idle_time_of_real_traces(shared, name):
    trace, tree = finished(load_trace(shared / "traces" / f"{name}.json.gz"))
    gpu = trace.events.filter(trace.events["kind"].is_in(GPU_KINDS))
    start = gpu["start_ns"].to_numpy()
    end = start + gpu["dur_ns"].to_numpy()
    gaps = idle_gaps(trace, tree, gpu["device"][0])
    assert gaps["dur_ns"].sum() == end.max() - start.min() - total(start, end)
    assert gaps["dur_ns"].to_list() == sorted(gaps["dur_ns"], reverse=True)
