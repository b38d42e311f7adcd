"""The small broken inputs of ``../shared/bugcases`` give the values that their index states."""

import json

import polars as pl
import pytest

from tracelens_tui.errors import UserError
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.intervals import total
from tracelens_tui.trace.types import GPU_KINDS, Kind


@pytest.fixture(scope="module")
def cases(shared):
    folder = shared / "bugcases"
    if not folder.is_dir():
        pytest.skip("the folder ../shared/bugcases is not here")
    return folder, json.loads((folder / "expected.json").read_text())["cases"]


def read(cases, case):
    folder, expected = cases
    return load_trace(folder / expected[case]["files"][0]), expected[case]["expect"]


def gpu(trace):
    return trace.events.filter(pl.col("kind").is_in(GPU_KINDS))


def window_and_busy_us(trace):
    """Of the raw times, as far as they are valid."""
    rows = gpu(trace).filter(pl.col("dur_ns") > 0)
    start, end = rows["start_ns"].to_numpy(), (rows["start_ns"] + rows["dur_ns"]).to_numpy()
    return (int(end.max()) - int(start.min())) / 1000, total(start, end) / 1000


def kinds(trace):
    return {Kind(kind).name: count for kind, count in trace.events["kind"].value_counts().iter_rows()}


def codes(trace):
    return {item.code: item.count for item in trace.quality.items}


def check_times(trace, expect):
    window, busy = window_and_busy_us(trace)
    assert (window, busy) == (float(expect["time_us"]["window"]), float(expect["time_us"]["busy"]))


def test_b01_cut_within_an_event(cases):
    trace, expect = read(cases, "B01")
    assert sum(trace.metadata.phase_counts.values()) == expect["events"]
    assert trace.quality.events_lost == expect["events_lost"]
    assert trace.quality.partial
    assert codes(trace) == {"truncated": 1}
    assert kinds(trace) == {"CPU_OP": 7, "RUNTIME": 7, "KERNEL": 6}
    check_times(trace, expect)


def test_b03_array_without_its_end(cases):
    trace, expect = read(cases, "B03")
    assert gpu(trace).height == expect["kernels"]
    assert (codes(trace), trace.quality.partial) == ({}, False)
    check_times(trace, expect)


def test_b06_bare_quotes_in_a_name(cases):
    trace, expect = read(cases, "B06")
    assert sum(trace.metadata.phase_counts.values()) == expect["events_best"]
    assert expect["name_best"] in trace.names.to_list()
    assert codes(trace) == {"repaired_text": 1}
    assert trace.quality.events_lost == 0
    check_times(trace, expect)


def test_b08_control_characters_and_bytes_that_are_no_utf8(cases):
    trace, expect = read(cases, "B08")
    assert sum(trace.metadata.phase_counts.values()) == expect["events"]
    assert kinds(trace)["PYTHON_FUNCTION"] == expect["python_function"]
    assert codes(trace) == {"repaired_text": 3}
    for name in trace.names.to_list():
        name.encode("utf-8")
    check_times(trace, expect)


def test_b12_several_gzip_members_and_stray_bytes(cases):
    trace, expect = read(cases, "B12")
    source = trace.metadata.source
    assert (source.members, source.trailing_bytes) == (expect["members"], expect["trailing_bytes"])
    assert (source.compression, codes(trace)) == ("gzip", {"trailing_bytes": 30})
    assert gpu(trace).height == expect["kernels"]
    check_times(trace, expect)


def test_b14_zip_with_a_junk_member(cases):
    trace, expect = read(cases, "B14")
    assert trace.metadata.source.member == expect["member_used"]
    assert trace.metadata.source.compression == "zip"
    check_times(trace, expect)


def test_b20_numbers_in_every_spelling(cases):
    trace, expect = read(cases, "B20")
    assert sum(trace.metadata.phase_counts.values()) == expect["events"]
    ops = trace.events.filter(pl.col("kind") == Kind.CPU_OP)
    assert ops["thread"].n_unique() == expect["host_threads"]
    assert ops["start_ns"].diff()[1] == expect["op_start_gap_us"] * 1000
    assert expect["comms_id"] in trace.details["comms_id"].to_list()
    assert gpu(trace)["correlation"].to_list() == [5, expect["second_kernel_correlation"]]
    check_times(trace, expect)


def test_b36_short_negative_and_missing_durations(cases):
    trace, expect = read(cases, "B36")
    rows = gpu(trace)
    assert rows.height == expect["kernels"]
    assert rows.filter(pl.col("dur_ns") == 200).height == expect["valid"]
    assert rows.filter(pl.col("dur_ns") < 0)["dur_ns"].to_list() == [-3000]
    assert trace.repairs["code"].to_list() == ["missing_duration"]
    check_times(trace, expect)


def test_b41_times_since_1970_keep_every_digit(cases):
    trace, expect = read(cases, "B41")
    rows = gpu(trace).sort("start_ns")
    assert rows.height == expect["kernels"]
    ends = rows["start_ns"] + rows["dur_ns"]
    assert (ends[:-1] == rows["start_ns"][1:]).all(), "back to back"
    check_times(trace, expect)


def test_b66_three_thousand_nested_frames(cases):
    trace, _ = read(cases, "B66")
    assert kinds(trace)["PYTHON_FUNCTION"] == 3000


@pytest.mark.parametrize(("case", "kind"), [("B23", "a rocprofv3 trace"), ("B105", "a JAX trace")])
def test_formats_that_are_not_read_are_named(cases, case, kind):
    with pytest.raises(UserError, match=kind):
        read(cases, case)
