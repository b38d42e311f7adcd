"""The bar of commands that print: only on a terminal, only for work that lasts, and gone at the end."""

import io

import pytest

from tracelens_tui import stage_bar as module
from tracelens_tui.stage_bar import stage_bar
from tracelens_tui.trace.progress import no_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch, patience: float) -> Terminal:
    """Standard error as a terminal; to be called in the test itself, since pytest sets its own for each phase."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(module, "PATIENCE_S", patience)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    return screen


def test_nothing_is_drawn_on_a_pipe(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with stage_bar() as report:
        assert report is no_progress


def test_short_work_shows_no_bar(monkeypatch):
    terminal = on_terminal(monkeypatch, 1000)
    with stage_bar() as report:
        report("read", 1, 2)
    assert terminal.getvalue() == ""


def test_long_work_shows_its_stage_and_share(monkeypatch):
    terminal = on_terminal(monkeypatch, 0)
    with stage_bar() as report:
        report("read", 1, 2)
        report("tree", 3, 4)
    assert "reading" in terminal.getvalue()
    assert "50%" in terminal.getvalue()
    assert "linking" in terminal.getvalue()


def interrupted_work() -> None:
    with stage_bar() as report:
        report("read", 1, 2)
        raise KeyboardInterrupt


def test_the_bar_goes_when_the_work_fails(monkeypatch):
    terminal = on_terminal(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        interrupted_work()
    assert terminal.getvalue().endswith("\x1b[2K")
