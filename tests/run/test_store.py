"""The run directory: layout, whole files, finished files, moving, resuming."""

import json
import os
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.run.making import finding, findings_file, info
from tracelens_tui.errors import UserError
from tracelens_tui.run.category_files import OperationEfficiency, OperationMetrics
from tracelens_tui.run.findings import FindingsFile, Impact
from tracelens_tui.run.manifest import ModelInfo, RunInfo
from tracelens_tui.run.store import FOLDERS, RUN, RunDir, default_run_dir, read_json
from tracelens_tui.run.store import findings_file as findings_path


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(tmp_path / "run", info())


def test_create_makes_the_layout(run: RunDir) -> None:
    assert {path.name for path in run.path.iterdir()} == {*FOLDERS, RUN}
    assert RunDir(run.path).info == info()


def test_create_accepts_the_lock_of_its_creator(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("x")
    assert RunDir.create(tmp_path, info()).info.run_id == "r1"


def test_create_refuses_a_run_and_names_resume(run: RunDir) -> None:
    with pytest.raises(UserError, match=r"holds a run already: continue it with --resume"):
        RunDir.create(run.path, info())


def test_create_refuses_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"is not empty \(thesis\.tex\)"):
        RunDir.create(tmp_path, info())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_create_below_a_file_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made"):
        RunDir.create(tmp_path / "file" / "run", info())


def test_json_comes_back_as_it_was_written(run: RunDir) -> None:
    written = findings_file("gemm", finding("gemm-1"))
    run.write_json("category_findings/gemm_findings.json", written)
    assert run.read_json("category_findings/gemm_findings.json", FindingsFile) == written
    assert run.read_findings() == {"category_findings/gemm_findings.json": written}


def test_columns_of_tracelens_keep_their_names(run: RunDir) -> None:
    operation = OperationMetrics(
        row=0, name="aten::mm", count=1, time_ms=1.0, percent_of_category=100.0, percent_of_total=1.0,
        efficiency=OperationEfficiency(), args="—", input_dims="[[2, 3]]", input_type='["float"]',
    )  # fmt: skip
    run.write_json("agents/x.json", operation)
    assert json.loads((run.path / "agents/x.json").read_text())["Input Dims"] == "[[2, 3]]"
    assert run.read_json("agents/x.json", OperationMetrics) == operation


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Invalid JSON"),
        ("[]", "valid dictionary|object"),
        ('{"model": 3}', "model: Input should be a valid string"),
        ('{"modell": "x"}', "modell: Extra inputs are not permitted"),
        ('{"schema_version": 99}', "schema_version is 99; this program reads 1"),
        ("\udcff", "Invalid JSON"),
    ],
)
def test_bad_content_names_file_and_place(run: RunDir, content: str, message: str) -> None:
    path = run.path / "metadata/model_info.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=message) as caught:
        run.read_json("metadata/model_info.json", ModelInfo)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_a_user_error(run: RunDir) -> None:
    with pytest.raises(UserError, match="the file is missing"):
        run.read_json("metadata/model_info.json", ModelInfo)


def test_numbers_that_are_none_cannot_be_written() -> None:
    with pytest.raises(ValidationError):
        Impact(low=float("nan"), mid=1.0, high=float("inf"))


@pytest.mark.parametrize("relative", ["/etc/passwd", "../other/run.json", "agents/../../x"])
def test_paths_stay_inside(run: RunDir, relative: str) -> None:
    with pytest.raises(UserError, match="not a path inside"):
        run.write_text(relative, "x")


def test_finished_means_recorded_and_unchanged(run: RunDir) -> None:
    name = "agents/gemm/evidence.json"
    run.write_text(name, "{}")
    assert not run.finished(name)
    run.finish(name)
    again = RunDir(run.path)
    assert again.finished(name)
    assert again.info.files[name] == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"  # sha256sum
    run.write_text(name, "{ }")
    assert not again.finished(name)
    run.path.joinpath(name).unlink()
    assert not again.finished(name)


