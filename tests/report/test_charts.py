"""The chart: what its bar is made of, and that it is a picture of the size that consumers expect."""

import builtins
import struct
from typing import Any

import pytest

from tests.report.editing import edit
from tracelens_tui.report.charts import draw, segments
from tracelens_tui.report.inputs import read_inputs
from tracelens_tui.run.store import MANIFEST, RunDir


def test_categories_by_time_then_the_rest(run: RunDir) -> None:
    assert [(label, ms) for label, ms, _ in segments(read_inputs(run))] == [
        ("GEMM — 50.0 ms (50.0%)", 50.0),
        ("elementwise — 26.0 ms (26.0%)", 26.0),
        ("other — 4.0 ms (4.0%)", 4.0),
        ("Non-computing — 20.0 ms (20.0%)", 20.0),
    ]


def test_overlapping_categories_fit_into_the_compute_time(run: RunDir) -> None:
    """100 ms + 26 ms + 4 ms of kernels in 80 ms of compute time."""
    edit(run, MANIFEST, lambda d: d["categories"][1].update(gpu_kernel_time_ms=100.0))
    parts = segments(read_inputs(run))
    assert [round(ms, 9) for _, ms, _ in parts] == [round(one * 80 / 130, 9) for one in (100, 26, 4)] + [20.0]
    assert parts[0][0] == "GEMM — 100.0 ms (100.0%)"


def test_it_is_12_by_3_inches_at_150_dpi(run: RunDir) -> None:
    image = draw(read_inputs(run))
    assert image is not None
    assert image.startswith(b"\x89PNG")
    assert struct.unpack(">II", image[16:24]) == (1800, 450)


@pytest.mark.parametrize("name", ["$x^2$ $\\frac{1}{0}$", "_hidden", "a\nb", "", "$"])
def test_names_are_text_not_formulas(run: RunDir, name: str) -> None:
    edit(run, MANIFEST, lambda d: d["categories"][1].update(display_name=name))
    edit(run, MANIFEST, lambda d: d.update(platform=name))
    assert draw(read_inputs(run)) is not None


def test_without_matplotlib_there_is_none(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_matplotlib(name: str, *args: Any, **options: Any) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    assert draw(read_inputs(run)) is None
