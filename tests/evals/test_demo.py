"""The demo trace is written once, whole, where the program keeps its state."""

import pytest

from tests.evals import reading
from tracelens_tui.errors import UserError
from tracelens_tui.evals.demo import demo_trace
from tracelens_tui.run.places import state_dir


def test_written_once_and_kept(tmp_path):
    path = demo_trace(tmp_path / "new" / "folder")
    stamp = path.stat().st_mtime_ns
    assert demo_trace(tmp_path / "new" / "folder") == path
    assert path.stat().st_mtime_ns == stamp
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert len(reading.load(path)["traceEvents"]) >= 20_000


def test_default_place_is_the_state_folder():
    assert demo_trace().parent == state_dir() / "demo"


def test_a_place_that_is_a_file_is_told_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=str(tmp_path)):
        demo_trace(tmp_path / "file")