def test_forget_takes_a_file_off_the_list(run: RunDir) -> None:
    for name in ("agents/a", "agents/b"):
        run.write_text(name, name)
    run.finish("agents/a", "agents/b")
    run.forget("agents/a", "agents/unknown")
    assert set(RunDir(run.path).info.files) == {"agents/b"}


def test_threads_lose_no_record(run: RunDir) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def finish(number: int) -> None:
        run.write_text(f"agents/{number}", str(number))
        run.finish(f"agents/{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(finish, range(40)))
    assert len(RunDir(run.path).info.files) == 40


def test_a_moved_run_is_still_the_run_and_finds_its_trace(tmp_path: Path) -> None:
    old = tmp_path / "old"
    run = RunDir.create(old / "runs" / "run", info(trace=_trace(old)))
    (old / "a.json").touch()
    assert run.trace_path() == old / "a.json"
    run.write_text("agents/x", "x")
    run.finish("agents/x")
    shutil.move(old, tmp_path / "new")
    moved = RunDir(tmp_path / "new" / "runs" / "run")
    assert moved.finished("agents/x")
    assert moved.trace_path().resolve() == tmp_path / "new" / "a.json"
    (tmp_path / "new" / "a.json").unlink()
    with pytest.raises(UserError, match="is not there any more"):
        moved.trace_path()


def _trace(folder: Path) -> dict[str, object]:
    return {"path": str(folder / "a.json"), "relative": "../../a.json", "fingerprint": "f" * 16, "size": 10}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"platform": "H100"}, "its platform was MI300X, now it is H100"),
        ({"options": {"device": 1}}, "device was 0, now it is 1; choose"),
        ({"versions": {"tracelens-tui": "2"}}, "tracelens-tui was 1, now it is 2"),
        ({"analyst": "claude"}, "its analyst was rules"),
    ],
)
def test_resume_needs_the_same_run(run: RunDir, change: dict[str, object], what: str) -> None:
    run.check_resumable(info(run_id="another"))
    with pytest.raises(UserError, match=what):
        run.check_resumable(info(**change))


def test_resume_needs_the_same_trace_wherever_it_lies(run: RunDir) -> None:
    moved = {"path": "/elsewhere/a.json.gz", "relative": "x", "fingerprint": "f" * 16, "size": 10}
    run.check_resumable(info(trace=moved))
    with pytest.raises(UserError, match="made from another trace"):
        run.check_resumable(info(trace=moved | {"fingerprint": "0" * 16}))


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("mi300 sd35.pt.trace.json.gz", "mi300_sd35-01234567"),
        ("../évil\n$(rm).json", "vil_rm-01234567"),
        (".json", "trace-01234567"),
        ("profile.zst", "profile-01234567"),
        ("a" * 300, "a" * 80 + "-01234567"),
    ],
)
def test_default_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, folder: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_run_dir(Path(name), "0123456789abcdef") == tmp_path / "tracelens_runs" / folder


def test_default_place_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    place = default_run_dir(Path("a.json"), "0123456789abcdef")
    assert place == Path(os.environ["XDG_STATE_HOME"]) / "tracelens-tui" / "runs" / "a-01234567"


def test_folders_of_findings() -> None:
    assert findings_path("gemm", "compute") == "category_findings/gemm_findings.json"
    assert findings_path("kernel_fusion", "fusion") == "system_findings/kernel_fusion_findings.json"
    assert findings_path("cpu_idle", "system") == "system_findings/cpu_idle_findings.json"


def test_run_ids_are_safe_names(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(info().model_dump_json().replace('"r1"', '"../r1"'))
    with pytest.raises(UserError, match="run_id"):
        read_json(path, RunInfo)


def test_a_folder_of_runs_is_told_from_a_run(run: RunDir, tmp_path: Path) -> None:
    run.check_run()
    RunDir(tmp_path / "new").path.mkdir()
    RunDir(tmp_path / "new").check_run()  # empty: a run may begin in it
    with pytest.raises(UserError, match=f"is no run directory, but holds some: {run.path.name}"):
        RunDir(run.path.parent).check_run()
    (tmp_path / "new" / "notes.txt").write_text("")
    with pytest.raises(UserError, match="is no run directory: give the one"):
        RunDir(tmp_path / "new").check_run()
