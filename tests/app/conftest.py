"""Fixtures of the app's tests: settled screens, snapshots in the top-level folder."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest
import pytest_textual_snapshot
from textual.pilot import Pilot

from tests.app.fakes import FakeServices
from tracelens_tui.app import workbench as workbench_module
from tracelens_tui.app.app import TraceLensApp
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.workbench import Workbench

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots"
TRACE = Path("/traces/llama_step.json.gz")
Running = Callable[..., AbstractAsyncContextManager[tuple[Workbench, Pilot[str]]]]


class TopLevelSvg(pytest_textual_snapshot.SVGImageExtension):
    """Keeps the pictures in ``snapshots/``, one folder per test file."""

    @classmethod
    def dirname(cls, *, test_location):  # type: ignore[override]
        return str(SNAPSHOTS / Path(test_location.filepath).stem)


@pytest.fixture(autouse=True)
def top_level_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_textual_snapshot, "SVGImageExtension", TopLevelSvg)


async def until(pilot: Pilot[str], condition: Callable[[], bool], limit: float = 10.0) -> None:
    """Let the app work until the condition holds."""
    end = monotonic() + limit
    while not condition():
        assert monotonic() < end, "the app did not get there"
        await pilot.pause(0.01)
    await pilot.pause()


async def ready(pilot: Pilot[str]) -> Workbench:
    """Wait for the workbench with its trace and a state of the run, and for the detail to follow the cursor."""
    await until(pilot, lambda: isinstance(pilot.app.screen, Workbench))
    screen = pilot.app.screen
    assert isinstance(screen, Workbench)
    await until(pilot, lambda: screen.view is not None and screen.run_state is not None)
    await pilot.pause(0.2)
    return screen


@pytest.fixture
def make_app(tmp_path: Path) -> Callable[..., TraceLensApp]:
    def make(services: FakeServices, target: Path | None = TRACE, **options: object) -> TraceLensApp:
        return TraceLensApp(target, AppOptions(**options), services, tmp_path)  # type: ignore[arg-type]

    return make


@pytest.fixture
def running(make_app: Callable[..., TraceLensApp]) -> Running:
    """Run the app on the hand-made trace until its workbench stands."""

    @asynccontextmanager
    async def run(
        services: FakeServices, size: tuple[int, int] = (80, 24), **options: object
    ) -> AsyncIterator[tuple[Workbench, Pilot[str]]]:
        async with make_app(services, **options).run_test(size=size) as pilot:
            yield await ready(pilot), pilot

    return run


@pytest.fixture
def fast_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """States of a live run are shown at once instead of once a second."""
    monkeypatch.setattr(workbench_module, "TICK_S", 0.02)


def screen_text(pilot: Pilot[str]) -> str:
    """What stands on the screen."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


def line_with(pilot: Pilot[str], words: str) -> str:
    """The first line of the screen that holds the words."""
    return next(line for line in screen_text(pilot).splitlines() if words in line)


Ready = Callable[[Pilot[str]], Awaitable[Workbench]]
