"""The journal: numbering, torn lines, killed writers, readers that follow."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.making import NOON, repository, started
from tracelens_tui.errors import UserError
from tracelens_tui.run import events as e
from tracelens_tui.run.journal import JournalReader, JournalWriter, read_events

WRITER = """
import sys
from pathlib import Path
from tracelens_tui.run import events as e
from tracelens_tui.run.journal import JournalWriter
with JournalWriter(Path(sys.argv[1])) as journal:
    number = 0
    while True:
        number += 1
        journal.write(e.AgentText(agent="a", category="c", text=f"{number} " + "x" * 2000))
        print(number, flush=True)
"""


def text(number: int) -> e.AgentText:
    return e.AgentText(agent="a", category="c", text=str(number))


def texts(events: list[e.AnyEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, e.AgentText)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_events_are_numbered_from_one_and_timed(path: Path) -> None:
    with JournalWriter(path, now=lambda: NOON) as journal:
        first = journal.write(started())
        journal.write(e.RunFinished(seconds=1.5))
        assert journal.seq == 2
    assert (first.seq, first.time) == (1, NOON)
    assert [(event.seq, event.type, event.time) for event in read_events(path)] == [
        (1, "run_started", NOON),
        (2, "run_finished", NOON),
    ]


def test_numbers_go_on_over_a_resume(path: Path) -> None:
    for _ in range(3):
        with JournalWriter(path) as journal:
            journal.write(text(0))
            journal.write(text(1))
    assert [event.seq for event in read_events(path)] == [1, 2, 3, 4, 5, 6]


def test_each_line_is_one_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: written.append(data) or real(file, data))
    with JournalWriter(path) as journal:
        journal.write(text(1))
        journal.write(text(2))
    assert len(written) == 2
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)


def test_a_short_write_is_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:7]))
    with JournalWriter(path) as journal:
        journal.write(text(1))
        journal.write(text(2))
    assert texts(read_events(path)) == ["1", "2"]


def test_a_full_disk_is_a_user_error_and_the_next_line_is_fresh(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = JournalWriter(path)
    journal.write(text(1))
    real = os.write

    def half(file: int, data: bytes) -> int:
        real(file, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(UserError, match="No space left on device"):
        journal.write(text(2))
    monkeypatch.setattr(os, "write", real)
    journal.write(text(3))
    journal.close()
    reader = JournalReader(path)
    assert [(event.seq, event.type) for event in reader.read()] == [(1, "agent_text"), (2, "agent_text")]
    assert reader.skipped == 1


@pytest.mark.parametrize("kind", [e.StageFinished(stage="load", seconds=1.0), e.RunFailed(reason="x")])
def test_stage_ends_reach_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch, kind: e.AnyEvent) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with JournalWriter(path) as journal:
        journal.write(text(1))
        assert synced == []
        journal.write(kind)
        assert len(synced) == 1


def test_a_torn_last_line_is_left_behind(path: Path) -> None:
    with JournalWriter(path) as journal:
        journal.write(text(1))
    with path.open("ab") as file:
        file.write(b'{"seq":2,"type":"agent_text","agent":"a","cat')
    with JournalWriter(path) as journal:
        assert journal.write(text(2)).seq == 2
    reader = JournalReader(path)
    assert texts(reader.read()) == ["1", "2"]
    assert reader.skipped == 1


def test_a_killed_writer_leaves_a_journal_that_goes_on(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, cwd=repository(), text=True
    )
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(50)][-1]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    before = read_events(path)
    assert len(before) >= told
    assert [event.seq for event in before] == list(range(1, len(before) + 1))
    with path.open("ab") as file:  # what a kill in the middle of a write leaves
        file.write(b'{"seq":')
    with JournalWriter(path) as journal:
        journal.write(text(-1))
    after = read_events(path)
    assert after[:-1] == before
    assert after[-1].seq == len(before) + 1


def test_the_reader_reads_only_what_is_new(path: Path) -> None:
    reader = JournalReader(path)
    assert reader.read() == []
    with JournalWriter(path) as journal:
        journal.write(text(1))
        assert texts(reader.read()) == ["1"]
        assert reader.read() == []
        journal.write(text(2))
        journal.write(text(3))
        assert texts(reader.read()) == ["2", "3"]
    assert (reader.skipped, reader.restarts) == (0, 0)


def test_a_line_without_its_end_is_read_once_it_is_whole(path: Path) -> None:
    line = text(1).model_copy(update={"seq": 1}).model_dump_json().encode() + b"\n"
    path.write_bytes(line[:30])
    reader = JournalReader(path)
    assert reader.read() == []
    with path.open("ab") as file:
        file.write(line[30:])
    assert texts(reader.read()) == ["1"]
    assert reader.skipped == 0


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"type":"agent_text"}',
        b'{"type":"from_the_future","seq":1}',
        b"\xff\xfe",
        b"[1]",
        b'{"type":"run_finished","seconds":1,"extra":2}',
    ],
)
def test_unreadable_lines_are_skipped_and_counted(path: Path, line: bytes) -> None:
    good = text(1).model_dump_json().encode()
    path.write_bytes(b"\n".join([good, line, b"", good]) + b"\n")
    reader = JournalReader(path)
    assert texts(reader.read()) == ["1", "1"]
    assert reader.skipped == 1


@pytest.mark.parametrize("longer", [False, True])
def test_a_replaced_journal_is_read_from_its_start(tmp_path: Path, path: Path, longer: bool) -> None:
    with JournalWriter(path) as journal:
        journal.write(text(1))
        journal.write(text(2))
    reader = JournalReader(path)
    reader.read()
    with JournalWriter(tmp_path / "new") as journal:
        for number in range(10, 15 if longer else 11):
            journal.write(text(number))
    (tmp_path / "new").replace(path)
    assert texts(reader.read())[0] == "10"
    assert reader.restarts == 1


def test_a_truncated_journal_is_read_from_its_start(path: Path) -> None:
    with JournalWriter(path) as journal:
        journal.write(text(1))
        journal.write(text(2))
    reader = JournalReader(path)
    reader.read()
    first = path.read_bytes().split(b"\n")[0] + b"\n"
    path.write_bytes(first)
    assert texts(reader.read()) == ["1"]
    assert reader.restarts == 1


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(min_value=0, max_value=900), max_size=12))
def test_however_the_file_grows_every_event_comes_once(
    cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "events.jsonl"
    data = b"".join(text(number).model_dump_json().encode() + b"\n" for number in range(8))
    reader = JournalReader(path)
    got: list[str] = []
    done = 0
    for cut in [*sorted(cuts), len(data)]:
        with path.open("ab") as file:
            file.write(data[done : max(done, cut)])
        done = max(done, min(cut, len(data)))
        got += texts(reader.read())
    assert got == [str(number) for number in range(8)]
    assert (reader.skipped, reader.restarts) == (0, 0)


def test_a_journal_that_cannot_be_opened_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the journal cannot be opened"):
        JournalWriter(tmp_path / "missing" / "events.jsonl")
