"""Trace path → Analysis: how the platform is found, and the faults of the user."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.making import kernel, launch, mm
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.errors import UserError


def trace_file(folder: Path, **metadata: Any) -> Path:
    path = folder / "trace.json"
    events = [
        mm(0, 10, 64, 64, 64),
        launch(1, 5),
        kernel("Cijk_gemm", 100, 7, 1),
        kernel("Cijk_gemm", 90, 9, 0, device=2),
    ]
    path.write_text(json.dumps({"traceEvents": events} | metadata))
    return path


def test_the_device_of_the_trace_gives_the_platform(tmp_path: Path) -> None:
    path = trace_file(tmp_path, deviceProperties=[{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}])
    analysis = open_analysis_of(path)
    assert analysis.platform is not None
    assert analysis.platform.name == "MI300X"
    assert analysis.ops["roof_ns"].null_count() == 0


def test_an_unknown_device_gives_every_table_and_says_how_to_mend(tmp_path: Path) -> None:
    analysis = open_analysis_of(trace_file(tmp_path))
    assert analysis.platform is None
    assert "--platform NAME" in analysis.platform_note
    assert analysis.ops["flops"].null_count() == 0


@pytest.mark.parametrize(
    "devices",
    [
        [],
        [{"id": 0, "name": ""}],
        [{"id": 0, "name": "AMD Radeon Graphics", "numSms": 7, "totalGlobalMem": 1 << 30}],
        [{"id": 0, "name": "Mystery 9000"}],
        [{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": "NVIDIA L4"}],
    ],
)
def test_the_mend_is_told_once(tmp_path: Path, devices: list[dict[str, Any]]) -> None:
    note = open_analysis_of(trace_file(tmp_path, deviceProperties=devices)).platform_note
    assert [note.count(word) for word in ("--platform", "--arch", ":")] == [1, 1, 1]
    assert note.endswith(
        ": no rooflines; name the GPU with --platform NAME (tracelens-tui platforms lists them) or --arch FILE"
    )


def test_a_named_platform_wins(tmp_path: Path) -> None:
    path = trace_file(tmp_path, deviceProperties=[{"id": 0, "name": "AMD Instinct MI300X", "numSms": 304}])
    analysis = open_analysis_of(path, platform="mi325x")
    assert analysis.platform is not None
    assert analysis.platform.name == "MI325X"
    assert "--platform" in analysis.platform_note


def test_an_architecture_file_is_read(tmp_path: Path) -> None:
    arch = tmp_path / "arch.json"
    arch.write_text(json.dumps({"name": "Mine", "mem_bw_gbps": 1000, "max_achievable_tflops": {"matrix_bf16": 100}}))
    analysis = open_analysis_of(trace_file(tmp_path), arch=arch)
    assert analysis.platform is not None
    assert analysis.platform.name == "Mine"
    assert str(arch) in analysis.platform_note


def test_a_name_and_a_file_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not with both"):
        open_analysis_of(trace_file(tmp_path), platform="MI300X", arch=tmp_path / "arch.json")


def test_an_unknown_platform_is_refused_before_the_trace_is_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'MI9000'"):
        open_analysis_of(tmp_path / "absent.json", platform="MI9000")


def test_a_device_is_chosen_or_refused(tmp_path: Path) -> None:
    path = trace_file(tmp_path)
    assert open_analysis_of(path).device == 2
    assert open_analysis_of(path, device=0).device == 0
    with pytest.raises(UserError, match=r"device 5; choose with --device from: 0, 2"):
        open_analysis_of(path, device=5)
