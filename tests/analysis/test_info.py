"""``info``: the bug cases against the independent expectations, and hand-made traces."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.making import analysed, kernel, launch, mm, op, python
from tracelens_tui.analysis.info import info_lines, trace_info
from tracelens_tui.analysis.source import open_analysis_of

KEYS = [
    "format",
    "source",
    "partial",
    "events",
    "events_lost",
    "counts",
    "launches_without_kernel",
    "host_threads",
    "scope",
    "time_us",
    "devices",
    "gpu_events",
    "linked_count",
    "linked_percent",
    "modelled_percent",
    "sum_dur_us",
    "utilisation_percent",
    "forward_backward_pairs",
    "launch",
    "quality",
]


def info_of(shared: Path, case: str) -> dict[str, Any]:
    path = next((shared / "bugcases").glob(f"{case}_*"))
    return trace_info(open_analysis_of(path, use_cache=False))


def expected(shared: Path, case: str) -> dict[str, Any]:
    return json.loads((shared / "bugcases/expected.json").read_text())["cases"][case]["expect"]


def exact(times: dict[str, Any]) -> dict[str, Decimal]:
    return {name: Decimal(str(value)) for name, value in times.items()}


@pytest.mark.parametrize("case", ["B20", "B36", "B41", "B47", "B53", "B74", "B93"])
def test_times_of_the_bug_cases(shared: Path, case: str) -> None:
    info = info_of(shared, case)
    assert exact(info["time_us"]) == exact(expected(shared, case)["time_us"])
    assert "time_us_raw" not in info


def test_repaired_times_come_with_the_raw_ones(shared: Path) -> None:
    info, expect = info_of(shared, "B73"), expected(shared, "B73")
    assert exact(info["time_us"]) == exact(expect["repaired_us"])
    assert exact(info["time_us_raw"]) == exact(expect["raw_us"])


def test_shares_of_the_bug_cases(shared: Path) -> None:
    b53, b74, b93 = (info_of(shared, case) for case in ("B53", "B74", "B93"))
    assert (b53["gpu_events"], b53["linked_count"]) == (8, 4)
    assert (b74["sum_dur_us"], b74["utilisation_percent"]) == (71, 84.375)
    assert b93["modelled_percent"] == 30


def test_counts_of_the_bug_cases(shared: Path) -> None:
    b20, b36 = info_of(shared, "B20"), info_of(shared, "B36")
    assert (b20["events"], b20["host_threads"]) == (10, 2)
    assert b36["counts"]["kernel"] == 11


def test_keys_and_counts() -> None:
    events = [
        python("train.py(3): step", 0, 100),
        mm(0, 10, 64, 64, 64),
        launch(1, 5),
        launch(2, 8),  # launches nothing that was recorded
        launch(3, 9, name="hipDeviceSynchronize"),
        mm(20, 10, 64, 64, 64, tid=2),
        op("aten::add", 40, 1),
        kernel("Cijk_gemm", 100, 1.5, 1),
        kernel("orphan", 110, 0.5),
    ]
    info = trace_info(analysed(events))
    assert list(info) == KEYS
    assert info["counts"] == {"cpu_op": 3, "python_function": 1, "kernel": 2, "memcpy": 0, "memset": 0, "launch": 2}
    assert (info["launches_without_kernel"], info["host_threads"], info["events"]) == (1, 2, 9)
    assert (info["linked_percent"], info["modelled_percent"], info["sum_dur_us"]) == (75, 75, 2)
    assert info["time_us"] == info["devices"]["0"]
    assert info["time_us"]["window"] == 10.5
    assert isinstance(info["sum_dur_us"], int)
    assert json.loads(json.dumps(info)) == info


def test_time_is_of_the_first_device() -> None:
    info = trace_info(analysed([kernel("a", 0, 5, device=1), kernel("b", 0, 50, device=3)]))
    assert info["time_us"] == info["devices"]["1"]
    assert list(info["devices"]) == ["1", "3"]


def test_a_trace_without_gpu_events_has_times_of_zero() -> None:
    info = trace_info(analysed([op("aten::add", 0, 5)]))
    assert set(info["time_us"].values()) == {0}
    assert (info["devices"], info["gpu_events"], info["linked_percent"], info["utilisation_percent"]) == ({}, 0, 0, 0)


def test_lines_are_plain_text() -> None:
    lines = info_lines(analysed([mm(0, 10, 64, 64, 64), launch(1, 5), kernel("Cijk_gemm", 100, 7.5, 1)]))
    text = "\n".join(lines)
    assert text.isprintable() or text.replace("\n", "").isprintable()
    assert "GPU 0" in text
    assert "busy 100.0 %" in text
    assert "100.0 % of kernel time has a perf model" in text
    assert "Test (as the test says)" in text
