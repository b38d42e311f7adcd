"""Our tables of real traces against the reference tables; the comparator is independent of this package."""

import ast
import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT
from tracelens_tui.analysis.source import open_analysis_of
from tracelens_tui.analysis.tables import all_tables, write_tables
from tracelens_tui.trace.types import Role

DEVIATIONS = ROOT / "docs" / "deviations.md"
"""Its tab-separated lines are the comparator's list of deliberate deviations."""

LINKED = {"timeline": 100, "category": 100, "ancestry": 100}
ALL = LINKED | {"time": 99}
MODELLED = ALL | {"flops": 98, "bytes": 98, "roofline": 98}

LEAST = {
    "h100_bert": MODELLED,
    "h100_qwen": MODELLED,
    "h100_timesformer": MODELLED,
    "h100_vit_nsfw": MODELLED,
    "mi300_owlv2": MODELLED,
    "mi300_qwen": MODELLED,
    "mi300_resnet_ckpt": MODELLED | {"collective": 100},
    "mi300_sd35": MODELLED,
    "normalization_layers": MODELLED,
    "hta_mi250_toy": ALL | {"flops": 99, "bytes": 99},
    "hta_nccl": ALL | {"collective": 100},
    "mi210_gpu_only": {"timeline": 100, "ancestry": 100},
    "torch_compile_triton": ALL | {"flops": 99, "bytes": 99},
}
"""What each trace scores at least, of 100."""

UNKNOWN = {
    "mi300_resnet_ckpt": {"aten::_foreach_add_", "aten::cat"},  # lists of tensors without recorded shapes
    "mi300_owlv2": {"aten::index"},  # indices are not recorded
    "mi300_sd35": {"aten::index", "aten::nonzero"},  # the data decides how much is written
}
"""The ops of which no model can tell the bytes, of those that are neither collectives nor copies."""


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


SHORT = {
    "h100_bert": 0,
    "h100_vit_nsfw": 0,
    "hta_mi250_toy": 0,
    "mi210_gpu_only": 0,
    "mi300_qwen": 3,
    "mi300_sd35": 0,
    "mi300_resnet_ckpt": 37,
}
"""How many rows of ``short_kernels_summary`` the reference has not: kernels without an op, which it drops."""


def plainly(cell: Any) -> str:
    """A list as text, whether it is written as JSON or as Python's repr."""
    is_list = (cell or "").startswith(("(", "["))
    return json.dumps(ast.literal_eval(cell.replace("null", "None"))) if is_list else cell or ""


@pytest.mark.parametrize("name", SHORT)
def test_short_kernels_agree_with_the_reference(shared: Path, name: str) -> None:
    tables = all_tables(open_analysis_of(shared / f"traces/{name}.json.gz", use_cache=False))
    ours = tables["short_kernels_summary"]
    folder = shared / "oracle" / name / "csvs"
    with gzip.open(folder / "short_kernels_summary.csv.gz", "rt", newline="") as file:
        reference = list(csv.DictReader(file))
    numbers = [column for column in reference[0] if column.startswith("Short Kernel")]
    keys = [column for column in reference[0] if column not in numbers]

    def rows(table: Iterable[dict[str, Any]]) -> dict[tuple[str, ...], list[float]]:
        return {tuple(plainly(row[key]) for key in keys): [float(row[column]) for column in numbers] for row in table}

    found = rows(ours.iter_rows(named=True))
    assert len(found) == ours.height == len(reference) + SHORT[name]
    assert {key: found[key] for key in rows(reference)} == {
        key: pytest.approx(values) for key, values in rows(reference).items()
    }
    with gzip.open(folder / "short_kernel_histogram.csv.gz", "rt", newline="") as file:
        bins = [tuple(map(float, row.values())) for row in csv.DictReader(file)]
    assert [list(row) for row in tables["short_kernel_histogram"].rows()] == [pytest.approx(row) for row in bins]


@pytest.mark.parametrize("name", [name for name in LEAST if name.startswith(("h100", "mi300", "norm", "hta_mi250"))])
def test_nearly_all_kernel_time_is_of_ops_with_known_bytes(shared: Path, name: str) -> None:
    analysis = open_analysis_of(shared / f"traces/{name}.json.gz", use_cache=False)
    roles = analysis.trace.events.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("event"), "role", "dur_ns")
    work = analysis.gpu.filter(pl.col("row").is_not_null()).join(roles, on="event")
    work = work.filter(~pl.col("role").is_in([int(Role.COMM), int(Role.COPY)])).join(analysis.ops, on="row")
    unknown = work.filter(pl.col("bytes").is_null())
    assert set(unknown["name"]) <= UNKNOWN.get(name, set())
    assert int(unknown["dur_ns"].sum()) <= int(work["dur_ns"].sum()) // 100
