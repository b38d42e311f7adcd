"""Every loader, clock, tree and split case of ``../shared/bugcases`` as ``info --json`` tells it."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracelens_tui.cli import main

READ = ("B01", "B03", "B06", "B08", "B12", "B14", "B20", "B36", "B41", "B47", "B53", "B66", "B73", "B74")
KINDS = {"loader", "clock", "tree", "interval"}
NOT_READ = {"B23"}

CODES: dict[str, dict[str, int]] = {
    "B01": {"truncated": 1, "no_shapes": 6},
    "B03": {"no_host": 1},
    "B06": {"repaired_text": 1, "no_shapes": 2},
    "B08": {"repaired_text": 3, "no_shapes": 2},
    "B12": {"trailing_bytes": 30, "no_host": 1},
    "B14": {"archive_member": 2, "no_shapes": 1},
    "B20": {},
    "B36": {"negative_duration": 2, "missing_duration": 1},
    "B41": {"no_host": 1},
    "B47": {"no_shapes": 2},
    "B53": {"unlinked": 4, "no_shapes": 3},
    "B66": {"no_shapes": 1},
    "B73": {"duration_overflow": 1, "no_host": 1},
    "B74": {"no_host": 1},
}
"""What ``quality`` lists, counted by hand in the files."""


@pytest.fixture
def info_of(shared: Path, capsys: pytest.CaptureFixture[str]):
    """``info --json`` of a case and what is expected of it."""
    folder = shared / "bugcases"
    if not folder.is_dir():
        pytest.skip("the folder ../shared/bugcases is not here")
    cases: dict[str, Any] = json.loads((folder / "expected.json").read_text())["cases"]

    def read(case: str) -> tuple[dict[str, Any], dict[str, Any]]:
        assert main(["info", str(folder / cases[case]["files"][0]), "--json"]) == 0
        return json.loads(capsys.readouterr().out, parse_float=Decimal), cases[case]["expect"]

    return read


def test_no_case_is_left_out(shared: Path) -> None:
    path = shared / "bugcases/expected.json"
    if not path.is_file():
        pytest.skip("the folder ../shared/bugcases is not here")
    cases = json.loads(path.read_text())["cases"]
    assert {case for case, content in cases.items() if content["kind"] in KINDS} == {*READ, *NOT_READ}


def numbers(split: dict[str, Any]) -> dict[str, Decimal]:
    return {name: Decimal(str(value)) for name, value in split.items()}


@pytest.mark.parametrize("case", READ)
def test_time_split_and_quality(info_of, case: str) -> None:
    info, expect = info_of(case)
    split = {"B66": {"busy": 7}, "B73": expect.get("repaired_us")}.get(case) or expect["time_us"]
    told = numbers(info["time_us"])
    assert {name: told[name] for name in split} == numbers(split)
    assert info["devices"] == {"0": info["time_us"]}
    assert {item["code"]: item["count"] for item in info["quality"]} == CODES[case]
    assert info["partial"] == expect.get("partial", False)
    assert info["events_lost"] == expect.get("events_lost", 0)
    assert info["format"] == "kineto"


COUNTS = {"cpu_op": "cpu_op", "kernels": "kernel", "launches": "launch", "python_function": "python_function"}


@pytest.mark.parametrize("case", READ)
def test_counts(info_of, case: str) -> None:
    info, expect = info_of(case)
    assert {name: info["counts"][name] for key, name in COUNTS.items() if key in expect} == {
        name: expect[key] for key, name in COUNTS.items() if key in expect
    }
    for key in ("launches_without_kernel", "host_threads", "gpu_events"):
        assert info[key] == expect.get(key, info[key])
    events = expect.get("events", expect.get("events_best"))
    assert events is None or info["events"] == events


def test_what_only_some_cases_tell(info_of) -> None:
    b12, expect = info_of("B12")
    assert b12["source"] == {"member": None, "members": expect["members"], "trailing_bytes": expect["trailing_bytes"]}
    b14, expect = info_of("B14")
    assert b14["source"]["member"] == expect["member_used"]
    b36, expect = info_of("B36")
    assert b36["sum_dur_us"] == expect["valid"] * Decimal(expect["mean_tiny_us"])
    assert (b36["linked_count"], b36["launches_without_kernel"]) == (11, 0)
    b53, expect = info_of("B53")
    assert (b53["linked_count"], b53["gpu_events"] - b53["linked_count"]) == (len(expect["linked"]), expect["orphans"])
    b73, expect = info_of("B73")
    assert numbers(b73["time_us_raw"]) == numbers(expect["raw_us"])
    b74, expect = info_of("B74")
    assert b74["sum_dur_us"] == expect["sum_of_durations_us"]
    assert b74["utilisation_percent"] == Decimal(expect["utilisation_percent"])
    overlapped = b74["time_us"]["comm"] - b74["time_us"]["exposed_comm"]
    assert overlapped == expect["overlapped_comm_us"]


def test_nothing_raw_reaches_the_screen(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = shared / "bugcases/B08_ctrl_and_bad_utf8.json"
    if not path.is_file():
        pytest.skip("the folder ../shared/bugcases is not here")
    assert main(["info", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    "\n".join(lines).encode("utf-8")
