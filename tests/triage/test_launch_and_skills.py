"""A triage as a process of its own, and the skill files."""

import os
import time
from pathlib import Path

import pytest

from tracelens_tui.run.follow import snapshot
from tracelens_tui.triage.agents import AGENTS, agent_of, category_name
from tracelens_tui.triage.launch import command, log_of, start_detached
from tracelens_tui.triage.request import TriageRequest
from tracelens_tui.triage.skills import all_skills, load_skill, read_skill


def test_a_detached_triage_runs_in_its_own_session(trace, tmp_path):
    run = tmp_path / "run"
    request = TriageRequest(trace, run_dir=run, use_cache=False)
    pid = start_detached(request)
    assert os.getsid(pid) == pid
    deadline = time.monotonic() + 60
    while not (run / "events.jsonl").exists() or snapshot(run).live:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert snapshot(run).status == "finished"
    while _exists(pid):  # reaped, not left as a zombie
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert str(run / "analysis.md") in log_of(request).read_text()


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_command_line_carries_every_option():
    request = TriageRequest(
        Path("-odd.json"), run_dir=Path("r"), platform="MI300X", device=3, resume=True, use_cache=False
    )
    assert command(request)[1:] == [
        "-m", "tracelens_tui", "triage", "--run-dir=r", "--platform=MI300X", "--device=3", "--resume", "--no-cache",
        "--", "-odd.json",
    ]  # fmt: skip


def test_every_agent_has_a_skill():
    skills = {skill.name: skill for skill in all_skills()}
    assert {agent.id for agent in AGENTS} <= set(skills)
    for skill in skills.values():
        assert skill.description
        assert skill.body.startswith("# Role")
        assert "[[all." in skill.body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Role\n", "no front matter"),
        ("---\nname: x\n---\nbody\n", "front matter has"),
        ("---\nname: y\ndescription: d\n---\nbody\n", "its directory's x"),
    ],
)
def test_a_wrong_skill_file_is_told(tmp_path, text, message):
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_skill(folder / "SKILL.md")


def test_a_skill_is_its_front_matter_and_its_prompt():
    skill = load_skill("gemm")
    assert skill.description.endswith(".")
    assert "---" not in skill.body.splitlines()


@pytest.mark.parametrize(
    ("category", "agent"),
    [
        ("gemm", "gemm"), ("groupedgemm_bwd", "gemm"), ("sdpa_fwd", "attention"), ("inferenceattention", "attention"),
        ("elementwise", "elementwise"), ("cpu_idle", "cpu-idle"),
        ("norm_fwd", "norm"), ("conv_bwd", "convolution"), ("moe_fused", "moe"), ("reduce", "reduce"),
        ("triton", "triton"), ("moe_aux", "generic"),
    ],
)  # fmt: skip
def test_the_agent_of_a_category(category, agent):
    assert agent_of(category).id == agent


def test_category_names():
    assert category_name("SDPA_fwd") == "sdpa_fwd"
    assert category_name("MoE comm/compute") == "moe_comm_compute"
    assert category_name("") == "other"
