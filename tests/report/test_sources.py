"""Where a quantity stands: the key grammar, looked up in hand-made files."""

from pathlib import Path

import pytest

from tracelens_tui.errors import UserError
from tracelens_tui.report.sources import Sources, same
from tracelens_tui.run.store import RunDir

CSV = """type,time ms,"Kernel Time (µs)_sum",note
idle_time,1.5,1000,"a,b"
busy_time,98.5,2000.5,
twice,1,1,x
twice,2,2,x
"""
ROWS = "name,time,row\naten::mm,5,17\naten::add,6,3\n"
JSON = """{
  "time": {"idle": 18.0, "name": "x", "none": null, "yes": true},
  "operations": [{"row": 17, "ms": 1.5}, {"row": 3, "ms": 2}, {"row": 4}, {"row": 4}],
  "by direction": {"D2H": {"count": 3}}
}"""


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "d.json").write_text(JSON)
    (tmp_path / "x.txt").write_text("1")
    return Sources(RunDir(tmp_path))


@pytest.mark.parametrize(
    ("source", "key", "value"),
    [
        ("t.csv", "row=0,column=time ms", 1.5),
        ("t.csv", "row=idle_time,column=time ms", 1.5),
        ("t.csv", "row=1,column=Kernel Time (µs)_sum,scale=0.001", 2.0005),
        ("t.csv", "row=0+1+2,column=Kernel Time (µs)_sum", 3001.5),
        ("t.csv", "row=0,column=note", "a,b"),
        ("rows.csv", "row=17,column=time", 5),
        ("rows.csv", "row=17+3,column=time,scale=2", 22.0),
        ("rows.csv", "row=aten::add,column=time", 6),
        ("d.json", "time.idle", 18.0),
        ("d.json", "time.name", "x"),
        ("d.json", "operations[0].ms", 1.5),
        ("d.json", "operations[row=3].ms", 2),
        ("d.json", '["by direction"]["D2H"].count', 3),
        ("d.json", "operations[1].ms,scale=1e3", 2000.0),
    ],
)
def test_lookups(sources: Sources, source: str, key: str, value: float | str) -> None:
    assert sources.value(source, key) == value


def test_a_stated_text_is_not_read_as_a_number(sources: Sources) -> None:
    (sources.run.path / "names.csv").write_text('name\n007\n1e5\n"" \n')
    assert [sources.stated("names.csv", f"row={row},column=name", "text") for row in range(2)] == ["007", "1e5"]
    assert sources.stated("t.csv", "row=1,column=note", "") == ""
    assert sources.stated("rows.csv", "row=17,column=time", 5.0) == 5


def test_texts_are_the_same_as_a_cell_holds_them() -> None:
    assert same("=1+1", "'=1+1")
    assert same("a\x00b", "a b")
    assert not same("a", "b")
    assert not same("=1+1", "=1+2")


@pytest.mark.parametrize(
    ("source", "key", "message"),
    [
        ("t.csv", "row=9,column=time ms", "there is no row 9"),
        ("t.csv", "row=0,column=time", "there is no column 'time'"),
        ("t.csv", "row=1,column=note", "the cell is empty"),
        ("t.csv", "row=twice,column=note", "2 rows begin with 'twice'"),
        ("t.csv", "row=none,column=note", "0 rows begin with 'none'"),
        ("t.csv", "row=0+2,column=note", "not all numbers"),
        ("t.csv", "time ms", "row=…,column=…"),
        ("t.csv", "row=0,column=note,scale=2", "is a text and cannot be scaled"),
        ("t.csv", "row=0,column=time ms,scale=e", "is not a number"),
        ("rows.csv", "row=0,column=time", "0 rows have the number 0"),
        ("d.json", "time.missing", "there is no missing"),
        ("d.json", "time.none", "holds no quantity"),
        ("d.json", "time.yes", "holds no quantity"),
        ("d.json", "time", "holds no quantity"),
        ("d.json", "operations[9].ms", r"there is no \[9\]"),
        ("d.json", "operations[row=4].ms", "there is no"),
        ("d.json", "operations.ms", "there is no ms"),
        ("d.json", "time..idle", "cannot be read from"),
        ("d.json", "time. idle", "cannot be read from"),
        ("x.txt", "row=0,column=a", "neither CSV nor JSON"),
        ("gone.csv", "row=0,column=a", "the file is missing"),
        ("gone.json", "a", "the file is missing"),
        ("../secret.json", "a", "not a path inside"),
    ],
)
def test_what_is_not_there_is_named(sources: Sources, source: str, key: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        sources.value(source, key)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100])
def test_broken_documents_are_user_errors(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "d.json").write_bytes(content)
    with pytest.raises(UserError, match="cannot be read"):
        Sources(RunDir(tmp_path)).value("d.json", "a")


def test_a_very_long_cell_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"name,time\n{'x' * 300_000},7\n")
    assert Sources(RunDir(tmp_path)).value("t.csv", "row=0,column=time") == 7


@pytest.mark.parametrize(
    ("stated", "found", "equal"),
    [
        (1.0, 1, True), (1.0, 1.0000001, True), (1.0, 1.001, False), (0.0, 0.0, True), (0.0, 1e-6, False),
        ("a", "a", True), ("a", "b", False), ("1", 1, True), (18.0, 18.05, False),
    ],
)  # fmt: skip
def test_sameness(stated: float | str, found: float | str, equal: bool) -> None:
    assert same(stated, found) is equal
