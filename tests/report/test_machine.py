"""``analysis.json``: the arguments of ops as they were recorded."""

import json

import pytest

from tests.report.editing import edit
from tracelens_tui.report.inputs import read_inputs
from tracelens_tui.report.machine import report_json
from tracelens_tui.run.analysis_file import AnalysisOperation
from tracelens_tui.run.store import RunDir


def operation(run: RunDir, recorded: object) -> dict[str, object]:
    """The first operation of the first finding, with these recorded dims."""
    text = json.dumps(recorded) if recorded is not None else ""
    edit(run, "category_data/gemm_metrics.json", lambda data: data["operations"][0].update({"Input Dims": text}))
    found = report_json(read_inputs(run))
    return json.loads(found.model_dump_json())["findings"][0]["operations"][0]


@pytest.mark.parametrize(
    ("recorded", "dims"),
    [
        ([[8, 4], [4, 2], []], [[8, 4], [4, 2]]),  # the last is a scalar
        ([[[8], [4, 2]], [[8], []], [3]], [[[8], [4, 2]], [[8], []], [3]]),  # two lists of tensors, one tensor
        ([[[7]]], [[[7]]]),
        (None, [[8192, 2432], [2432, 9728]]),  # nothing recorded: what the finding says
    ],
)
def test_a_list_of_tensors_stays_a_list(run: RunDir, recorded: object, dims: object) -> None:
    found = operation(run, recorded)
    assert found["dims"] == dims
    assert "dims_omitted" not in found


def test_long_lists_are_cut_and_say_so(run: RunDir) -> None:
    found = operation(run, [[[n] for n in range(20)], [[n] for n in range(17)], [5]])
    assert found["dims"] == [[[n] for n in range(16)], [[n] for n in range(16)], [5]]
    assert found["dims_omitted"] == 4 + 1
    assert AnalysisOperation.model_validate(found).dims_omitted == 5
