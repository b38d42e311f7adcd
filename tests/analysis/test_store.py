"""A stored analysis comes back whole, or is refused in one sentence."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.making import analysed, kernel, launch, mm
from tests.analysis.test_tables import step
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.store import open_analysis, save_analysis
from tracelens_tui.errors import UserError

FRAMES = ("ops", "calls", "gpu", "kernels", "gaps", "steps", "launches")
TRACE_FRAMES = ("events", "threads", "args", "details", "repairs", "flows")


def assert_same(one: Analysis, other: Analysis) -> None:
    assert all(getattr(one, name).equals(getattr(other, name)) for name in FRAMES)
    assert all(getattr(one.trace, name).equals(getattr(other.trace, name)) for name in TRACE_FRAMES)
    assert one.trace.names.equals(other.trace.names)
    assert all(np.array_equal(getattr(one.tree, f.name), getattr(other.tree, f.name)) for f in fields(one.tree))
    assert (one.platform, one.platform_note, one.device) == (other.platform, other.platform_note, other.device)
    assert (one.splits, one.trace.metadata, one.trace.quality) == (
        other.splits,
        other.trace.metadata,
        other.trace.quality,
    )


@pytest.mark.parametrize(
    "events", [[], step(), [*step(), kernel("late", 900, 5, device=3)]], ids=["empty", "one", "two"]
)
def test_it_comes_back_as_it_was(events: list, tmp_path: Path) -> None:
    analysis = analysed(events)
    save_analysis(tmp_path / "deep" / "saved", analysis)
    assert_same(open_analysis(tmp_path / "deep" / "saved"), analysis)


def test_tree_arrays_keep_their_types(tmp_path: Path) -> None:
    analysis = analysed(step())
    save_analysis(tmp_path / "saved", analysis)
    tree = open_analysis(tmp_path / "saved").tree
    assert {f.name: getattr(tree, f.name).dtype for f in fields(tree)} == {
        f.name: getattr(analysis.tree, f.name).dtype for f in fields(tree)
    }


def test_event_columns_are_mapped_not_read(tmp_path: Path) -> None:
    save_analysis(tmp_path / "saved", analysed(step()))
    opened = open_analysis(tmp_path / "saved")
    assert isinstance(opened.tree.parent.base, np.memmap)
    starts = np.load(tmp_path / "saved/events/start_ns.npy", mmap_mode="r+")
    starts[0] += 1  # seen through the mapping: the frame holds the file's pages
    starts.flush()
    assert opened.trace.events["start_ns"][0] == starts[0]


def test_an_earlier_one_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    save_analysis(tmp_path / "saved", analysed(step()))
    newer = analysed([mm(0, 10, 64, 64, 64), launch(1, 5), kernel("Cijk_gemm", 100, 7, 1)], None)
    save_analysis(tmp_path / "saved", newer)
    assert_same(open_analysis(tmp_path / "saved"), newer)
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_failure_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analysed(step())
    save_analysis(tmp_path / "saved", analysis)

    def full(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polars.DataFrame.write_ipc", full)
    with pytest.raises(UserError, match="No space left on device"):
        save_analysis(tmp_path / "saved", analysed([]))
    monkeypatch.undo()
    assert_same(open_analysis(tmp_path / "saved"), analysis)
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_what_is_no_stored_analysis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no analysis is stored here"):
        open_analysis(tmp_path)
    (tmp_path / "analysis.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        open_analysis(tmp_path)
    (tmp_path / "analysis.json").write_text('{"schema_version": 0}')
    with pytest.raises(UserError, match="another version"):
        open_analysis(tmp_path)
