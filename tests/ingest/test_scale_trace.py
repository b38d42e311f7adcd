"""The generator of large traces for measurements keeps links and nesting."""

import gzip
import json

import pytest

from benchmarks.scale_trace import scale
from tests.ingest.making import document
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.build import build_tree


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_repeated_trace_is_the_trace_again_and_again(tmp_path, pack):
    source, target = tmp_path / "in", tmp_path / "out.json"
    source.write_bytes(pack(document()))
    assert scale(source, target, 3) == 3 + 3 + 3 * (13 + 3 + 3 + 3)
    one, three = load_trace(source), load_trace(target)
    assert three.metadata.phase_counts == {"M": 3, "X": 39, "s": 9, "f": 9, "i": 9}
    assert three.events["dur_ns"].to_list() == one.events["dur_ns"].to_list() * 3
    assert three.events["correlation"].n_unique() == 1 + 3 * 3
    shift = three.events["start_ns"][13] - one.events["start_ns"][0]
    assert [start - shift for start in three.events["start_ns"][13:26]] == one.events["start_ns"].to_list()
    for trace, count in ((one, 1), (three, 3)):
        assert int((build_tree(trace).launch >= 0).sum()) == 3 * count
    assert target.read_bytes().count(b"\n      ") > len(json.loads(target.read_bytes())["traceEvents"])
