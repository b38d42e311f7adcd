"""The tables of a small hand-made trace, and how they are written."""

import csv
import json
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.making import Event, analysed, kernel, launch, mm, op
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.tables import TABLES, all_tables, write, write_tables
from tracelens_tui.analysis.tables.cells import csv_cells, plain_cells
from tracelens_tui.analysis.tables.write import csv_bytes
from tracelens_tui.errors import UserError
from tracelens_tui.text import cell_text, plain

ALLREDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
COLLECTIVE = {
    "Collective name": "allreduce",
    "dtype": "BFloat16",
    "In msg nelems": 1048576,
    "Out msg nelems": 1048576,
    "Group size": 8,
    "Process Group Name": "0",
    "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
    "In split size": "[]",
    "Out split size": "[]",
}
FORMULA = '=HYPERLINK("http://example.com")'


def step() -> list[Event]:
    """A product of 40 µs, one of 60 µs, an elementwise op of 4 µs that fills first, a copy, a collective, an orphan."""
    return [
        mm(0, 10, 1000, 1000, 1000),
        launch(1, 5),
        mm(20, 12, 1000, 1000, 1000),
        launch(2, 25),
        op(FORMULA, 40, 20, dims=[[8, 8]], types=["float"], strides=[[8, 1]], concrete=[""]),
        op("aten::fill_", 41, 5),
        launch(3, 42),
        launch(4, 50),
        launch(5, 70, name="hipMemcpyAsync"),
        op("record_param_comms", 80, 10),
        launch(6, 82),
        kernel("Cijk_gemm", 100, 40, 1),
        kernel("Cijk_gemm", 140, 60, 2),
        kernel("void at::native::fill_elementwise", 200, 1, 3),
        kernel("void at::native::elementwise_kernel", 201, 3, 4),
        kernel("Memcpy HtoD (Host -> Device)", 210, 10, 5, cat="gpu_memcpy", bytes=40_000),
        kernel(ALLREDUCE, 180, 50, 6, stream=9, **COLLECTIVE),
        kernel("orphan", 240, 9.999, 99),
    ]


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analysed(step())


@pytest.fixture(scope="module")
def tables(analysis: Analysis) -> dict[str, pl.DataFrame]:
    return all_tables(analysis)


def rows(tables: dict[str, pl.DataFrame], name: str, *columns: str) -> list[Any]:
    return tables[name].select(columns).rows()


def test_timeline(tables: dict[str, pl.DataFrame]) -> None:
    assert dict(rows(tables, "gpu_timeline", "type", "time ms")) == {
        "computation_time": 0.113999,
        "exposed_comm_time": 0.026,  # 200 … 230 less 4 µs of elementwise work
        "exposed_memcpy_time": 0.0,
        "busy_time": 0.139999,
        "idle_time": 0.01,
        "total_time": 0.149999,
        "total_comm_time": 0.05,
        "total_memcpy_time": 0.01,
    }
    assert tables["gpu_timeline"].filter(pl.col("type") == "total_time")["percent"].item() == 100


def test_categories(tables: dict[str, pl.DataFrame]) -> None:
    assert rows(tables, "ops_summary_by_category", "op category", "Count", "total_direct_kernel_time_ms") == [
        ("GEMM", 2, 0.1),
        ("other", 1, 0.01),  # the copy: launched outside of any op
        ("elementwise", 2, 0.004),
    ]
    assert tables["ops_summary_by_category"]["Cumulative Percentage (%)"][-1] == pytest.approx(100)


def test_ops_tell_what_they_launch_and_what_lies_below(tables: dict[str, pl.DataFrame]) -> None:
    times = ("total_direct_kernel_time_sum", "total_subtree_kernel_time_sum")
    assert rows(tables, "ops_summary", "name", *times, "Count", "Categories") == [
        ("aten::mm", 100.0, 100.0, 2, '["GEMM"]'),
        ("hipMemcpyAsync", 10.0, 10.0, 1, '["other"]'),
        (FORMULA, 3.0, 4.0, 1, '["elementwise"]'),
        ("aten::fill_", 1.0, 1.0, 1, '["elementwise"]'),
    ]


