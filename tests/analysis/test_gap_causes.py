"""One cause for each gap and the number that decides it; all figures by hand.

The gap lies between 20 and 100 µs unless a test says otherwise.
"""

from typing import Any

import numpy as np
import pytest

from tests.analysis.making import analysed
from tests.trace.making import call, frame, kernel, mark, op, opened
from tracelens_tui.analysis.gap_causes import CAUSES
from tracelens_tui.analysis.gaps import idle_gaps
from tracelens_tui.analysis.tables import all_tables

NCCL: dict[str, Any] = {"name": "ncclDevKernel_AllReduce_Sum", "stream": 9}
H2D: dict[str, Any] = {"name": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy"}
D2H: dict[str, Any] = {"name": "Memcpy DtoH (Device -> Pageable)", "cat": "gpu_memcpy"}
D2D: dict[str, Any] = {"name": "Memcpy DtoD (Device -> Device)", "cat": "gpu_memcpy"}
WORK = op("aten::mm", 30, 66)  # keeps the launching thread busy for most of the gap
LATE = call(2, 90, 3)
EARLY = call(2, 5, 2)  # returns before the gap begins


def gap(*host, before=None, after=None, start=10):
    """The row of the one gap after 20 µs; ``before`` and ``after`` describe the GPU events around it."""
    first = [call(1, 0), kernel(1, start, 20 - start, **(before or {}))]
    trace, tree = opened(*first, *host, kernel(2, 100, 10, **(after or {})))
    (row,) = (row for row in idle_gaps(trace, tree, 0).iter_rows(named=True) if row["start_ns"] == 20_000)
    assert row["cause"] in CAUSES
    return row


def cause(*host, **sides):
    return gap(*host, **sides)["cause"]


@pytest.mark.parametrize("sides", [{"before": NCCL}, {"after": NCCL}])
def test_queued_work_beside_a_collective_waits_for_a_stream(sides):
    assert cause(EARLY, **sides) == "comm"


@pytest.mark.parametrize("sides", [{"before": H2D}, {"after": H2D}, {"before": D2H}, {"after": D2H}])
def test_queued_work_beside_a_copy_waits_for_the_copy(sides):
    assert cause(EARLY, **sides) == "copy"


@pytest.mark.parametrize("sides", [{}, {"before": D2D}, {"after": D2D}])
def test_queued_work_beside_anything_else(sides):
    assert cause(EARLY, **sides) == "queued"


def test_a_late_launch_beside_a_collective_is_the_host_s():
    """What the device lacked was the launch, whatever it ran before."""
    assert cause(WORK, LATE, before=NCCL) == "launch"
    assert cause(WORK, LATE, after=NCCL) == "launch"
    assert cause(WORK, LATE, before=H2D) == "launch"


def test_a_collective_on_another_stream_leaves_no_gap():
    trace, tree = opened(
        *(call(1, 0), kernel(1, 10, 10), call(3, 1), kernel(3, 12, 70, **NCCL), WORK, LATE, kernel(2, 100, 10))
    )
    assert idle_gaps(trace, tree, 0).select("start_ns", "dur_ns").rows() == [(82_000, 18_000)]


def wait(start, end=25):
    return call(9, start, end - start, name="cudaStreamSynchronize")


def test_what_the_host_waited_for_is_what_ran_during_most_of_the_wait():
    """The copy or collective before the gap runs from 12 to 20, another kernel before it."""
    earlier = [call(3, 0), kernel(3, 2, 9, name="earlier")]
    for sides, found in (({"before": D2H}, "copy"), ({"before": NCCL}, "comm"), ({"before": D2D}, "sync")):
        assert cause(wait(10), WORK, LATE, *earlier, **sides, start=12) == (found)  # 8 of 9 busy µs
        assert cause(wait(1), WORK, LATE, *earlier, **sides, start=12) == "sync"  # 8 of 17


def test_a_wait_is_measured_in_busy_time():
    """Between 3 and 12 the device does nothing: the host did not wait for that."""
    assert gap(wait(3), WORK, LATE, before=D2H, start=12)["awaited"] == 1
    assert cause(wait(3), WORK, LATE, before=D2H, start=12) == "copy"


def test_the_call_that_makes_the_copy_at_the_end():
    blocking = call(2, 15, 90, name="hipMemcpyWithStream")
    assert cause(blocking, after=D2H) == "copy"
    assert cause(blocking, after=D2D) == "sync"
    slow = call(2, 40, 50, name="cudaMemcpyAsync")  # 50 of 80 µs
    assert cause(slow, after=H2D) == "copy"
    assert cause(call(2, 70, 28, name="cudaMemcpyAsync"), op("aten::mm", 25, 74), after=H2D) == "launch"


@pytest.mark.parametrize(
    "host",
    [
        op("gloo:all_reduce", 25, 60),
        op("c10d::barrier", 25, 60),
        op("_c10d_functional::wait_tensor", 25, 60),
        frame("torch/distributed/distributed_c10d.py(4159): barrier", 25, 60),
        frame("torch/distributed/distributed_c10d.py(2701): all_gather_object", 25, 60),
        frame("<built-in method wait of PyCapsule object at 0x7f0000000000>", 25, 60),
    ],
)
def test_waiting_for_other_ranks(host):
    assert cause(host, LATE) == "comm"


@pytest.mark.parametrize("host", [op("c10d::allreduce_", 25, 60), frame("app/waiter.py(3): wait", 25, 60)])
def test_launching_a_collective_and_other_waits_are_no_wait_for_ranks(host):
    assert cause(host, LATE) in ("launch", "host")


def test_loading_data_whatever_it_calls():
    loader = mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 12, 80)
    assert cause(loader, op("aten::stack", 21, 68), call(2, 95, 3)) == "loading"
    assert cause(loader, wait(5), op("aten::stack", 30, 50), call(2, 95, 3)) == "loading"
    stack = frame("torch/utils/data/dataloader.py(708): __next__", 21, 68)
    assert gap(stack, call(2, 95, 3))["host_event"] is not None


