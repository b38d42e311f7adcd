"""Every PyTorch trace in ``../shared/traces`` opens, and what ``info --json`` tells of it can be."""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.running import check_info
from tracelens_tui.cli import main

SMALL = (
    "h100_bert", "h100_qwen", "h100_vit_nsfw", "hta_mi250_toy", "hta_nccl", "hta_sampled_rank0", "hta_sampled_rank1",
    "mi210_gpu_only", "mi300_qwen", "normalization_layers", "torch_compile_triton",
)  # fmt: skip
LARGE = ("h100_timesformer", "hta_diff_control", "hta_diff_test", "mi300_owlv2", "mi300_resnet_ckpt", "mi300_sd35")
FOLDERS = ("units", "pairs/test01_moe_fused_vs_unfused", "pairs/test03_attention_fused_vs_unfused",
           "pairs/test04_gemm_mm_vs_linear")  # fmt: skip
FOREIGN = ("rocprofv3_908_results",)

REPAIRS = {"stream_overlap", "duration_overflow", "negative_duration", "missing_duration", "kernel_before_launch"}
GPU_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}


def test_no_trace_is_left_out(shared: Path) -> None:
    here = shared / "traces"
    assert {path.name.removesuffix(".json.gz") for path in here.glob("*.json.gz")} == {*SMALL, *LARGE, *FOREIGN}
    assert {str(path.parent.relative_to(here)) for path in here.glob("*/**/*.json.gz")} == set(FOLDERS)


def opened(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["info", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare with plain Python over the same file: counts, and the sum of all GPU times where none was repaired."""
    info = opened(path, capsys)
    check_info(info)
    events = [item for item in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if item.get("ph")]
    gpu = [item for item in events if item["ph"] == "X" and item.get("cat") in GPU_CATEGORIES]
    assert (info["partial"], info["events_lost"], info["events"]) == (False, 0, len(events))
    assert info["gpu_events"] == len(gpu) > 0
    assert info["time_us"]["busy"] > 0
    assert info["counts"]["cpu_op"] == sum(item.get("cat") in {"cpu_op", "Operator"} for item in events)
    if not REPAIRS & {item["code"] for item in info["quality"]}:
        total = math.fsum(item["dur"] for item in gpu)
        assert abs(info["sum_dur_us"] - total) <= 0.0005 * len(gpu) + 1e-6, "each is rounded to the ns"


@pytest.mark.parametrize("name", SMALL)
def test_a_trace_opens(name: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(shared / "traces" / f"{name}.json.gz", capsys)


@pytest.mark.parametrize("folder", FOLDERS)
def test_small_traces_open(folder: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted((shared / "traces" / folder).glob("*.json.gz"))
    assert paths
    for path in paths:
        check(path, capsys)


@pytest.mark.parametrize("name", LARGE)
def test_a_large_trace_opens(name: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = opened(shared / "traces" / f"{name}.json.gz", capsys)
    check_info(info)
    assert (info["partial"], info["events_lost"]) == (False, 0)
    assert info["gpu_events"] == sum(info["counts"][kind] for kind in ("kernel", "memcpy", "memset")) > 0
    assert info["time_us"]["busy"] > 0
