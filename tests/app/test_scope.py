"""A part of a trace in the app: to the child and the triage, in the top line, and again from the run directory."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app import data
from tests.app.conftest import ready, until
from tests.app.fakes import FakeServices
from tests.app.test_processes import lay_run
from tests.triage.making import mixed
from tracelens_tui.analysis.model import Elsewhere, Part
from tracelens_tui.app import preparing, starting
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.services import Services
from tracelens_tui.app.starting import Started
from tracelens_tui.app.status import trace_cells
from tracelens_tui.app.time_rows import time_source
from tracelens_tui.app.view import trace_view
from tracelens_tui.errors import UserError
from tracelens_tui.run.state import RunState
from tracelens_tui.run.store import default_run_dir
from tracelens_tui.trace.scope import Scope
from tracelens_tui.triage.launch import command
from tracelens_tui.triage.request import TriageRequest

STEPS = Scope("steps", 2, 5)
PART = Part(STEPS, "ProfilerStep#2 to #5 (4 annotations)", 20, 90, 0, {data.GPU0: Elsewhere(80_000, 0)})


def test_the_part_goes_to_the_child_and_to_the_triage(tmp_path):
    scope = Scope("annotation", name="-a b*")
    child = preparing._command(Path("t.json"), AppOptions(scope=scope), tmp_path)
    assert child[-1] == "--scope=annotation=-a b*"
    assert "--annotation=-a b*" in command(TriageRequest(Path("t.json"), scope=scope))


async def test_the_child_analyses_the_part(tmp_path):
    trace = mixed(tmp_path / "mixed.json")
    services, place = Services(), tmp_path / "out"
    options = AppOptions(scope=Scope("node", 0, 0), use_cache=False)
    assert [step async for step in services.prepare(trace, options, place)][-1].ready
    analysis = services.analysis(place)
    assert analysis.part is not None
    assert analysis.part.title == "the subtree of event 0, aten::mm"
    assert analysis.kernels["count"].to_list() == [1]
    with pytest.raises(UserError, match="999 is no event with a time"):
        async for _ in services.prepare(trace, replace(options, scope=Scope("node", 999, 999)), place):
            pass


def test_a_part_has_a_place_of_its_own(monkeypatch, tmp_path):
    requests: list[TriageRequest] = []

    def start(request: TriageRequest) -> int:
        requests.append(request)
        return os.getpid()

    monkeypatch.setattr(starting, "start_detached", start)
    monkeypatch.chdir(tmp_path)
    trace = tmp_path / "t.json"
    trace.write_text("{}")
    place = default_run_dir(trace, starting.fingerprint(trace), "steps-2-5")
    assert starting.start(trace, AppOptions(scope=STEPS), fresh=False).run_dir == place
    assert requests[0].scope == STEPS
    lay_run(place, trace, options={"platform": None, "arch": None, "device": None, "scope": "steps=2-5"})
    assert starting.start(trace, AppOptions(scope=STEPS), fresh=False) == Started(place)
    lay_run(tmp_path / "whole", trace)
    other = AppOptions(scope=STEPS, run_dir=tmp_path / "whole")
    assert starting.start(trace, other, fresh=False).run_dir == tmp_path / "whole-2"


def test_a_run_is_shown_with_the_part_it_was_made_of(tmp_path):
    (tmp_path / "t.json").write_text("{}")
    made = {"platform": None, "arch": None, "device": None, "scope": "steps=2-5"}
    lay_run(tmp_path / "run", tmp_path / "t.json", options=made)
    services = Services()
    for given in (None, STEPS):
        assert services.options_of(tmp_path / "run", AppOptions(scope=given)).scope == STEPS
    with pytest.raises(UserError, match=r"run is a run of ProfilerStep#2 to #5: open it without --step 3, or open the"):
        services.options_of(tmp_path / "run", AppOptions(scope=Scope("step", 3, 3)))
    lay_run(tmp_path / "whole", tmp_path / "t.json")
    assert services.options_of(tmp_path / "whole", AppOptions()).scope is None
    with pytest.raises(UserError, match="whole is a run of the whole trace"):
        services.options_of(tmp_path / "whole", AppOptions(scope=STEPS))


def test_the_top_line_and_the_time_split_tell_the_part():
    view = trace_view(data.make_analysis(part=PART))
    texts = [text for text, _ in trace_cells(Path("t.json"), None, view)]
    assert texts[:2] == [" t.json", "  only ProfilerStep#2 to #5 (4 annotations)"]
    idle = next(row for row in time_source(view.analysis).items if row.key == ("idle", data.GPU0))
    assert idle.detail == (
        "nothing of the part ran on the GPU. "
        f"Work outside of the part keeps GPU {data.GPU0} busy for 80.0 µs of its idle time."
    )


class PartServices(FakeServices):
    """A run of a part; remembers what a new one is started with."""

    asked: AppOptions | None = None

    def options_of(self, run_dir: Path, options: AppOptions) -> AppOptions:
        return replace(options, scope=STEPS)

    def start(self, trace: Path, options: AppOptions, *, fresh: bool) -> Started:
        self.asked = options
        return super().start(trace, options, fresh=fresh)


async def test_run_again_speaks_of_the_same_part(make_app, tmp_path):
    (tmp_path / "run.json").write_text("{}")
    services = PartServices([RunState(status="finished")])
    async with make_app(services, tmp_path).run_test() as pilot:
        screen = await ready(pilot)
        assert screen.options.scope == STEPS
        await pilot.press("r", "y")
        await until(pilot, lambda: services.asked is not None)
    assert services.asked is not None
    assert services.asked.scope == STEPS