def test_the_numbers_of_a_late_launch():
    row = gap(op("aten::mm", 30, 66), call(2, 90, 3))
    assert (row["queue_empty"], row["launch_lag_ns"], row["host_busy_ns"]) == (True, 7_000, 66_000)
    assert row["awaited"] is None


def test_the_numbers_of_queued_work_and_of_work_without_a_launch():
    row = gap(EARLY)
    assert (row["queue_empty"], row["launch_lag_ns"], row["host_busy_ns"]) == (False, 93_000, 0)
    row = gap()
    assert (row["cause"], row["queue_empty"], row["launch_lag_ns"]) == ("unknown", None, None)


def test_in_a_part_of_a_trace_other_work_may_end_where_the_gap_begins():
    """Work outside of the part runs from 30 to 60: what it ends has no cause, what follows it no collective before."""
    trace, tree = opened(call(1, 0), kernel(1, 10, 10, **NCCL), EARLY, kernel(2, 100, 10))
    other = np.array([30_000]), np.array([60_000])
    found = idle_gaps(trace, tree, 0, other).select("start_ns", "dur_ns", "cause", "launch_lag_ns").rows()
    assert found == [(60_000, 40_000, "queued", 93_000), (20_000, 10_000, "unknown", None)]


def test_a_launch_that_returns_after_its_kernel_has_started():
    assert gap(call(2, 90, 15))["launch_lag_ns"] == -5_000


def test_the_table_shows_the_numbers():
    events = [
        *(call(1, 0), kernel(1, 12, 8, **D2H), wait(10), WORK, LATE, kernel(2, 100, 10)),
        *(call(3, 0), kernel(3, 2, 9, name="earlier")),
    ]
    found = all_tables(analysed(events))["idle_gaps"].row(0, named=True)
    names = ("cause", "host_event", "queue_empty", "launch_lag_us", "host_busy_percent")
    # in the wait for 5 µs of the gap and in the op for 66, of 80
    assert [found[name] for name in names] == ["copy", "cudaStreamSynchronize", True, 7.0, 88.75]
    assert found["awaited_percent"] == pytest.approx(800 / 9)
