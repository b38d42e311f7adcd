"""The flows of the workbench, key by key."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.app import data
from tests.app.conftest import Running, line_with, screen_text, until
from tests.app.fakes import FakeServices
from tracelens_tui.app.agent_list import AgentList
from tracelens_tui.app.arrangement import PANES
from tracelens_tui.app.dialogs import AskPath, Confirm
from tracelens_tui.app.event_tree import EventTree
from tracelens_tui.app.finding_list import FindingList
from tracelens_tui.app.help import Help
from tracelens_tui.app.kernel_table import KernelTable
from tracelens_tui.app.report_view import ReportView
from tracelens_tui.app.starting import Started
from tracelens_tui.run.marks import Mark
from tracelens_tui.run.state import RunState


async def test_from_a_finding_to_its_event_and_back(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("enter")
        assert bench.active == "kernels"
        assert bench.selection.op == 0
        await pilot.press("enter")
        assert bench.active == "tree"
        assert bench.selection.event == 8  # the costliest call
        tree = bench.query_one(EventTree)
        await pilot.pause()
        assert tree.key == 8
        assert tree.top <= tree.cursor < tree.top + tree.body_height
        await pilot.press("right_square_bracket")
        assert bench.selection.event == 2
        assert "call, by cost, 2 of 2" in screen_text(pilot)
        await pilot.press("K")
        assert (bench.active, bench.selection.op) == ("kernels", 0)
        await pilot.press("backspace", "backspace")
        assert (bench.active, bench.selection.event) == ("kernels", None)
        await pilot.press("backspace")
        assert (bench.active, bench.selection.finding) == ("findings", "gemm-1")
        await pilot.press("backspace")
        assert "no jump to go back from" in screen_text(pilot)


async def test_a_system_finding_leads_to_the_time_split_and_a_bar_to_its_kernels(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("j", "enter")
        assert bench.active == "time"
        await pilot.press(*"jjjjjj", "enter")  # GEMM
        assert bench.active == "kernels"
        assert bench.query_one(KernelTable).source.needle == "GEMM"
        await pilot.press("escape")
        assert len(bench.query_one(KernelTable).source) == 2


async def test_a_gap_leads_to_the_event_after_it(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("4", *"jjjjjjjjjjjjj")
        assert "host work" in line_with(pilot, "▸host work")
        await pilot.press("enter")
        assert (bench.active, bench.selection.event) == ("tree", 10)


async def test_the_kernel_view_and_its_way_to_the_tree(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("2", "v", "j")
        assert bench.selection.kernel == 1
        await pilot.press("t")
        assert (bench.active, bench.selection.event) == ("tree", 13)
        await pilot.press("backspace")
        table = bench.query_one(KernelTable)
        assert (bench.active, table.shows_ops, table.key) == ("kernels", False, 1)


async def test_the_cursor_is_always_in_sight(running: Running):
    async with running(FakeServices([data.DONE]), (80, 14)) as (bench, pilot):
        tree = bench.query_one(EventTree)
        await pilot.press("2", "j", "enter")  # relu: below the fold once the tree is unfolded
        assert tree.key == 5
        for keys in (["asterisk"], ["end"], ["home"], ["w"], ["pageup"], ["ctrl+d"], ["slash", *"copydev", "enter"]):
            await pilot.press(*keys)
            await pilot.pause()
            assert tree.top <= tree.cursor < tree.top + tree.body_height, keys
            assert line_with(pilot, "▸").strip("▸ ") or tree.cursor == 0


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (120, 24), (40, 10), (200, 50)])
async def test_every_pane_can_be_shown_at_every_size(running: Running, size):
    async with running(FakeServices([data.DONE]), size) as (bench, pilot):
        for number, name in enumerate(PANES, start=1):
            await pilot.press(str(number))
            pane = bench.pane(name)
            assert pane.display
            assert pane.has_focus
            assert pane.size.height > 2
        await pilot.press("tab")
        assert bench.active == "findings"
        await pilot.press("shift+tab")
        assert bench.active == "report"
        await pilot.press("z", "z", "d", "d", "question_mark")
        assert isinstance(pilot.app.screen, Help)
        await pilot.press("escape")
        assert pilot.app.screen is bench


async def test_a_resize_keeps_pane_and_cursor(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("j", "j")
        await pilot.resize_terminal(130, 40)
        await pilot.pause()
        assert bench.query_one(KernelTable).display
        assert bench.query_one(FindingList).key == "kernel_fusion-1"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not bench.query_one(KernelTable).display


async def test_hostile_text_is_shown_as_it_is(running: Running):
    async with running(FakeServices([data.DONE]), (120, 40)) as (_, pilot):
        for keys in ("1jj", "2v", "3", "4", "6]]]"):
            await pilot.press(*(key if key != "]" else "right_square_bracket" for key in keys))
            await pilot.press("asterisk")
            await pilot.pause(0.2)
            text = screen_text(pilot)
            assert "\x1b" not in text
        await pilot.press("3", "g", "asterisk")
        assert data.HOSTILE_SHOWN in screen_text(pilot)


async def test_filter_and_its_empty_state(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("j", "f", *"nowhere", "enter")
        assert "0 of 3 match “nowhere”" in screen_text(pilot)
        assert "esc clears" in screen_text(pilot)
        await pilot.press("escape")
        assert bench.query_one(FindingList).key == "cpu_idle-1"  # the cursor is where it was
        await pilot.press("f", *"idles", "escape")
        assert len(bench.query_one(FindingList).source) == 3


async def test_find_in_the_tree_unfolds(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("3", "slash", *"relu", "enter")
        assert bench.selection.event == 5
        await pilot.press("N")
        assert bench.selection.event == 5
        await pilot.press("slash", *"nowhere", "enter")
        assert "nothing here holds “nowhere”" in screen_text(pilot)


async def test_tree_keys(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        tree = bench.query_one(EventTree)
        await pilot.press("3", "l")
        assert tree.key == 0  # unfolded from the beginning, so to the first child
        await pilot.press("l", "l", "space", "enter")
        assert tree.key == 1
        await pilot.press("h")
        assert tree.key == 0
        await pilot.press("w")
        assert tree.key == 10
        await pilot.press("home", "asterisk", "end")
        assert tree.key == -3


async def test_sorting_by_every_column(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        table = bench.query_one(KernelTable)
        await pilot.press("2")
        seen = []
        for _ in range(11):
            seen.append(table.source.sort_key)
            await pilot.press("s")
        assert len(set(seen)) == 11
        assert table.source.sort_key == seen[0]
        await pilot.press("S")
        assert (table.source.descending, table.key) == (False, 1)


async def test_columns_scroll_and_the_name_stands(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("2")
        assert "Arguments" not in screen_text(pilot)
        await pilot.press(*"llllllllllll")
        assert "Arguments" in screen_text(pilot)
        assert "8944×1024 bf16" in line_with(pilot, "aten::addmm")
        await pilot.press(*"hhhhhhhhhhhh")
        assert bench.query_one(KernelTable).skip == 0


async def test_panes_side_by_side_show_one_selection(running: Running):
    state = replace(data.DONE, findings=(data.FINDINGS[1], data.FINDINGS[0]))
    async with running(FakeServices([state]), (120, 40)) as (bench, pilot):
        table = bench.query_one(KernelTable)
        await pilot.press("2", "end", "1")
        await pilot.pause(0.2)
        assert table.key == 1  # a finding without operations moves nothing
        await pilot.press("j")
        await pilot.pause(0.2)
        assert table.key == 0
        assert bench.selection.op == 0


async def test_the_mouse_chooses_and_scrolls(running: Running):
    async with running(FakeServices([data.DONE]), (120, 40)) as (bench, pilot):
        await pilot.click("#findings", offset=(5, 4))
        assert bench.query_one(FindingList).key == "kernel_fusion-1"
        await pilot.click("#time", offset=(5, 3))
        assert bench.active == "time"
        await pilot.click("#kernels", offset=(5, 3))
        assert (bench.active, bench.selection.op) == ("kernels", 1)
        await pilot.click("#kernels", offset=(5, 3))  # again: choose
        await until(pilot, lambda: bench.active == "tree")


# The run


async def test_new_findings_join_below_the_cursor(running: Running, fast_ticks):
    services = FakeServices([replace(data.LIVE, findings=data.FINDINGS[:2])])
    async with running(services) as (bench, pilot):
        findings = bench.query_one(FindingList)
        await pilot.press("j")
        assert findings.key == "cpu_idle-1"
        services.queue.put_nowait(replace(data.LIVE, findings=data.FINDINGS))
        await until(pilot, lambda: len(findings.source) == 3)
        assert (findings.key, findings.cursor) == ("cpu_idle-1", 1)
        assert "(1 new)" in screen_text(pilot)
        ranked = (data.FINDINGS[2], data.FINDINGS[0], data.FINDINGS[1])
        services.queue.put_nowait(replace(data.DONE, findings=ranked))
        await until(pilot, lambda: bench.run_state is not None and not bench.run_state.live)
        assert (findings.key, findings.cursor) == ("cpu_idle-1", 2)
        await pilot.press("full_stop")
        assert findings.key == "kernel_fusion-1"
        assert findings.fresh == set()


async def test_states_of_a_live_run_wait_for_the_clock(running: Running, monkeypatch: pytest.MonkeyPatch):
    services = FakeServices([data.LIVE])
    async with running(services) as (bench, pilot):
        services.queue.put_nowait(replace(data.LIVE, findings=data.FINDINGS))
        await until(pilot, services.queue.empty)
        await pilot.pause(0.05)
        assert len(bench.query_one(FindingList).source) == 1  # the tick has not come
        bench._tick()
        assert len(bench.query_one(FindingList).source) == 3


async def test_the_clock_stops_with_the_run(running: Running):
    services = FakeServices([data.LIVE])
    async with running(services) as (bench, pilot):
        assert bench._clock is not None
        assert bench._clock._active.is_set()
        services.queue.put_nowait(data.DONE)
        await until(pilot, lambda: bench.run_state is data.DONE)
        assert not bench._clock._active.is_set()


async def test_agents_count_their_seconds(running: Running):
    services = FakeServices([data.LIVE])
    async with running(services) as (bench, pilot):
        await pilot.press("5")
        assert "00:41" in line_with(pilot, "cpu-idle")
        assert "0.0 %: no op of this ca" in line_with(pilot, "norm norm_fwd")
        await pilot.press("j", "j", "j")
        await pilot.pause(0.2)
        assert "the metrics file is damaged" in line_with(pilot, "Failed")
        services.clock = data.NOW.replace(second=15)
        bench.query_one(AgentList).tick()
        await pilot.pause()
        assert "00:51" in line_with(pilot, "cpu-idle")


async def test_cancel_asks(running: Running):
    services = FakeServices([data.LIVE])
    async with running(services) as (_, pilot):
        await pilot.press("c")
        await pilot.press("n")
        await pilot.press("c")
        assert isinstance(pilot.app.screen, Confirm)
        assert not [call for call in services.calls if call.startswith("cancel")]
        await pilot.press("y")
        await until(pilot, lambda: "cancel /runs/llama" in services.calls)


async def test_quit_asks_while_a_run_goes_on_and_says_how_to_see_it_again(running: Running):
    async with running(FakeServices([data.LIVE])) as (_, pilot):
        await pilot.press("q")
        assert "tracelens-tui watch /runs/llama" in screen_text(pilot)
        await pilot.press("escape")
        await pilot.press("ctrl+c")
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert pilot.app.return_value == "The run goes on. See it again with:\n  tracelens-tui watch /runs/llama"


async def test_quit_asks_nothing_when_nothing_runs(running: Running):
    async with running(FakeServices([data.DONE])) as (_, pilot):
        await pilot.press("q")
        await pilot.pause()
        assert (pilot.app.return_value, pilot.app.is_running) == (None, False)


async def test_run_again_goes_into_a_fresh_directory(running: Running):
    services = FakeServices([data.DONE])
    async with running(services) as (bench, pilot):
        await pilot.press("r", "y")
        await until(pilot, lambda: "follow /runs/llama-2" in services.calls)
        assert "start llama_step.json.gz fresh=True" in services.calls
        assert bench.run_dir == Path("/runs/llama-2")


async def test_a_triage_that_dies_at_once_is_told(running: Running, tmp_path: Path):
    services = FakeServices([])
    log = tmp_path / "log"
    log.write_text("error: /runs/llama: cannot be written\n")
    services.started = Started(tmp_path / "no-run", 2**22 + 1, log)  # beyond the largest process id
    services.queue.put_nowait(RunState())
    async with running(services) as (bench, pilot):
        await until(pilot, lambda: bench.run_state is not None and bench.run_state.status == "failed")
        assert "/runs/llama: cannot be written" in screen_text(pilot)


async def test_marks_are_kept_and_taken_back(running: Running):
    services = FakeServices([data.DONE])
    async with running(services) as (_, pilot):
        await pilot.press("a")
        await until(pilot, lambda: services.kept == {"gemm-1": Mark(verdict="accepted")})
        assert "✓1" in line_with(pilot, "GEMM runs")
        await pilot.press("j", "x")
        await until(pilot, lambda: "cpu_idle-1" in services.kept)
        assert "x2" in line_with(pilot, "The GPU idles")
        await pilot.press("u")
        await until(pilot, lambda: services.kept["cpu_idle-1"] == Mark())
        assert "x2" not in line_with(pilot, "The GPU idles")


async def test_a_stale_run_says_for_how_long(running: Running):
    async with running(FakeServices([replace(data.LIVE, status="stale", heartbeat_age=94.0)])) as (_, pilot):
        assert "STALE 01:34" in screen_text(pilot)


async def test_a_damaged_file_is_told(running: Running):
    state = replace(data.DONE, problems=("/runs/llama/events.jsonl: 1 unreadable line",))
    async with running(FakeServices([state])) as (_, pilot):
        assert "1 unreadable line" in screen_text(pilot)


# The report


async def test_the_report_is_shown_by_section(running: Running):
    async with running(FakeServices([data.DONE])) as (bench, pilot):
        await pilot.press("7", "right_square_bracket")
        assert "section 2 of 4" in screen_text(pilot)
        assert "Total Time  0.76 ms" in screen_text(pilot)
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert bench.query_one(ReportView).section == 0
        await pilot.press("pagedown")
        assert bench.query_one(ReportView).section == 1


async def test_no_report_yet(running: Running):
    async with running(FakeServices([data.LIVE])) as (_, pilot):
        await pilot.press("7")
        assert "the report is written when the run ends" in screen_text(pilot)
        await pilot.press("e")
        assert "no report yet" in screen_text(pilot)


async def test_export_asks_before_it_replaces(running: Running, tmp_path: Path):
    services = FakeServices([data.DONE])
    target = tmp_path / "report.md"
    async with running(services) as (_, pilot):

        async def export() -> None:
            await pilot.press("e")
            await until(pilot, lambda: isinstance(pilot.app.screen, AskPath))
            pilot.app.screen.query_one(Input).value = str(target)
            await pilot.press("enter")

        await export()
        await until(pilot, target.exists)
        assert services.calls[-1] == "export report.md overwrite=False"
        await until(pilot, lambda: "written:" in screen_text(pilot))
        target.write_text("mine")
        await export()
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("n")
        await until(pilot, lambda: "not exported" in screen_text(pilot))
        assert target.read_text() == "mine"
        await export()
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.press("y")
        await until(pilot, lambda: target.read_text() == data.REPORT)
        assert services.calls[-1] == "export report.md overwrite=True"


async def test_a_folder_as_target_means_the_report_in_it(running: Running, tmp_path: Path):
    services = FakeServices([data.DONE])
    (tmp_path / "analysis.md").write_text("mine")
    async with running(services) as (_, pilot):
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, AskPath))
        pilot.app.screen.query_one(Input).value = str(tmp_path)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))


async def test_copy_takes_the_row(running: Running):
    async with running(FakeServices([data.DONE])) as (_, pilot):
        await pilot.press("2", "y")
        assert pilot.app.clipboard.startswith("aten::addmm\t300.00\t39.5")


async def test_no_color_draws_in_the_terminals_own(running: Running, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with running(FakeServices([data.LIVE]), (120, 40)) as (_, pilot):
        await pilot.press("5")
        await pilot.pause(0.2)
        segments = [segment for strip in pilot.app.screen._compositor.render_strips() for segment in strip]
        styles = [style for _, style, _ in segments if style is not None]
        assert {color.name for style in styles for color in (style.color, style.bgcolor) if color} <= {"default"}
        assert any(style.reverse for style in styles)  # the cursor
        assert any(style.bold for style in styles)
        assert "! FAILED" in screen_text(pilot)  # a word, not a colour


async def test_ascii_mode_draws_no_other_character(running: Running):
    async with running(FakeServices([data.LIVE]), (120, 40), ascii=True) as (_, pilot):
        for key in "123456":
            await pilot.press(key)
            await pilot.pause(0.2)
            assert screen_text(pilot).isascii()
