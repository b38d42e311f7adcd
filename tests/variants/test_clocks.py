"""Times: lengths that cannot be, resolution, clocks; each kind in other spellings and places.  Values by hand."""

import pytest

from tests.ingest.making import text
from tests.variants.making import TWO_OPS, analysis, codes, copy, document, info, kernel, launch, op, split, two_ops
from tracelens_tui.trace.steps import steps
from tracelens_tui.trace.types import GPU_KINDS

MISSING = "missing_duration"
NEGATIVE = "negative_duration"


def with_length(place: int, length: bytes | None) -> bytes:
    """The six events, one of them with another length or none."""
    events = two_ops()
    made = [text(item) for item in events]
    old = b'"dur":' + str(events[place]["dur"]).encode()
    assert old in made[place]
    made[place] = made[place].replace(b"," + old, b"" if length is None else b',"dur":' + length)
    return document(made)


@pytest.mark.parametrize(
    ("length", "code"),
    [
        (b"-3", NEGATIVE),
        (b'"-0.5"', NEGATIVE),
        (b"-1e-3", NEGATIVE),
        (b"-9e14", NEGATIVE),
        (None, MISSING),
        (b"null", MISSING),
    ],
)
def test_gpu_work_without_a_length_takes_no_part_in_the_split(tmp_path, length, code):
    """The second kernel: what is left is the first, 10 µs long."""
    told = info(tmp_path, with_length(5, length))
    assert split(told) == {"window": 10, "busy": 10, "idle": 0, "compute": 10}
    assert (told["gpu_events"], told["counts"]["kernel"], told["linked_count"]) == (2, 2, 2)
    assert codes(told) == {code: 1}


@pytest.mark.parametrize(("length", "code"), [(b"-3", NEGATIVE), (None, MISSING), (b'"N/A"', MISSING)])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_host_work_without_a_length_is_open_to_the_end(tmp_path, place, length, code):
    told = info(tmp_path, with_length(place, length))
    assert (split(told), told["linked_count"]) == (TWO_OPS, 2)
    assert codes(told) == {code: 1}
    opened = analysis(tmp_path, with_length(place, length))
    row = opened.trace.events.row(place, named=True)
    assert row["start_ns"] + row["dur_ns"] == 100_000, "the end of the trace"


@pytest.mark.parametrize("length", [b"0", b"0.0", b"-0", b"-0.0", b"0e9", b'"0"'])
def test_a_length_of_zero_is_told(tmp_path, length):
    """The kernel is an instant at 70 µs, which is in the window."""
    told = info(tmp_path, with_length(5, length))
    assert split(told) == {"window": 30, "busy": 10, "idle": 20, "compute": 10}
    assert codes(told) == {"zero_duration": 1}


def test_a_negative_copy_and_a_negative_set(tmp_path):
    """2 µs kernel, then a copy and a set that end before they start, then 3 µs of copy: busy 5 of a window of 13."""
    bad = copy("4", "-1", 2)
    bad_set = {**copy("5", "-0.001", 3), "cat": "gpu_memset", "name": "Memset (Device)"}
    events = [launch("0", 1), launch("1", 2), kernel("k", "0", "2", 1), bad, bad_set, copy("10", "3", 4)]
    told = info(tmp_path, events)
    assert split(told, "window", "busy", "compute", "memcpy", "exposed_memcpy") == {
        "window": 13, "busy": 5, "compute": 2, "memcpy": 3, "exposed_memcpy": 3,
    }  # fmt: skip
    assert codes(told)[NEGATIVE] == 2


def test_kernels_shorter_than_a_microsecond(tmp_path):
    """100 kernels of 3 ns, 1 µs apart, starting at x.998: busy 0.3 µs, window 99.003 µs, none touch."""
    events = [launch(str(at), at + 1, "0.5") for at in range(100)]
    events += [kernel("tiny", f"{1000 + at}.998", "0.003", at + 1) for at in range(100)]
    told = info(tmp_path, events)
    assert split(told, "window", "busy", "idle") == {"window": 99.003, "busy": 0.3, "idle": 98.703}
    assert (told["sum_dur_us"], told["linked_count"], codes(told)) == (0.3, 100, {"no_host": 1})


EPOCH = 1_726_134_043_823_422


