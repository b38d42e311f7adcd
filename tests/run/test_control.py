"""What a viewer asks of a triage."""

from pathlib import Path

import pytest

from tests.run.making import info
from tracelens_tui.errors import UserError
from tracelens_tui.run.control import clear, pending, request_cancel
from tracelens_tui.run.store import RunDir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(tmp_path / "run", info())


def test_requests_arrive_in_order(run: RunDir) -> None:
    assert pending(run) == []
    first = request_cancel(run, "gemm")
    second = request_cancel(run)
    assert pending(run) == [first, second]
    assert [(one.type, one.agent) for one in pending(run)] == [("cancel_agent", "gemm"), ("cancel", None)]


def test_what_is_no_request_is_left_alone(run: RunDir) -> None:
    for name, content in (("a.json", "{"), ("b.json", '{"type": "rm"}'), ("c.txt", "x"), (".d.json.tmp", "x")):
        (run.path / "control" / name).write_text(content)
    request = request_cancel(run)
    assert pending(run) == [request]


def test_clear_removes_old_requests(run: RunDir) -> None:
    request_cancel(run)
    clear(run)
    assert pending(run) == []


def test_a_run_that_is_not_there_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        request_cancel(RunDir(tmp_path / "none"))
