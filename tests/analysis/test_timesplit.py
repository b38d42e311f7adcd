"""The time split against brute force, hand-computed traces and the bug cases."""

import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.making import kernel, opened
from tracelens_tui.analysis.timesplit import raw_time_split, time_split
from tracelens_tui.ingest.cache import open_trace

CASES = {
    "B20": "time_us",
    "B36": "time_us",
    "B41": "time_us",
    "B47": "time_us",
    "B53": "time_us",
    "B73": "repaired_us",
    "B74": "time_us",
    "B93": "time_us",
}


def expected_ns(shared: Path, case: str, field: str) -> dict[str, int]:
    cases = json.loads((shared / "bugcases/expected.json").read_text())["cases"]
    return {key: int(Decimal(str(value)) * 1000) for key, value in cases[case]["expect"][field].items()}


def bugcase(shared: Path, case: str) -> Path:
    return next((shared / "bugcases").glob(f"{case}_*"))


@pytest.mark.parametrize(("case", "field"), CASES.items())
def test_bug_cases_split_exactly(shared: Path, case: str, field: str) -> None:
    trace, _ = open_trace(bugcase(shared, case), use_cache=False)
    (split,) = time_split(trace).values()
    expected = expected_ns(shared, case, field)
    assert {key: value for key, value in asdict(split).items() if key in expected} == expected


def test_the_raw_split_shows_the_times_of_the_file(shared: Path) -> None:
    trace, _ = open_trace(bugcase(shared, "B73"), use_cache=False)
    (raw,) = raw_time_split(trace).values()
    expected = expected_ns(shared, "B73", "raw_us")
    assert {key: value for key, value in asdict(raw).items() if key in expected} == expected


def test_an_event_that_ends_before_it_starts_widens_no_window(shared: Path) -> None:
    trace, _ = open_trace(bugcase(shared, "B36"), use_cache=False)
    assert time_split(trace) == raw_time_split(trace)


def test_devices_are_never_pooled() -> None:
    trace, _ = opened([kernel("a", 0, 10), kernel("b", 100, 5, device=1), kernel("c", 107, 5, device=1)])
    splits = time_split(trace)
    assert {device: (split.window, split.busy) for device, split in splits.items()} == {
        0: (10_000, 10_000),
        1: (12_000, 10_000),
    }


def test_a_trace_without_gpu_events_has_no_split() -> None:
    trace, _ = opened([])
    assert time_split(trace) == {}


NAMES = {"gemm": "compute", "ncclDevKernel_AllReduce": "comm", "Memcpy DtoD": "memcpy"}
EVENTS = st.lists(
    st.tuples(st.sampled_from(list(NAMES)), st.integers(1, 40), st.integers(0, 12)), min_size=1, max_size=12
)


@settings(deadline=None)
@given(EVENTS)
def test_the_split_is_what_counting_every_nanosecond_gives(events: list[tuple[str, int, int]]) -> None:
    trace, _ = opened(
        [
            kernel(
                name,
                Decimal(ts) / 1000,
                Decimal(dur) / 1000,
                stream=stream,
                cat="gpu_memcpy" if name == "Memcpy DtoD" else "kernel",
            )
            for stream, (name, ts, dur) in enumerate(events)  # a stream each: nothing to repair
        ]
    )
    busy = {part: set() for part in NAMES.values()}
    for name, ts, dur in events:
        busy[NAMES[name]].update(range(ts, ts + dur))
    window = max(ts + dur for _, ts, dur in events) - min(ts for _, ts, _ in events)
    every = set().union(*busy.values())
    (split,) = time_split(trace).values()
    assert asdict(split) == {
        "window": window,
        "busy": len(every),
        "idle": window - len(every),
        "compute": len(busy["compute"]),
        "comm": len(busy["comm"]),
        "exposed_comm": len(busy["comm"] - busy["compute"]),
        "memcpy": len(busy["memcpy"]),
        "exposed_memcpy": len(busy["memcpy"] - busy["compute"] - busy["comm"]),
        "start_ns": min(ts for _, ts, _ in events),
    }