def test_overlapping_work_below_an_op_counts_once() -> None:
    events = [op("two", 0, 20), launch(1, 1), launch(2, 3), kernel("a", 30, 10, 1), kernel("b", 35, 10, 2, stream=8)]
    events += [op("three", 60, 20), launch(3, 61), kernel("c", 90, 10, 3)]
    tables = all_tables(analysed(events))
    assert rows(tables, "ops_summary", "name", "total_subtree_kernel_time_sum") == [("two", 15.0), ("three", 10.0)]


def test_unique_args_have_their_kernels_as_json(tables: dict[str, pl.DataFrame]) -> None:
    row = tables["ops_unique_args"].row(0, named=True)
    assert (row["name"], row["operation_count"], row["ex_UID"]) == ("aten::mm", 2, 0)
    assert json.loads(row["Input Dims"]) == [[1000, 1000], [1000, 1000]]
    assert row["total_direct_kernel_time_std"] == pytest.approx(200**0.5)
    assert json.loads(row["kernel_details_summary"]) == [
        {
            "name": "Cijk_gemm",
            "stream": 7,
            "count": 2,
            "total_duration_us": 100.0,
            "mean_duration_us": 50.0,
            "median_duration_us": 50.0,
            "std_dev_duration_us": 10.0,
            "min_duration_us": 40.0,
            "max_duration_us": 60.0,
        }
    ]
    assert json.loads(row["trunc_kernel_details"]) == [{"name": "Cijk_gemm", "stream": 7, "mean_duration_us": 50.0}]


def test_unified_rates_are_those_of_the_calls(tables: dict[str, pl.DataFrame]) -> None:
    row = tables["unified_perf_summary"].row(0, named=True)
    assert (row["GFLOPS"], row["Data Moved (MB)"], row["FLOPS/Byte"]) == (2.0, 6e6 / 2**20, 2e9 / 6e6)
    assert row["TFLOPS/s_mean"] == pytest.approx((2e9 / 40e-6 + 2e9 / 60e-6) / 2 / 1e12)
    assert row["TB/s_max"] == pytest.approx(6e6 / 40e-6 / 1e12)
    assert (row["Compute Spec"], row["Roofline Bound"]) == ("matrix_bf16", "COMPUTE_BOUND")
    assert row["Roofline Time (µs)_first"] == pytest.approx(20)
    assert row["Pct Roofline_mean"] == pytest.approx((50 + 100 / 3) / 2)
    assert (row["total_duration_us"], row["Kernel Time (µs)_sum"], row["has_perf_model"]) == (22.0, 100.0, True)
    assert json.loads(row["perf_params"])["K"] == 1000


def test_unified_has_no_roofline_columns_without_a_platform() -> None:
    columns = all_tables(analysed(step(), None))["unified_perf_summary"].columns
    assert not [name for name in columns if "Roofline" in name]
    assert "Compute Spec" in columns


def test_kernel_summary_holds_every_gpu_event(tables: dict[str, pl.DataFrame]) -> None:
    names = (
        "Parent op category",
        "Parent cpu_op",
        "Kernel name",
        "Kernel duration (µs)_sum",
        "Kernel duration (µs)_count",
    )
    assert rows(tables, "kernel_summary", *names) == [
        ("GEMM", "aten::mm", "Cijk_gemm", 100.0, 2),
        ("record_param_comms", "record_param_comms", ALLREDUCE, 50.0, 1),
        ("runtime", None, "Memcpy HtoD (Host -> Device)", 10.0, 1),
        ("unlinked", None, "orphan", 9.999, 1),
        ("elementwise", FORMULA, "void at::native::elementwise_kernel", 3.0, 1),
        ("elementwise", "aten::fill_", "void at::native::fill_elementwise", 1.0, 1),
    ]


