"""What the detail pane says."""

import polars as pl

from tests.app import data
from tracelens_tui.analysis.gap_causes import CAUSES
from tracelens_tui.app.agent_rows import agent_source
from tracelens_tui.app.details import Paragraph, brief, event_details, finding_details, full, op_details
from tracelens_tui.app.finding_list import empty_words
from tracelens_tui.app.time_rows import time_source
from tracelens_tui.run.state import RunState


def lines(paragraphs: list[Paragraph], width: int = 100) -> list[str]:
    return ["".join(text for text, _ in line) for line in full(paragraphs, width)]


def test_a_finding_has_its_numbers_from_the_evidence():
    shown = lines(finding_details(data.FINDINGS[0]))
    assert shown[0] == "GEMM runs at half of its roof"
    assert shown[1] == "Insight  It takes 39.5 % of the window at 48.6 % of the roof."
    assert shown[3] == "Impact   17.8 % of the window (15.3 to 20.3 %) · confidence high · compute · gemm (rules)"
    wide = lines(finding_details(data.FINDINGS[0]), 200)
    assert wide[6] == (
        "Op       aten::addmm (8944, 1024) bf16, (1024, 2816) bf16 · 0.300 ms (39.5 %) in 2 calls, 48.6 % of the roof"
    )
    assert shown[-1] == "Evidence efficiency: 48.6 % · b.json › ops[0]"


def test_prose_with_an_unknown_reference_stays_as_it_is():
    broken = data.FINDINGS[0].model_copy(update={"insight": "It takes [[nowhere]]."})
    assert "Insight  It takes [[nowhere]]." in lines(finding_details(broken))


def test_brief_is_two_lines():
    shown = ["".join(text for text, _ in line) for line in brief(finding_details(data.FINDINGS[0]), 30)]
    assert shown == ["Insight  It takes 39.5 % of t…", "Action   Pad the inner dimens…"]


def test_an_op_says_why_it_has_its_roof():
    assert lines(op_details(data.make_analysis(), 0), 200)[1] == (
        "Roof     150 µs per call, at least 72.9 µs by compute (matrix_bf16): 48.6 % of the roof, mean of calls 50.6 %"
    )
    assert "no perf model covers this op" in lines(op_details(data.make_analysis(), 1))[1]
    unknown = data.make_analysis(platform=None, platform_note="GPU XY is not known")
    assert lines(op_details(unknown, 1))[1] == "Roof     40.0 µs per call; GPU XY is not known"


def test_an_event_is_told_from_the_window():
    shown = lines(event_details(data.make_analysis(), 7))
    assert shown[0] == f"Event    {data.HOSTILE_SHOWN}"
    assert shown[1] == (
        "Facts    kernel · starts 120 µs into the window · takes 40.0 µs · GPU 2 stream 7 · correlation 12"
    )
    assert shown[-1] == "Inside   hipLaunchKernel › aten::relu › model.py(10): forward › ProfilerStep#2"


def test_time_rows_add_up_to_the_window():
    source = time_source(data.make_analysis())
    by_label = {row.label: row for row in source.items}
    parts = ("compute", "exposed comm", "exposed copies", "idle")
    assert sum(by_label[label].ns or 0 for label in parts) == by_label["GPU 2: window"].ns == 760_000
    # 300, 100, 60 and 40 µs, by hand from the kernels
    assert [(label, by_label[label].ns) for label in ("GEMM", "comm", "memcpy", "elementwise")] == [
        ("GEMM", 300_000), ("comm", 100_000), ("memcpy", 60_000), ("elementwise", 40_000),
    ]  # fmt: skip
    assert by_label["host work"].event == 10
    assert by_label["! unlinked 1"].detail == "1 GPU event has no launch. It counts in the time split."


def test_a_step_tells_its_parts_and_leads_to_its_mark():
    [step] = [row for row in time_source(data.make_analysis()).items if row.label == "step 2"]
    assert (step.ns, step.share, step.event) == (760_000, 1, 0)
    assert step.detail == (
        "compute 340 µs, exposed comm 100 µs, exposed copies 60.0 µs, idle 260 µs; 4 kernels; host 1.00 ms"
    )


def test_of_many_steps_the_longest_stand_in_their_order():
    steps = data.make_analysis().steps
    many = pl.concat(
        steps.with_columns(step=pl.lit(n, pl.Int64), start_ns=pl.lit(n, pl.Int64), window_ns=pl.lit(10 * (n % 21)))
        for n in range(1, 22)
    )
    rows = time_source(data.make_analysis(steps=many)).items
    assert [row.label for row in rows if "step" in row.label] == [
        "Longest steps, 20 of 21", *(f"step {n}" for n in range(1, 21)),
    ]  # fmt: skip
    none = steps.with_columns(window_ns=pl.lit(None, pl.Int64))
    assert not [row for row in time_source(data.make_analysis(steps=none)).items if "tep" in row.label]


def test_a_gap_tells_when_what_follows_it_was_launched():
    gaps = data.make_analysis().gaps
    shown = [row for row in time_source(data.make_analysis()).items if "idle before" in row.detail]
    assert [row.detail for row in shown] == [
        f"idle before {data.GEMM}, which starts 80.0 µs after its launch; queue empty; host in aten::addmm",
        "idle before CopyDeviceToHost, which starts 2.00 µs after its launch; queue empty",
    ]
    early = gaps.with_columns(launch_lag_ns=pl.lit(-500), queue_empty=pl.lit(value=False))
    unknown = gaps.with_columns(launch_lag_ns=pl.lit(None, pl.Int64), queue_empty=pl.lit(None, pl.Boolean))
    for changed, words in (
        (early, "starts 500 ns before the return of its launch; queue not empty"),
        (unknown, "; its launch is not known"),
    ):
        rows = time_source(data.make_analysis(gaps=changed)).items
        assert all(words in row.detail for row in rows if "idle before" in row.detail)


def test_every_cause_of_a_gap_has_a_name():
    gaps = data.make_analysis().gaps.head(1)
    for cause in CAUSES:
        rows = time_source(data.make_analysis(gaps=gaps.with_columns(cause=pl.lit(cause)))).items
        assert [row.label for row in rows if "idle before" in row.detail] != [cause]


def test_agents_tell_rule_number_time_and_failure():
    source = agent_source(data.AGENTS, lambda: data.NOW)
    rows = [[text for text, _ in source.cells(index)] for index in range(len(source))]
    assert rows[0] == ["✓ done", "0.4 s", "gemm", "1/1", "1", "60.0 %: share of GPU time ≥ 1 %"]
    assert rows[1] == ["- skipped", "-", "norm norm_fwd", "-", "-", "0.0 %: no op of this category"]
    assert rows[2] == ["▸ running", "00:41", "cpu-idle", "2/5", "0", "looking at 2 gaps"]
    assert rows[3][0::5] == ["! FAILED", "the metrics file is damaged"]
    assert rows[4][5] == "2: 2 candidates"


def test_empty_states_are_honest():
    assert empty_words(RunState()) == ("the triage is starting…",)
    assert empty_words(data.LIVE)[0] == "agents are working (2/4)…"
    assert empty_words(RunState(status="running"))[0] == "the triage is at work: start…"
    assert empty_words(RunState(status="finished"))[0].startswith("no findings")
    assert empty_words(RunState(status="failed", reason="disk full")) == (
        "the run failed without findings", "disk full", "r runs the triage again",
    )  # fmt: skip
