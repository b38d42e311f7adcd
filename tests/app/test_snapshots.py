"""Pictures of the states, 80×24 and 120×40; look at them when they change (``make snapshots``)."""

import asyncio
from pathlib import Path

import pytest

from tests.app import data
from tests.app.conftest import ready, until
from tests.app.fakes import FakeServices
from tracelens_tui.app.entry_screens import ErrorScreen
from tracelens_tui.app.loading import LoadingScreen
from tracelens_tui.app.preparing import Step
from tracelens_tui.run.state import RunState

SIZES = [(80, 24), (120, 40)]
STATES = {
    "findings": (data.DONE, ""),
    "kernels": (data.DONE, "2"),
    "tree": (data.DONE, "3*jjjjj"),
    "time": (data.DONE, "4j"),
    "agents-live": (data.LIVE, "5jj"),
    "timeline": (data.DONE, "6"),
    "report": (data.DONE, "7]"),
    "starting": (RunState(), ""),
    "no-match": (data.DONE, "fnowhere\n"),
    "help": (data.DONE, "?"),
    "quit": (data.LIVE, "q"),
}
KEYS = {"*": "asterisk", "]": "right_square_bracket", "\n": "enter", "?": "question_mark"}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
@pytest.mark.parametrize("state", STATES)
def test_snapshot(snap_compare, make_app, state: str, size: tuple[int, int]):
    run, keys = STATES[state]

    async def press(pilot) -> None:
        await ready(pilot)
        for key in keys:
            await pilot.press(KEYS.get(key, key))
        await pilot.pause(0.3)

    assert snap_compare(make_app(FakeServices([run])), terminal_size=size, run_before=press)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_snapshot_error(snap_compare, make_app, size: tuple[int, int]):
    services = FakeServices()
    services.steps, services.fault = (), "/traces/x.png is no trace: it looks like a PNG image; give a profiler trace."

    async def wait(pilot) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorScreen))
        await pilot.pause(0.1)

    assert snap_compare(make_app(services, Path("/traces/x.png")), terminal_size=size, run_before=wait)


def test_snapshot_loading(snap_compare, make_app):
    services = FakeServices()
    services.steps = (Step("start"), Step("parse", 120 << 20, 774 << 20), Step("hold", ready=True))

    async def wait(pilot) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, LoadingScreen))
        await pilot.pause(0.6)

    services.hold = asyncio.Event()
    assert snap_compare(make_app(services), terminal_size=(80, 24), run_before=wait)


def test_snapshot_ascii(snap_compare, make_app):
    async def press(pilot) -> None:
        await ready(pilot)
        await pilot.press("4")
        await pilot.pause(0.3)

    app = make_app(FakeServices([data.LIVE]), ascii=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=press)