def test_short_kernels(tables: dict[str, pl.DataFrame]) -> None:
    assert rows(tables, "short_kernels_summary", "Kernel name", "Short Kernel count", "Input dims") == [
        ("orphan", 1, None),
        ("void at::native::elementwise_kernel", 1, "[[8, 8]]"),
        ("void at::native::fill_elementwise", 1, None),
    ]
    histogram = tables["short_kernel_histogram"]
    assert (histogram.height, histogram["count"].sum()) == (100, 3)
    assert (histogram["bin_start"][0], histogram["bin_end"][-1]) == (1.0, 9.999)


def test_collectives(tables: dict[str, pl.DataFrame]) -> None:
    (row,) = tables["coll_analysis"].to_dicts()
    assert (row["Collective name"], row["Group size"], row["stream"], row["In msg nelems"]) == (
        "allreduce",
        8,
        9,
        1048576,
    )
    assert (row["In msg size (MB)_first"], row["dur_sum"], row["operation_count"]) == (2.0, 50.0, 1)


def test_a_custom_all_reduce_that_records_nothing_keeps_its_row() -> None:
    tables = all_tables(analysed([kernel("vllm::cross_device_reduce_1stage", 0, 5, 1), launch(1, 0)]))
    (row,) = tables["coll_analysis"].to_dicts()
    assert (row["Collective name"], row["In msg size (MB)_first"], row["dur_sum"]) == ("allreduce", None, 5.0)


def test_an_op_is_told_by_what_it_computes_before_what_it_communicates() -> None:
    kernels = [kernel(ALLREDUCE, 20, 5, 1), kernel("void at::native::elementwise_kernel", 30, 5, 2)]
    tables = all_tables(analysed([op("mine", 0, 10), launch(1, 1), launch(2, 3), *kernels]))
    assert rows(tables, "ops_summary", "name", "Categories", "total_subtree_kernel_time_sum") == [
        ("mine", '["elementwise"]', 10.0)
    ]


def test_launchers_keep_the_raw_time_of_a_repaired_event() -> None:
    tables = all_tables(analysed([kernel("runs_over", 0, 1000.5), kernel("next", 10, 5)]))
    assert rows(tables, "kernel_launchers", "kernel", "dur") == [("runs_over", "1000.5"), ("next", "5")]
    assert rows(tables, "kernel_summary", "Kernel name", "Kernel duration (µs)_sum")[0] == ("runs_over", 10.0)
    assert tables["quality"].height == 1


def test_launchers_have_the_times_of_the_file(tables: dict[str, pl.DataFrame]) -> None:
    columns = ("ts", "dur", "stream", "kernel", "nearest_cpu_op", "input_types")
    assert rows(tables, "kernel_launchers", *columns)[-1] == ("240", "9.999", 7, "orphan", None, None)
    assert rows(tables, "kernel_launchers", *columns)[0][:5] == ("100", "40", 7, "Cijk_gemm", "aten::mm")


def test_copies(tables: dict[str, pl.DataFrame]) -> None:
    assert rows(tables, "memcpy_summary", "name", "count", "bytes_sum", "dur_us_sum", "GB/s") == [
        ("Memcpy HtoD (Host -> Device)", 1, 40_000, 10.0, 4.0)
    ]


def test_several_devices_have_a_column_each() -> None:
    events = [kernel("a", 0, 10), kernel("b", 100, 5, device=1)]
    tables = all_tables(analysed(events))
    assert rows(tables, "gpu_timeline", "device", "type", "time ms")[0] == (0, "computation_time", 0.01)
    assert tables["gpu_timeline"].height == 16
    assert rows(tables, "kernel_summary", "device", "Kernel name", "Percent of total time (%)") == [
        (0, "a", 100.0),
        (1, "b", 100.0),
    ]


def test_tables_of_an_empty_trace_have_their_columns() -> None:
    assert {name: table.height for name, table in all_tables(analysed([])).items()} == dict.fromkeys(TABLES, 0)


def test_csv_files_are_the_same_every_time(analysis: Analysis, tmp_path: Path) -> None:
    first = write_tables(analysis, tmp_path / "a")
    second = write_tables(analysed(step()), tmp_path / "b")
    assert [path.name for path in first] == [f"{name}.csv" for name in TABLES]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(path.name for path in first)