@pytest.mark.parametrize(
    "spelling", ["{whole}.{part:03d}", '"{whole}.{part:03d}"', "{whole}{part:03d}e-3", "{whole}.{part:03d}000"]
)
@pytest.mark.parametrize("base", [0, EPOCH, 8_796_093_022_205, 4_503_599_627_370_490])
def test_back_to_back_kernels_at_any_distance_from_zero(tmp_path, base, spelling):
    """A thousand kernels of 0.001 to 1 µs, each at the end of the one before: busy is the window, 500.5 µs."""
    start, made = base * 1000, [text(launch(str(base), 1))]
    for length in range(1, 1001):
        ts = spelling.format(whole=start // 1000, part=start % 1000)
        made.append(
            f'{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {ts}, "dur": {length / 1000}, '
            f'"args": {{"device": 0, "stream": 7}}}}'.encode()
        )
        start += length
    opened = analysis(tmp_path, document(made))
    assert split(info(tmp_path, document(made))) == {"window": 500.5, "busy": 500.5, "idle": 0, "compute": 500.5}
    rows = opened.trace.events.filter(opened.trace.events["kind"].is_in(GPU_KINDS))
    ends = rows["start_ns"] + rows["dur_ns"]
    assert (ends[:-1] == rows["start_ns"][1:]).all()
    assert not len(opened.trace.repairs)


def test_digits_below_the_nanosecond_round_half_to_even(tmp_path):
    """0.0005 → 0, 0.0015 → 2, 2.0025 → 2.002 and 1.00049 → 1 ns parts: busy 0.002 + 2.002 + 1.000."""
    events = [
        kernel("a", "10", "0.0005"),
        kernel("b", "20", "0.0015"),
        kernel("c", "30", "2.0025"),
        kernel("d", "40", "1.00049"),
    ]
    told = info(tmp_path, events)
    assert told["sum_dur_us"] == 3.004
    assert codes(told)["rounded_time"] == 4


@pytest.mark.parametrize("start", ["-5000", "-0.001", "-1e3"])
def test_times_before_zero(tmp_path, start):
    told = info(tmp_path, [launch(start, 1), kernel("k", start, "10", 1), launch("0", 2), kernel("k", "20", "5", 2)])
    end = 25 - float(start)
    assert told["time_us"]["busy"] == 15
    assert told["time_us"]["window"] == pytest.approx(end, abs=1e-9)


def test_a_kernel_long_before_the_rest_moves_to_its_launch(tmp_path):
    """It seems to start 2 s before anything else: 10 µs at its launch, at 15 µs."""
    events = two_ops()
    events[2] = kernel("relu_kernel", "-2000000", "10", 1)
    told = info(tmp_path, events)
    assert split(told) == {"window": 85, "busy": 40, "idle": 45, "compute": 40}
    assert codes(told) == {"kernel_before_launch": 1}


def test_a_kernel_that_starts_a_little_before_its_launch_stays_and_is_told(tmp_path):
    events = two_ops()
    events[2] = kernel("relu_kernel", "14", "10", 1)
    told = info(tmp_path, events)
    assert split(told) == {"window": 86, "busy": 40, "idle": 46, "compute": 40}
    assert codes(told) == {"kernel_before_launch": 1}


def test_an_op_that_never_ends(tmp_path):
    """A length of 47 days ends with the trace; its neighbours keep their places."""
    events = two_ops()
    events[0] = op("aten::relu", "10", "4e12", 1)
    told = info(tmp_path, events)
    assert (split(told), codes(told)) == (TWO_OPS, {"duration_overflow": 1})


def test_gpu_work_that_stands_twice_is_told(tmp_path):
    """Two ops with kernels of 10 µs at 40 and 70 µs; the second one's record is repeated."""
    events = two_ops()
    told = info(tmp_path, [*events, dict(events[5])])
    assert codes(told) == {"recorded_twice": 1}
    assert split(told) == TWO_OPS
    other_name = {**events[5], "name": "another"}
    assert "recorded_twice" not in codes(info(tmp_path, [*events, other_name]))


@pytest.mark.parametrize("length", ["3.4e6", "2.5e12", "2.6e12"])  # 3.4 s, 29 days, 30 days and more; in µs
def test_the_last_kernel_cannot_outlast_everything(tmp_path, length):
    told = info(tmp_path, with_length(5, length.encode()))
    assert codes(told) == {"duration_overflow": 1}
    assert told["time_us"]["window"] < 1_000


def test_a_long_last_kernel_that_the_host_waits_for_is_believed(tmp_path):
    events = [*two_ops(), {**launch("100", 9, "4000000"), "name": "cudaDeviceSynchronize"}]
    events[5] = {**events[5], "dur": "3400000"}
    told = info(tmp_path, events)
    assert codes(told) == {}
    assert told["time_us"]["busy"] == 3_400_010


def test_a_kernel_of_another_epoch_is_told_to_be_far_from_its_launch(tmp_path):
    events = two_ops()
    events[5] = {**events[5], "ts": "1700000000000000"}
    opened = analysis(tmp_path, events)
    item = opened.trace.quality.get("kernel_before_launch")
    assert item is not None
    assert item.message == "1 GPU event starts far from its launch."


def test_a_step_without_an_end_ends_where_the_next_one_begins(tmp_path):
    step = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 7}
    first = {**step, "name": "ProfilerStep#1", "ts": "0"}
    second = {**step, "name": "ProfilerStep#2", "ts": "60", "dur": "40"}
    opened = analysis(tmp_path, [first, second, *two_ops()])
    found = steps(opened.trace)
    assert found["end_ns"].to_list() == [60_000, 100_000]


def test_begin_and_end_events_are_named_where_there_is_no_other_work(tmp_path):
    events = [{"ph": phase, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts} for phase, ts in ("B1", "E2")]
    opened = analysis(tmp_path, events)
    item = opened.trace.quality.get("no_gpu")
    assert item is not None
    assert item.message.endswith("Its 1 pair of begin and end events (ph B and E) are not read.")
