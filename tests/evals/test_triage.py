"""The rules triage of every scenario finds what was planted, claims what arithmetic allows, and nothing else."""

import csv
import json
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tracelens_tui.errors import UserError
from tracelens_tui.evals.planted import Planted, Problem
from tracelens_tui.evals.scenarios import SCENARIOS, scenario
from tracelens_tui.report.validate import validate_run
from tracelens_tui.triage.agents import AGENTS
from tracelens_tui.triage.orchestrator import run_triage
from tracelens_tui.triage.request import TriageRequest

OP = [[24576, 8192], [8192, 28672]]
MID = 0.875  # of the high estimate


@dataclass(frozen=True)
class Run:
    name: str
    planted: Planted
    directory: Path
    exit_code: int

    @cached_property
    def findings(self) -> list[dict]:
        return json.loads((self.directory / "analysis.json").read_text())["findings"]

    @cached_property
    def report(self) -> str:
        return (self.directory / "analysis.md").read_text()

    def agents(self) -> set[str]:
        """Sub-agents with a finding that claims something."""
        files = [json.loads(path.read_text()) for path in self.directory.glob("*_findings/*_findings.json")]
        return {file["agent"] for file in files for found in file["findings"] if found["impact"]["mid"] is not None}

    def operations(self, prefix: str) -> list[dict]:
        """Operations of all findings of a category."""
        return [op for found in self.findings if found["category"].startswith(prefix) for op in found["operations"]]

    def row(self, dims: str) -> str:
        """The row of the report's tables with these arguments."""
        return next(line for line in self.report.splitlines() if line.startswith("| aten::") and dims in line)


def _triaged(name: str, folder: Path) -> Run:
    planted = SCENARIOS[name].into(folder)
    outcome = run_triage(TriageRequest(planted.path, run_dir=folder / "run", use_cache=False))
    return Run(name, planted, outcome.run_dir, outcome.exit_code)


@pytest.fixture(scope="module", params=[name for name in SCENARIOS if name != "no-gpu"])
def run(request, tmp_path_factory) -> Run:
    return _triaged(request.param, tmp_path_factory.mktemp("triage"))


def test_every_scenario_ends_with_a_valid_report(run):
    assert run.exit_code == 0
    assert validate_run(run.directory) == []


def test_the_right_agents_speak(run):
    known = {agent.id for agent in AGENTS}
    assert {agent for agent in scenario(run.name).finds if agent in known} <= run.agents()
    assert run.agents().isdisjoint(scenario(run.name).silent)


def test_claims_stay_within_the_window(run):
    claims = [found["impact"]["mid"] for found in run.findings if found["impact"]["mid"] is not None]
    assert all(claim >= 0.5 for claim in claims)
    # what modelled ops need at their roof cannot be won
    needed = sum(truth.roof_ns * truth.calls for truth in run.planted.ops if truth.op == "aten::mm")
    assert sum(claims) <= 100 * (1 - needed / run.planted.split.window) + 1e-6


def test_findings_are_ranked_by_their_middle_estimate(run):
    mids = [found["impact"]["mid"] or 0.0 for found in run.findings]
    assert mids == sorted(mids, reverse=True)
    assert [found["rank"] for found in run.findings] == list(range(1, len(mids) + 1))


def test_a_trace_without_a_gpu_is_refused_in_one_sentence(tmp_path):
    planted = scenario("no-gpu").into(tmp_path)
    with pytest.raises(UserError, match="no GPU events"):
        run_triage(TriageRequest(planted.path, run_dir=tmp_path / "run", use_cache=False))


@pytest.mark.parametrize("run", ["article", "article-varied", "article-spread"], indirect=True)
def test_article_reports_its_gemms(run):
    assert (
        "GEMM is the largest kernel category with 45,700.00 ms, 80.6 % of compute time, in 18 distinct ops"
        in run.report
    )
    assert "| 1 | GEMM | 45700.00 | 80.6% | 18 | <!--" in run.report  # consumers read the cell as a number
    gemms = [found for found in run.findings if found["category"] == "gemm"]
    assert {(found["bound"], found["library"]) for found in gemms} == {("compute", "Tensile")}
    operations = run.operations("gemm")
    assert sum(op["time_ms"] for op in operations) == pytest.approx(45_700, abs=1e-6)
    op = next(op for op in operations if op["dims"] == OP)
    assert (op["name"], op["dtype"], op["count"]) == ("aten::mm", "bf16", 320)
    assert op["time_ms"] == pytest.approx(7607.463, abs=1e-9)
    # 2 x 24576 x 28672 x 8192 FLOP x 320 / 7607.463 ms / 708 TFLOPS
    assert op["efficiency_percent"] == pytest.approx(68.59082, abs=1e-5)
    row = run.row("(24576,8192) bf16<br>(8192,28672) bf16")
    assert "68.6% of 708 TFLOPS" in row
    assert ("70.6%" in row) == (run.name == "article-spread")


