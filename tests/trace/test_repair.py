"""Impossible times are repaired, the raw ones kept; healthy ones are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trace.making import call, finished, item, kernel, mark, only, op, read
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.repair import LONGEST_NS, repaired
from tracelens_tui.trace.types import GPU_KINDS, Trace


def times(trace: Trace, name: str) -> tuple[int, int]:
    """Start and duration in ns."""
    row = only(trace, name)
    return trace.events["start_ns"][row], trace.events["dur_ns"][row]


def notes(trace: Trace) -> list[tuple[str, str, int, int | None]]:
    """(name, code, raw start, raw duration) of every repair."""
    names = [trace.names[trace.events["name"][e]] for e in trace.repairs["event"]]
    return list(zip(names, *(trace.repairs[c] for c in ("code", "raw_start_ns", "raw_dur_ns")), strict=True))


def test_a_healthy_trace_is_the_same_object_but_for_nothing():
    raw = read(op("a", 0, 10), call(1, 2), kernel(1, 5, 3), kernel(2, 8, 3), kernel(3, 6, 9, stream=8))
    trace = repaired(raw)
    assert trace.events is raw.events
    assert trace.quality == raw.quality


def test_work_that_runs_over_later_work_of_its_stream_ends_at_the_next_start():
    trace = repaired(
        read(
            kernel(1, 0, 10, name="a"),
            kernel(2, 20, 3_400_000, name="b"),
            kernel(3, 30, 15, name="c"),
            kernel(4, 30, 15, name="other stream", stream=9),
            kernel(5, 30, 15, name="other device", device=1),
        )
    )
    assert times(trace, "b") == (20_000, 10_000)
    assert notes(trace) == [("b", "duration_overflow", 20_000, 3_400_000_000)]
    found = item(trace, "duration_overflow")
    assert found.count == 1
    assert found.gates
    assert found.share_of_busy == pytest.approx(1, abs=1e-4)


def test_a_small_overlap_is_repaired_but_does_not_gate():
    trace = repaired(read(kernel(1, 0, 1000.2, name="a"), kernel(2, 1000, 1000, name="b")))
    assert times(trace, "a") == (0, 1_000_000)
    found = item(trace, "stream_overlap")
    assert (found.count, found.gates) == (1, False)
    assert found.share_of_busy == pytest.approx(0.2 / 2000)


def test_an_overlap_above_a_thousandth_of_busy_time_gates():
    assert repaired(read(kernel(1, 0, 1003), kernel(2, 1000, 1000))).quality.gated


def test_equal_starts_on_one_stream_are_cut_at_the_next_later_start_only():
    trace = repaired(read(kernel(1, 0, 5, name="a"), kernel(2, 0, 8, name="b"), kernel(3, 7, 2, name="c")))
    assert [times(trace, name)[1] for name in "abc"] == [5_000, 7_000, 2_000]


def test_work_on_an_unknown_stream_may_overlap():
    events = [kernel(n, n, 5) for n in (1, 2)]
    for made in events:
        made["args"].pop("stream")
        made["tid"] = "queue"
    assert notes(repaired(read(*events))) == []


def test_work_of_ranks_that_lie_on_top_of_each_other_is_not_cut():
    ranks = [[call(1, 0, pid=pid, tid=pid), kernel(1, 10, 30)] for pid in (100, 200)]
    trace = repaired(read(*ranks[0], kernel(2, 12, 3), *ranks[1]))
    assert notes(trace) == []
    found = item(trace, "merged_ranks")
    assert (found.count, found.gates) == (2, True)


def test_negative_and_missing_durations():
    trace = repaired(
        read(
            op("fine", 0, 50),
            op("open", 10, -1),
            op("no dur", 20, None),
            kernel(1, 30, 40, name="good"),
            kernel(2, 80, -3, name="backwards"),
            kernel(3, 90, None, name="without"),
        )
    )
    assert times(trace, "open") == (10_000, 60_000)  # to the end of the last event with a valid end, at 70 µs
    assert times(trace, "no dur") == (20_000, 50_000)
    assert times(trace, "backwards") == (80_000, 0)
    assert times(trace, "without") == (90_000, 0)
    assert sorted(notes(trace), key=lambda note: note[2]) == [
        ("open", "negative_duration", 10_000, -1_000),
        ("no dur", "missing_duration", 20_000, None),
        ("backwards", "negative_duration", 80_000, -3_000),
        ("without", "missing_duration", 90_000, None),
    ]
    assert item(trace, "negative_duration").message == "2 events have a negative duration, 1 on the GPU."
    assert item(trace, "negative_duration").gates  # 1 of 3 GPU events
    assert item(trace, "missing_duration").count == 2


def test_open_host_events_alone_do_not_gate():
    assert not repaired(read(op("open", 0, -1), kernel(1, 0, 5))).quality.gated


def test_gigantic_durations_end_with_the_trace():
    days = LONGEST_NS // 1000
    trace = repaired(
        read(op("open", 0, days), op("fine", 0, 20), kernel(1, 5, days, name="k"), kernel(2, 30, 9, stream=8))
    )
    assert times(trace, "open") == (0, 39_000)
    assert times(trace, "k") == (5_000, 34_000)


def test_work_far_from_every_host_event_moves_to_its_launch_or_loses_its_time():
    second = 1_000_000
    trace, _ = finished(
        read(
            op("op", 10 * second, 900),
            call(1, 10 * second + 5, name="launch 1"),
            call(2, 10 * second + 8, name="launch 2"),
            kernel(1, 0.5, 20, name="early"),
            kernel(2, 10 * second + 30, 20, name="good"),
            kernel(None, 2 * second, 20, name="left over"),
            kernel(None, 0, 0, name="lost"),
            kernel(3, 200 * second, 4, name="late"),
        )
    )
    start = 10 * second * 1000
    assert times(trace, "early") == (start + 5_000, 20_000)
    assert times(trace, "good") == (start + 30_000, 20_000)
    for name in ("left over", "lost", "late"):
        assert times(trace, name) == (start + 30_000, 0)
    codes = {name: code for name, code, _, _ in notes(trace)}
    assert codes == {"early": "kernel_before_launch"} | dict.fromkeys(("left over", "lost", "late"), "missing_duration")
    assert item(trace, "kernel_before_launch").count == 1
    assert item(trace, "missing_duration").count == 3


def test_a_kernel_whose_two_times_the_profiler_lost_does_not_stretch_the_window():
    trace = repaired(read(op("op", 100, 9), kernel(1, 150, 5, name="good"), kernel(2, 0, 0, name="lost")))
    assert times(trace, "lost") == (150_000, 0)
    assert notes(trace) == [("lost", "missing_duration", 0, 0)]


def test_a_step_without_gpu_work():
    steps = [mark(f"ProfilerStep#{n}", 100 * n, 100) for n in range(4)]
    work = [call(1, 110), kernel(1, 330, 5), kernel(None, 210, 5)]
    found = item(repaired(read(*steps, *work)), "dead_steps")
    assert (found.count, found.message, found.gates) == (1, "1 of 4 steps hold no GPU work.", False)
    found = item(repaired(read(*steps, call(1, 110), kernel(1, 120, 5))), "dead_steps")
    assert (found.count, found.gates) == (3, True)


WORK = st.tuples(st.integers(0, 60), st.integers(-3, 30), st.integers(0, 1), st.integers(0, 1))


@given(st.lists(WORK, max_size=25))
def test_after_repair_streams_are_serial_and_nothing_is_left_to_repair(rows):
    raw = read(*(kernel(n, ts, dur, stream=s, device=d) for n, (ts, dur, s, d) in enumerate(rows, 1)))
    trace = repaired(raw)
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in trace.events.iter_rows(named=True):
        assert row["dur_ns"] >= 0
        if row["dur_ns"] > 0:
            lanes.setdefault((row["device"], row["stream"]), []).append(
                (row["start_ns"], row["start_ns"] + row["dur_ns"])
            )
    for lane in lanes.values():
        for start, end in lane:
            assert all(end <= other or other <= start for other, _ in lane)
    touched = set(trace.repairs["event"].to_list())
    for i in range(len(raw)):
        if i not in touched:
            assert trace.events.row(i) == raw.events.row(i)
    again = repaired(trace)
    assert again.events.equals(trace.events)
    assert again.repairs.equals(trace.repairs)
    assert again.quality == trace.quality


# ------------------------------------------------------------------------------------------------ cases


def case(shared, name: str) -> Trace:
    (path,) = (shared / "bugcases").glob(f"{name}_*")
    return finished(load_trace(path))[0]


def test_b36_negative_durations(shared):
    trace = case(shared, "B36")
    gpu = trace.events.filter(trace.events["kind"].is_in(GPU_KINDS))
    assert gpu.height == 11
    valid = gpu.filter(gpu["dur_ns"] > 0)
    assert (valid.height, valid["dur_ns"].sum(), valid["dur_ns"].mean()) == (10, 2_000, 200)
    assert int((valid["start_ns"] + valid["dur_ns"]).max() - valid["start_ns"].min()) == 9_200
    host = trace.repairs.filter(~trace.repairs["event"].is_in([only(trace, "backwards_kernel")]))
    assert host.height == 2
    assert trace.quality.gated


def test_b41_back_to_back_kernels_do_not_overlap(shared):
    trace = case(shared, "B41")
    assert trace.repairs.height == 0
    assert not trace.quality.gated


def test_b73_duration_overflow(shared):
    trace = case(shared, "B73")
    assert times(trace, "elementwise_kernel")[1] == 10_000
    assert notes(trace) == [("elementwise_kernel", "duration_overflow", 20_000, 3_400_000_000)]
    longest = trace.events.filter(trace.events["kind"].is_in(GPU_KINDS)).sort("dur_ns")
    assert trace.names[longest["name"][-1]] == "fmha_kernel"
    assert longest["dur_ns"][-1] == 15_000
    assert trace.quality.gated


def test_b74_two_streams_overlap_freely(shared):
    trace = case(shared, "B74")
    assert trace.repairs.height == 0
    assert trace.events.filter(trace.events["kind"].is_in(GPU_KINDS))["dur_ns"].sum() == 71_000


@pytest.mark.parametrize(
    "name", ["mi300_sd35", "mi300_qwen", "mi300_owlv2", "mi300_resnet_ckpt", "h100_qwen", "hta_diff_test"]
)
def test_healthy_real_traces_are_not_gated(shared, name):
    trace, _ = finished(load_trace(shared / "traces" / f"{name}.json.gz"))
    assert not trace.quality.gated
    assert set(trace.repairs["code"]) <= {"stream_overlap"}
