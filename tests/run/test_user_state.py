"""Recent runs and marks: the user's own files outside every run."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests.run.making import NOON, info
from tracelens_tui.errors import UserError
from tracelens_tui.run import recent
from tracelens_tui.run.marks import Mark, load_marks, set_mark
from tracelens_tui.run.places import state_dir
from tracelens_tui.run.recent import recent_runs, remember
from tracelens_tui.run.store import RunDir


def test_state_goes_where_xdg_says(private_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert state_dir() == private_home / "state" / "tracelens-tui"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_dir() == tmp_path / ".local" / "state" / "tracelens-tui"


def test_recent_runs_latest_first(tmp_path: Path) -> None:
    runs = [RunDir.create(tmp_path / str(number), info(run_id=f"r{number}")) for number in range(3)]
    for number, run in enumerate(runs):
        remember(run, now=NOON + timedelta(minutes=number))
    remember(runs[0], now=NOON + timedelta(hours=1))
    assert [one.run_id for one in recent_runs()] == ["r0", "r2", "r1"]
    assert recent_runs()[0].path == str(tmp_path / "0")


def test_the_index_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "KEEP", 2)
    for number in range(4):
        remember(RunDir.create(tmp_path / str(number), info()), now=NOON + timedelta(minutes=number))
    assert [Path(one.path).name for one in recent_runs()] == ["3", "2"]
    assert len(list((state_dir() / "recent").iterdir())) == 2


def test_runs_that_are_gone_and_broken_entries_are_passed_over(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run", info())
    remember(run)
    (state_dir() / "recent" / "broken.json").write_text("{")
    assert len(recent_runs()) == 1
    run.path.rename(tmp_path / "moved")
    assert recent_runs() == []


def test_a_state_folder_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember(RunDir.create(tmp_path / "run", info()))
    assert recent_runs() == []
    with pytest.raises(UserError, match="the mark cannot be kept"):
        set_mark("r1", "gemm-1", Mark(verdict="accepted"))


def test_marks_are_kept_per_run(tmp_path: Path) -> None:
    assert load_marks("r1") == {}
    set_mark("r1", "gemm-1", Mark(verdict="accepted"))
    marks = set_mark("r1", "gemm-2", Mark(verdict="rejected", note="known"))
    assert marks == load_marks("r1")
    assert marks == {"gemm-1": Mark(verdict="accepted"), "gemm-2": Mark(verdict="rejected", note="known")}
    assert load_marks("r2") == {}


def test_an_empty_mark_is_removed() -> None:
    set_mark("r1", "gemm-1", Mark(verdict="accepted"))
    assert set_mark("r1", "gemm-1", Mark()) == {}


def test_broken_marks_are_told_not_overwritten() -> None:
    set_mark("r1", "gemm-1", Mark(verdict="accepted"))
    path = state_dir() / "marks" / "r1.json"
    path.write_text("{")
    with pytest.raises(UserError, match=str(path)):
        set_mark("r1", "gemm-1", Mark())
    assert path.read_text() == "{"


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a" * 65, "a\n"])
def test_run_ids_cannot_lead_out_of_the_folder(run_id: str) -> None:
    with pytest.raises(UserError, match="is not a run id"):
        load_marks(run_id)
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "x.json").exists()
