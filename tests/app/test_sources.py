"""Row sources over the hand-made analysis: values computed by hand in ``data.py``."""

import pytest

from tests.app import data
from tracelens_tui.app.cells import Column
from tracelens_tui.app.lists import ListSource
from tracelens_tui.app.op_rows import kernel_source, op_source
from tracelens_tui.app.row_source import RowSource


def texts(source: RowSource, index: int) -> dict[str, str]:
    return {column.key: text for column, (text, _) in zip(source.columns, source.cells(index), strict=True)}


def test_op_row_has_its_roofline():
    source = op_source(data.make_analysis())
    assert [column.title for column in source.columns][1] == "Time µs"  # the largest is below 1 ms
    # share 300/760; FLOP/B 51,581,550,592/74e6; TFLOPS 2*51.58e9/300e3 ns; TB/s 2*74e6/300e3 ns
    assert texts(source, 0) == {
        "name": "aten::addmm", "ns": "300.00", "share": "39.5", "count": "2", "intensity": "697", "tflops": "344",
        "tbs": "0.493", "roof": "48.6", "bound": "compute", "library": "Tensile", "category": "GEMM",
        "dims": "2816 bf16, 8944×1024 bf16, 1024×2816 bf16",
    }  # fmt: skip


def test_unknown_figures_are_not_zero():
    row = texts(op_source(data.make_analysis()), 1)
    assert [row[key] for key in ("intensity", "tflops", "tbs", "roof", "bound", "library")] == ["-"] * 6


def test_an_efficiency_above_the_roof_says_that_it_cannot_be():
    ops = data.frame([data.op_row(0, "aten::mm", "GEMM", 1, 1000, efficiency=1.31, bound="compute")], data.OPS_SCHEMA)
    source = op_source(data.make_analysis(ops=ops))
    assert source.cells(0)[7] == ("131!", "bad")


def test_zero_bytes_give_no_infinite_intensity():
    ops = data.frame([data.op_row(0, "aten::mm", "GEMM", 1, 1000, flops=5.0, bytes=0.0)], data.OPS_SCHEMA)
    assert texts(op_source(data.make_analysis(ops=ops)), 0)["intensity"] == "-"


def test_kernels_without_an_op_are_there():
    source = kernel_source(data.make_analysis())
    assert [texts(source, i)["op"] for i in range(4)] == [
        "aten::addmm",
        "none: not linked",
        "none: not linked",
        "aten::relu",
    ]


def test_hostile_names_are_plain_text():
    assert texts(kernel_source(data.make_analysis()), 3)["kernel"] == data.HOSTILE_SHOWN


def test_several_gpus_have_a_column():
    analysis = data.make_analysis(splits={data.GPU0: data.SPLIT, 3: data.SPLIT})
    assert "device" in [column.key for column in op_source(analysis).columns]


@pytest.mark.parametrize("key", ["ns", "name", "count", "roof", "dims"])
def test_sorting_keeps_every_row_and_puts_unknown_last(key):
    source = op_source(data.make_analysis())
    for descending in (True, False):
        source.sort(key, descending=descending)
        assert sorted(source.key(i) for i in range(len(source))) == [0, 1]  # type: ignore[type-var]
        if key == "roof":
            assert source.key(1) == 1  # the row without a roofline


def test_filter_search_and_place():
    source = op_source(data.make_analysis())
    source.filter("RELU")
    assert (len(source), source.total, source.key(0), source.index(0)) == (1, 2, 1, None)
    source.filter("")
    assert source.find("elementwise", 0, 1) == 1
    assert source.find("addmm", 0, 1) == 0  # around the end, itself last
    assert source.find("addmm", 0, -1) == 0
    assert source.find("nothing", 0, 1) is None


def test_filter_is_literal():
    source = kernel_source(data.make_analysis())
    source.filter("[/b][red]")
    assert len(source) == 1
    source.filter(".*")
    assert len(source) == 0


def numbers() -> ListSource[int]:
    column = Column("n", "N", 5, grows=True)
    return ListSource((column,), (3, 1, 2), lambda n: [(f"n{n}", "")], lambda n: n, {"n": lambda n: n}, sort_key="n")


def test_list_source_sorts_filters_and_finds():
    source = numbers()
    assert [source.key(i) for i in range(3)] == [1, 2, 3]
    source.sort("n", descending=True)
    assert source.index(3) == 0
    assert source.find("N2", 0, 1) == 1
    assert source.find("n3", 0, 1) == 0
    source.filter("1")
    assert (len(source), source.total, source.index(3)) == (1, 3, None)
    assert source.find("n3", 0, 1) is None
