"""What only the tree can tell about the data: missing sides, links and shapes."""

from typing import Any

import pytest

from tests.trace.making import call, item, kernel, op, opened
from tracelens_tui.trace.quality import with_items
from tracelens_tui.trace.types import DataQuality, QualityItem

MM: dict[str, Any] = {"Input Dims": [[4, 4], [4, 4]]}


def test_a_trace_with_everything_has_no_items():
    trace, _ = opened(op("aten::mm", 0, 9, **MM), call(1, 2), kernel(1, 5, 3))
    assert trace.quality.items == ()


def test_no_gpu_work():
    trace, _ = opened(op("aten::mm", 0, 9))
    (found,) = trace.quality.items
    assert (found.code, found.gates) == ("no_gpu", True)
    assert found.message == "The trace holds no GPU work: no kernel, copy or set was recorded."


def test_no_host_events_is_told_instead_of_unlinked():
    trace, _ = opened(kernel(1, 5, 3))
    assert [each.code for each in trace.quality.items] == ["no_host"]


def test_a_trace_with_launches_alone_has_no_cpu_side():
    trace, _ = opened(call(1, 2), kernel(1, 5, 3))
    (found,) = trace.quality.items
    assert found.code == "no_host"
    assert found.message == "The trace holds no CPU side: no ops and no Python functions, only launches."


def test_the_unlinked_share_of_gpu_time():
    trace, _ = opened(op("aten::mm", 0, 9, **MM), call(1, 2), kernel(1, 5, 3), kernel(2, 10, 1))
    found = item(trace, "unlinked")
    assert (found.count, found.share_of_busy, found.gates) == (1, 0.25, False)
    assert found.message == "1 GPU event of 2 (25.0% of GPU time) cannot be linked to a launch."


def test_shapes_are_missing_where_most_gpu_time_under_ops_has_none():
    bare = [op("aten::a", 0, 9), call(1, 2), op("aten::b", 10, 9, **MM), call(2, 12)]
    trace, _ = opened(*bare, kernel(1, 30, 6), kernel(2, 40, 4))
    found = item(trace, "no_shapes")
    assert (found.count, found.share_of_busy) == (1, pytest.approx(0.6))
    assert opened(*bare, kernel(1, 30, 4), kernel(2, 40, 6))[0].quality.get("no_shapes") is None


def test_kernels_that_start_before_their_launch():
    trace, _ = opened(op("aten::mm", 0, 9, **MM), call(1, 5), kernel(1, 2, 3), call(2, 7), kernel(2, 9, 1))
    found = item(trace, "kernel_before_launch")
    assert (found.count, found.share_of_busy, found.gates) == (1, 0.75, True)
    assert trace.repairs.height == 0  # clocks that disagree by microseconds are told, not changed


def test_items_are_ordered_and_one_code_stands_once():
    first = QualityItem("no_shapes", 1, "old")
    found = with_items(DataQuality((first,)), [QualityItem("no_shapes", 2, "new"), QualityItem("truncated", 1, "cut")])
    assert [(each.code, each.message) for each in found.items] == [("truncated", "cut"), ("no_shapes", "old")]
