"""Whatever is changed in a finished run, ``validate`` names the file: by its hash, and by what it contradicts."""

import random
from pathlib import Path

import pytest

from tests.triage import mutating
from tests.triage.making import mixed
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.orchestrator import TriageRequest, run_triage
from tracelens_tui.triage.recheck import validate


def triaged(trace: Path, folder: Path) -> RunDir:
    outcome = run_triage(TriageRequest(trace=trace, run_dir=folder / "run", use_cache=False))
    assert outcome.exit_code == 0, outcome.message
    return RunDir(folder / "run")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    folder = tmp_path_factory.mktemp("small")
    return triaged(mixed(folder / "t.json"), folder)


def missed(run: RunDir, changes: int, seed: int, *, recorded: bool) -> list[str]:
    """What ``validate`` does not tell of so many changes; ``recorded``: with the new hashes in ``run.json``."""
    rng = random.Random(seed)
    files = mutating.checked_files(run) if recorded else mutating.every_file(run)
    out: list[str] = []
    done = 0
    while done < changes:
        name = rng.choice(files)
        path = run.path / name
        text = path.read_bytes().decode()
        change = mutating.change_of(text, rng)
        if change is None:
            continue
        done += 1
        mutating.write(path, change.text)
        if recorded:
            RunDir(run.path).finish(name)
        problems = validate(run.path)
        if not any(name in problem for problem in problems):
            out.append(f"{name}, {change.what}: {problems[:1]}")
        mutating.write(path, text)
        if recorded:
            RunDir(run.path).finish(name)
    return out


def test_a_run_as_it_was_made_is_valid(small: RunDir) -> None:
    assert validate(small.path) == []


@pytest.mark.parametrize("recorded", [False, True], ids=["hashes as they were", "hashes made again"])
def test_any_change_is_told(small: RunDir, *, recorded: bool) -> None:
    assert missed(small, 60, 1, recorded=recorded) == []


@pytest.mark.nightly
@pytest.mark.parametrize("recorded", [False, True], ids=["hashes as they were", "hashes made again"])
@pytest.mark.parametrize("name", ["mi300_qwen", "mi300_resnet_ckpt"])
def test_any_of_five_hundred_changes_is_told(shared: Path, tmp_path: Path, name: str, *, recorded: bool) -> None:
    run = triaged(shared / f"traces/{name}.json.gz", tmp_path)
    assert missed(run, 500, 2, recorded=recorded) == []


def test_a_table_that_the_metrics_do_not_follow_from_is_told_by_line(small: RunDir) -> None:
    path = small.path / "category_data/gemm_ops.csv"
    text = path.read_text()
    path.write_text(text.replace("kernel_ns_sum", "kernel_ns_summ"))
    assert any("gemm_ops.csv: line 2, column derivation" in problem for problem in validate(small.path))
    path.write_text(text)
    assert validate(small.path) == []
