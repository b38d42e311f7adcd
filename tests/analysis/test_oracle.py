"""Our tables of real traces against the reference tables; the comparator is independent of this package."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.analysis.tables import write_tables

DEVIATIONS = ROOT / "docs" / "deviations.md"
"""Its tab-separated lines are the comparator's list of deliberate deviations."""

LINKED = {"timeline": 100, "category": 99, "ancestry": 100}
ALL = LINKED | {"time": 99}
MODELLED = ALL | {"flops": 97, "bytes": 97, "roofline": 97}

LEAST = {
    "mi300_qwen": MODELLED,
    "h100_qwen": MODELLED,
    "mi300_sd35": LINKED | {"time": 94, "flops": 84, "bytes": 84, "roofline": 93},
    "h100_bert": LINKED | {"time": 90, "flops": 89, "bytes": 89, "roofline": 89},
    "hta_nccl": LINKED | {"collective": 100, "time": 76},
    "mi210_gpu_only": {"timeline": 100, "ancestry": 100},
    "mi300_resnet_ckpt": LINKED | {"collective": 100},
    "torch_compile_triton": ALL,
}
"""What each trace scores at least; below 99 where ops of the trace have no perf model here."""


def scores(shared: Path, name: str, out: Path) -> dict[str, float]:
    vendor = {"mi300": "mi300x", "normalization": "mi300x", "h100": "h100"}.get(name.split("_")[0])
    arch = None if vendor is None else shared / f"oracle/arch_{vendor}_reference.json"
    analysis = open_analysis_of(shared / f"traces/{name}.json.gz", arch=arch, use_cache=False)
    write_tables(analysis, out)
    command = [
        sys.executable,
        shared / "tools/compare_tables.py",
        out,
        shared / "oracle" / name,
        "--except",
        DEVIATIONS,
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = (line.split() for line in printed.splitlines() if not line.startswith(" "))
    return {words[0]: float(words[-1]) for words in lines}


@pytest.mark.parametrize("name", LEAST)
def test_tables_agree_with_the_reference(shared: Path, name: str, tmp_path: Path) -> None:
    found = scores(shared, name, tmp_path)
    short = {measure: found[measure] for measure, least in LEAST[name].items() if found[measure] < least}
    assert not short
