"""What ``info`` says of forward and backward ops and of recomputation."""

from pathlib import Path

from tests.analysis.making import PLATFORM, analysed, kernel, launch, mm
from tests.app.test_relations import STEP
from tests.trace.making import frame, opened
from tests.trace.test_autograd import ENGINE_THREAD
from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.info import info_lines, trace_info
from tracelens_tui.analysis.source import open_analysis_of


def test_pairs_and_recomputed_time() -> None:
    analysis = analyse(*opened(*STEP), PLATFORM, "")
    info = trace_info(analysis)
    assert info["forward_backward_pairs"] == 1
    assert info["recomputed"] == {"gpu_us": 4, "inferred_us": 4}
    (line,) = (line for line in info_lines(analysis) if line.startswith("Autograd"))
    assert line == (
        "Autograd  1 forward op has its backward op; "
        "4.00 µs of GPU time is recomputed by activation checkpointing, 4.00 µs of it told from ops alone"
    )


def test_what_frames_tell_is_not_inferred() -> None:
    hook = frame("torch/utils/checkpoint.py(1500): recompute_fn", 103, 12, tid=ENGINE_THREAD)
    info = trace_info(analyse(*opened(*STEP, hook), PLATFORM, ""))
    assert info["recomputed"] == {"gpu_us": 4, "inferred_us": 0}


def test_inference_has_no_pairs_and_says_nothing() -> None:
    analysis = analysed([mm(0, 10, 64, 64, 64), launch(1, 2), kernel("k", 20, 5, 1)])
    info = trace_info(analysis)
    assert info["forward_backward_pairs"] == 0
    assert "recomputed" not in info
    assert not [line for line in info_lines(analysis) if line.startswith("Autograd")]


def test_a_real_checkpointed_model(shared: Path) -> None:
    info = trace_info(open_analysis_of(shared / "traces/mi300_resnet_ckpt.json.gz", use_cache=False))
    assert info["forward_backward_pairs"] == 213
    assert info["recomputed"] == {"gpu_us": 4209.958, "inferred_us": 0}
