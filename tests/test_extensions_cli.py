"""Extensions from the command line to the tables, the run directory and the app."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from tests.app.test_processes import lay_run
from tests.triage.making import MI300X, Tracing
from tracelens_tui.app import preparing, starting
from tracelens_tui.app.options import AppOptions
from tracelens_tui.app.services import Services
from tracelens_tui.cli import main
from tracelens_tui.errors import UserError
from tracelens_tui.triage.launch import command
from tracelens_tui.triage.request import TriageRequest

SOURCE = """
from tracelens_tui.perf.types import OpCost, OpModel

def cost(args):
    return OpCost(1_000_000, 2_650_000_000, 2_650_000_000, "vector", "fp32", {"sort": "of"})

MODELS = [OpModel(("mine::op",), "Mine", "MyOps", cost)]
"""


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """One call of an op that only the extension knows: 5.3 GB in 2 ms on a GPU of 5.3 TB/s is half of the roof."""
    made = Tracing(MI300X)
    made.op("mine::op", [[64, 64]], "my_kernel", 2000)
    return made.write(tmp_path / "own.json")


def test_tables(trace, extension, tmp_path, capsys):
    with_it, without = tmp_path / "with", tmp_path / "without"
    assert main(["tables", str(trace), "--no-cache", f"--out={with_it}", f"--extension={extension}"]) == 0
    assert main(["tables", str(trace), "--no-cache", f"--out={without}"]) == 0

    def row(folder):
        with (folder / "unified_perf_summary.csv").open(newline="") as file:
            return next(csv.DictReader(file))

    own, bare = row(with_it), row(without)
    assert (own["op category"], own["Pct Roofline_mean"], own["perf_params"]) == ("MyOps", "50.0", '{"sort":"of"}')
    assert (bare["op category"], bare["Pct Roofline_mean"]) == ("other", "")
    with (with_it / "ops_summary_by_category.csv").open(newline="") as file:
        assert [row["op category"] for row in csv.DictReader(file)] == ["MyOps"]


def test_info_counts_what_an_extension_models(trace, extension, capsys):
    assert main(["info", "--json", str(trace), "--no-cache", f"--extension={extension}"]) == 0
    assert json.loads(capsys.readouterr().out)["modelled_percent"] == 100
    assert main(["info", "--json", str(trace), "--no-cache"]) == 0
    assert json.loads(capsys.readouterr().out)["modelled_percent"] == 0


def test_a_wrong_extension_is_a_fault_of_the_input(trace, extension, capsys):
    extension.write_text("MODELS = nonsense")
    assert main(["info", str(trace), "--no-cache", f"--extension={extension}"]) == 2
    told = capsys.readouterr().err
    assert told == f"error: {extension}: line 1: NameError: name 'nonsense' is not defined; mend the extension\n"


def test_a_run_keeps_which_extensions_it_was_made_with(trace, extension, tmp_path, capsys):
    run = ["triage", str(trace), "--no-cache", f"--run-dir={tmp_path / 'run'}"]
    assert main([*run, f"--extension={extension}"]) == 0
    made = json.loads((tmp_path / "run/run.json").read_text())["options"]
    assert made["extensions"] == {"files": [hashlib.sha256(SOURCE.encode()).hexdigest()]}
    assert main([*run, "--resume", f"--extension={extension}"]) == 0
    capsys.readouterr()
    assert main([*run, "--resume"]) == 2
    assert "cannot be resumed: extensions was" in capsys.readouterr().err
    extension.write_text(SOURCE + "\n")
    assert main([*run, "--resume", f"--extension={extension}"]) == 2


def test_a_run_without_extensions_says_nothing_of_them(trace, tmp_path, capsys):
    assert main(["triage", str(trace), "--no-cache", f"--run-dir={tmp_path / 'run'}"]) == 0
    assert "extensions" not in json.loads((tmp_path / "run/run.json").read_text())["options"]


def test_every_process_is_given_the_files(tmp_path, monkeypatch):
    files = (Path("a b.py"), Path("-c.py"))
    child = preparing._command(Path("t.json"), AppOptions(extensions=files), tmp_path)
    assert child[-2:] == ["--extension=a b.py", "--extension=-c.py"]
    triage = command(TriageRequest(Path("t.json"), extensions=files))
    assert triage[-4:-2] == ["--extension=a b.py", "--extension=-c.py"]
    requests = []
    monkeypatch.setattr(starting, "start_detached", lambda request: requests.append(request) or 1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text("{}")
    (tmp_path / "mine.py").write_text(SOURCE)
    starting.start(tmp_path / "t.json", AppOptions(extensions=(tmp_path / "mine.py",)), fresh=False)
    assert requests[0].extensions == (tmp_path / "mine.py",)


def test_the_app_opens_a_run_only_with_its_extensions(tmp_path, extension):
    (tmp_path / "t.json").write_text("{}")
    recorded = {"files": [hashlib.sha256(SOURCE.encode()).hexdigest()]}
    options = {"platform": None, "arch": None, "device": None}
    lay_run(tmp_path / "run", tmp_path / "t.json", options=options | {"extensions": recorded})
    lay_run(tmp_path / "plain", tmp_path / "t.json", options=options)
    services, own = Services(), AppOptions(extensions=(extension,))
    assert services.options_of(tmp_path / "run", own).extensions == (extension,)
    assert services.options_of(tmp_path / "plain", AppOptions()).extensions == ()
    for place, given in (("run", AppOptions()), ("plain", own)):
        with pytest.raises(UserError, match=f"{place} was made with other extensions: open it with `--extension FILE`"):
            services.options_of(tmp_path / place, given)