def test_csv_spells_booleans_as_tracelens_does(analysis: Analysis, tmp_path: Path) -> None:
    write_tables(analysis, tmp_path)
    with (tmp_path / "unified_perf_summary.csv").open(newline="") as file:
        assert [row["has_perf_model"] for row in csv.DictReader(file)][:2] == ["True", "False"]


def test_names_have_no_control_characters_in_any_table(tmp_path: Path) -> None:
    events = [
        op("nul\x00op", 0, 10, dims=[[8]], types=["a\u2028b"]),
        launch(1, 1),
        kernel("a\r\n\x1b[31mb\t", 20, 5, 1),
    ]
    analysis = analysed(events)
    tables = all_tables(analysis)
    assert rows(tables, "unified_perf_summary", "name", "Input type") == [("nul op", '["a b"]')]
    assert rows(tables, "kernel_summary", "Parent cpu_op", "Kernel name") == [("nul op", "a  b ")]
    for path in write_tables(analysis, tmp_path):
        assert not [one for one in path.read_text() if one != "\n" and unicodedata.category(one) in {"Cc", "Zl", "Zp"}]


def test_text_of_the_trace_is_no_formula_in_a_csv_file(analysis: Analysis, tmp_path: Path) -> None:
    write_tables(analysis, tmp_path)
    with (tmp_path / "ops_summary.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [
            "aten::mm",
            "hipMemcpyAsync",
            f"'{FORMULA}",
            "aten::fill_",
        ]


def test_a_negative_number_stays_a_number_in_a_csv_file() -> None:
    table = pl.DataFrame({"ts": ["-5.25", "-1e3", "-x", "+", "@a", "=1", "a=1", ""], "n": [-1.5] * 8})
    assert csv_bytes(table).decode().split() == [
        "ts,n", "-5.25,-1.5", "-1e3,-1.5", "'-x,-1.5", "'+,-1.5", "'@a,-1.5", "'=1,-1.5", "a=1,-1.5", '"",-1.5',
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_cells_are_those_of_the_plain_functions(texts: list[str]) -> None:
    found = plain_cells(pl.DataFrame({"a": pl.Series(texts, dtype=pl.String)}))
    assert found["a"].to_list() == [plain(text) for text in texts]
    assert csv_cells(found)["a"].to_list() == [cell_text(text) for text in texts]


def test_parquet_keeps_the_types(analysis: Analysis, tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    write_tables(analysis, tmp_path, "parquet")
    for name, table in tables.items():
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(table)


def test_text_of_the_trace_is_no_formula_in_a_workbook(analysis: Analysis, tmp_path: Path) -> None:
    (path,) = write_tables(analysis, tmp_path / "a", "xlsx")
    with zipfile.ZipFile(path) as book:
        sheets = [book.read(name).decode() for name in book.namelist() if "/worksheets/" in name]
        text = "".join(book.read(name).decode() for name in book.namelist())
    assert len(sheets) == len(TABLES)
    assert "HYPERLINK" in text
    assert "<f>" not in text
    assert path.read_bytes() == write_tables(analysis, tmp_path / "b", "xlsx")[0].read_bytes()


def test_an_unknown_format_is_an_error_that_names_the_others(analysis: Analysis, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="csv, parquet, xlsx"):
        write_tables(analysis, tmp_path, "ods")


def test_a_folder_that_cannot_be_written_is_an_error(analysis: Analysis, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write the tables"):
        write_tables(analysis, tmp_path / "file" / "out")


def test_tables_that_cannot_all_be_written_are_not_left_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = {name: pl.DataFrame({"a": [1]}) for name in ("one", "two", "three")}
    (tmp_path / "one.csv").write_text("from before")

    def full(frame: pl.DataFrame) -> bytes:
        if len(list(tmp_path.iterdir())) > 2:
            raise OSError(28, "No space left on device")
        return b"a\n1\n"

    monkeypatch.setattr(write, "csv_bytes", full)
    with pytest.raises(UserError, match="No space left"):
        write.write_frames(frames, tmp_path, "csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.csv"]
