"""Every scenario: valid, deterministic, as it says."""

import gzip

import pytest

from tests.evals import reading
from tracelens_tui.errors import UserError
from tracelens_tui.evals.scenarios import SCENARIOS, scenario
from tracelens_tui.evals.units import HOSTILE_NAMES

SMALL = [name for name in SCENARIOS if not name.startswith(("article", "llama"))]


@pytest.mark.parametrize("name", SMALL)
def test_small_scenarios_are_valid_and_deterministic(name, tmp_path):
    (tmp_path / "again").mkdir()
    planted, again = scenario(name).into(tmp_path), scenario(name).into(tmp_path / "again")
    assert planted.path.name == f"{name}.json.gz"
    assert planted.path.read_bytes() == again.path.read_bytes()
    document = reading.load(planted.path)
    assert sum("ph" in event for event in document["traceEvents"]) == planted.events
    every = [reading.span(event) for event in reading.events_of(document, *reading.GPU)]
    assert planted.split.busy == reading.covered(every)
    assert {found.kind for found in planted.problems} <= set(scenario(name).finds)


def test_unknown_scenario_names_the_known_ones():
    with pytest.raises(UserError, match="llama-step"):
        scenario("nothing")


def test_misaligned_gemm_is_slower_than_its_sibling(tmp_path):
    planted = scenario("gemm-misaligned").into(tmp_path)
    assert planted.problems[0].dims == "[[4097, 4097], [4097, 4097]]"
    assert planted.problems[0].efficiency == pytest.approx(0.529, abs=1e-5)
    assert planted.find("aten::mm", "[[4096, 4096], [4096, 4096]]").efficiency == pytest.approx(0.79, abs=1e-5)


def test_launch_bound_kernels_start_as_soon_as_they_are_launched(tmp_path):
    planted = scenario("launch-bound").into(tmp_path)
    assert planted.split.idle / planted.split.window > 0.8
    document = reading.load(planted.path)
    launches = {e["args"]["correlation"]: e for e in reading.events_of(document, "cuda_runtime")}
    waits = [
        reading.span(event)[0] - reading.span(launches[event["args"]["correlation"]])[1]
        for event in reading.events_of(document, "kernel")
    ]
    assert max(waits) < 10_000


def test_what_is_missing_is_missing(tmp_path):
    documents = {name: reading.load(scenario(name).into(tmp_path).path) for name in ("no-shapes", "gpu-only", "no-gpu")}
    assert not any("Input Dims" in e["args"] for e in reading.events_of(documents["no-shapes"], "cpu_op"))
    assert "record_shapes" not in documents["no-shapes"]
    assert reading.events_of(documents["gpu-only"], "cpu_op", "python_function", "user_annotation") == []
    assert len(reading.events_of(documents["gpu-only"], "kernel")) == 20
    assert reading.events_of(documents["no-gpu"], *reading.GPU) == []
    assert documents["no-gpu"]["deviceProperties"] == []


def test_hostile_names_survive_as_they_are(tmp_path):
    document = reading.load(scenario("hostile-names").into(tmp_path).path)
    for category in ("kernel", "cpu_op", "python_function", "user_annotation"):
        names = {event["name"] for event in reading.events_of(document, category)}
        assert set(HOSTILE_NAMES) <= names
    assert gzip.decompress((tmp_path / "hostile-names.json.gz").read_bytes()).isascii()
