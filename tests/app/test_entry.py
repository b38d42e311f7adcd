"""Before and beside the workbench: loading, faults, recent runs, a run without its trace."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from textual.widgets import Input

from tests.app import data
from tests.app.conftest import ready, screen_text, until
from tests.app.fakes import FakeServices
from tracelens_tui.app.app import TraceLensApp
from tracelens_tui.app.entry_screens import ErrorScreen, OpenScreen
from tracelens_tui.app.loading import LoadingScreen
from tracelens_tui.app.preparing import Step
from tracelens_tui.app.workbench import Workbench
from tracelens_tui.run.recent import RecentRun

DAY = datetime(2026, 1, 1, tzinfo=timezone.utc)
MakeApp = Callable[..., TraceLensApp]


async def test_loading_shows_stages_and_leaving_ends_the_child(make_app: MakeApp):
    services = FakeServices()
    services.hold = asyncio.Event()
    ended: list[str] = []
    inner = services.prepare

    async def prepare(*arguments):
        try:
            async for step in inner(*arguments):
                yield step
        finally:
            ended.append("child")

    services.prepare = prepare  # type: ignore[method-assign,assignment]
    services.steps = (Step("start"), Step("parse", 512, 1024), Step("ready", ready=True))
    async with make_app(services).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "512 B of 1.00 KiB" in screen_text(pilot))
        assert "✓ starting" in screen_text(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: ended == ["child"])
        assert not pilot.app.is_running


async def test_a_fault_is_told_in_the_words_of_the_command_line(make_app: MakeApp):
    services = FakeServices()
    services.steps, services.fault = (), "/traces/x.png is no trace: it looks like a PNG image [/b]"
    async with make_app(services).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorScreen))
        await pilot.pause()
        assert "error: /traces/x.png is no trace: it looks like a PNG image [/b]" in screen_text(pilot)
        await pilot.press("p")
        box = pilot.app.screen.query_one(Input)
        assert box.value == "/traces/llama_step.json.gz"
        services.steps, services.fault, box.value = (Step("ready", ready=True),), None, "/traces/other.json"
        services.queue.put_nowait(data.DONE)
        await pilot.press("enter")
        await ready(pilot)
        assert "prepare /traces/other.json" in services.calls


async def test_a_trace_without_gpu_events_is_a_fault(make_app: MakeApp):
    services = FakeServices(analysis=data.make_analysis(splits={}))
    async with make_app(services).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorScreen))
        await pilot.pause()
        assert "holds no GPU events" in screen_text(pilot)
        await pilot.press("q")
        assert not pilot.app.is_running


async def test_without_a_target_recent_runs_are_offered(make_app: MakeApp, tmp_path: Path):
    services = FakeServices([data.DONE])
    (tmp_path / "run.json").touch()
    services.runs = [RecentRun(path=str(tmp_path), run_id="r1", trace="/t/[red]a.json", time=DAY)]
    async with make_app(services, None).run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: "[red]a.json" in screen_text(pilot))
        assert "2026-01-01 00:00" in screen_text(pilot)
        await pilot.press("enter")
        bench = await ready(pilot)
        assert bench.run_dir == tmp_path
        assert f"follow {tmp_path}" in services.calls
        assert "prepare /traces/llama_step.json.gz" in services.calls  # the trace that the run names


async def test_without_recent_runs_a_path_is_asked_for(make_app: MakeApp):
    async with make_app(FakeServices(), None).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "no recent runs" in screen_text(pilot))
        assert isinstance(pilot.app.screen, OpenScreen)
        assert pilot.app.screen.query_one(Input).has_focus
        await pilot.press(*"/x.json", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LoadingScreen | Workbench))


async def test_a_run_without_its_trace_shows_what_it_has(make_app: MakeApp, tmp_path: Path):
    services = FakeServices([data.DONE])
    services.trace_fault = "/traces/llama_step.json.gz: the trace of the run is not there any more"
    (tmp_path / "events.jsonl").touch()
    async with make_app(services, tmp_path).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, Workbench))
        await until(pilot, lambda: "GEMM runs at half of its roof" in screen_text(pilot))
        for key in "23":
            await pilot.press(key)
            await until(pilot, lambda: "is not there any more" in screen_text(pilot))
            assert "findings, agents and report work without it" in screen_text(pilot)
        await pilot.press("1", "enter")
        assert "the trace is not open" in screen_text(pilot)
        await pilot.press("r")
        assert "cannot run again" in screen_text(pilot)