def _claims(run: Run, planted: Problem) -> float:
    """The middle estimate that the planted problem alone allows, in % of the window."""
    assert planted.efficiency is not None
    return 100 * MID * planted.time_ns * (1 - planted.efficiency) / run.planted.split.window


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_the_head_is_found(run):
    head = run.planted.problems[0]
    found = next(f for f in run.findings if any("32003" in str(op["dims"]) for op in f["operations"]))
    assert found["category"] == "gemm"
    assert len(found["operations"]) == 3
    assert all("32003" in str(op["dims"]) for op in found["operations"])
    assert sum(op["time_ms"] for op in found["operations"]) == pytest.approx(head.time_ns / 1e6)
    assert found["impact"]["mid"] == pytest.approx(_claims(run, head), rel=1e-6)
    assert "32,064" in found["action"]  # the next multiple of 64


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_attention_is_found(run):
    forward = run.planted.problems[1]
    found = next(f for f in run.findings if f["category"] == "sdpa_fwd")
    (op,) = found["operations"]
    assert (op["name"], op["count"]) == (forward.op, 16)
    assert op["efficiency_percent"] == pytest.approx(17.0, abs=1e-4)
    assert found["impact"]["mid"] == pytest.approx(_claims(run, forward), rel=1e-6)
    assert run.operations("sdpa_bwd")


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_the_norm_chain_is_found(run):
    wide = [[1, 4096, 4096], [1, 4096, 4096]]
    found = [f for f in run.findings if f["category"] == "elementwise"]
    operations = found[0]["operations"]
    assert {"aten::mul", "aten::div"} <= {op["name"] for op in operations}
    product = next(op for op in operations if op["dims"] == wide)
    assert product["count"] == 66
    assert product["efficiency_percent"] == pytest.approx(26.0, abs=1e-3)
    chain = run.planted.problems[3]
    assert sum(f["impact"]["mid"] for f in found) >= _claims(run, chain)


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_the_idle_gpu_is_found(run):
    found = next(f for f in run.findings if f["tier"] == "system")
    assert found["category"] == "cpu_idle"
    idle = 100 * run.planted.split.idle / run.planted.split.window
    assert 100 * run.planted.facts["longest_gap_ns"] / run.planted.split.window <= found["impact"]["high"] <= idle
    assert found["impact"]["low"] == 0  # stacks were recorded: the idle time is inflated
    assert f"{idle:.1f} %" in run.report


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_the_read_of_the_loss_is_to_be_removed(run):
    found = next(f for f in run.findings if f["tier"] == "system")
    assert found["title"] == "Remove the host's waits for the device"
    assert "train.py(97): log_metrics" in found["insight"]
    assert "Keep scalars on the device" in found["action"]
    assert "follow a wait under `hipMemcpyWithStream`" in run.report


@pytest.mark.parametrize("run", ["llama-step"], indirect=True)
def test_llama_step_tensor_lists_keep_their_structure(run):
    """Adam's foreach ops work on lists of 30 tensors; the first 16 of each list are shown, the others counted."""
    divide = next(op for op in run.operations("multi_tensor_apply") if op["name"] == "aten::_foreach_addcdiv_")
    assert [len(tensors) for tensors in divide["dims"]] == [16, 16, 16]
    assert divide["dims"][0][:3] == [[16385536], [16385536], [512]]
    assert divide["dims_omitted"] == 3 * 14
    assert all("dims_omitted" not in op for op in run.operations("gemm"))


@pytest.mark.parametrize("run", ["hostile-names"], indirect=True)
def test_hostile_names_stay_data(run):
    assert all(line.isprintable() for line in run.report.splitlines())
    assert not any(
        text in run.report for text in ("<!-- impact-begin low=99", "k<a>", "[/b]", "{{ 7", "http://example")
    )
    assert len(run.operations("other")) > 10
    for path in (run.directory / "perf_report_csvs").iterdir():
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if any(unicodedata.category(one) == "Cc" for one in cell)]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
