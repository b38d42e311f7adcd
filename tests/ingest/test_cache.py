"""The cache: opened once, mapped afterwards, never wrong, never in the way."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.ingest.making import document, event, same, sample
from tracelens_tui.ingest import cache, store
from tracelens_tui.ingest.cache import fingerprint, open_trace
from tracelens_tui.trace.tree import EventTree


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "cache"
    monkeypatch.setenv("TRACELENS_TUI_CACHE", str(where))
    return where


@pytest.fixture
def trace_file(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(document())
    return path


@pytest.fixture
def loads(monkeypatch):
    """The paths that were really read."""
    seen = []
    real = cache.load_trace
    monkeypatch.setattr(cache, "load_trace", lambda path, **rest: seen.append(path) or real(path, **rest))
    return seen


def same_tree(one, other):
    for field in fields(EventTree):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_the_second_opening_gives_the_same_without_reading_the_file(folder, trace_file, loads):
    first, first_tree = open_trace(trace_file)
    second, second_tree = open_trace(trace_file)
    assert len(loads) == 1
    same(first, second)
    same_tree(first_tree, second_tree)
    assert first.metadata == second.metadata


def test_what_comes_from_the_cache_is_mapped_and_cannot_be_changed(folder, trace_file):
    open_trace(trace_file)
    trace, tree = open_trace(trace_file)
    assert not tree.parent.flags.writeable
    assert not tree.parent.flags.owndata
    assert not trace.events["start_ns"].to_numpy().flags.writeable


def test_the_trace_is_repaired_and_its_quality_finished(folder, tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(document([event("kernel", "k", "5", "-3", 0, 7), event("kernel", "k", "9", "3", 0, 7)]))
    for _ in range(2):
        trace, tree = open_trace(path)
        assert trace.events["dur_ns"].to_list() == [0, 3000]
        assert {item.code for item in trace.quality.items} >= {"negative_duration", "no_host"}
        assert len(tree.parent) == 2


def test_a_copy_elsewhere_with_the_same_time_is_the_same_and_keeps_its_own_path(folder, trace_file, tmp_path, loads):
    open_trace(trace_file)
    copy = tmp_path / "copy.json"
    shutil.copy2(trace_file, copy)
    trace, _ = open_trace(copy)
    assert trace.metadata.source.path == str(copy)
    assert len(loads) == 1


def test_a_changed_file_is_read_again(folder, trace_file, loads):
    open_trace(trace_file)
    stat = trace_file.stat()
    trace_file.write_bytes(document(sample(5)))
    trace, _ = open_trace(trace_file)
    assert len(trace) == 1 + 4 * 5
    os.utime(trace_file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    open_trace(trace_file)
    assert len(loads) == 3, "another time of change is another file"


def test_without_the_cache_nothing_is_written(folder, trace_file, loads):
    for _ in range(2):
        open_trace(trace_file, use_cache=False)
    assert len(loads) == 2
    assert not folder.exists()


def damaged_entries():
    def cut(entry: Path) -> None:
        file = entry / "events" / "start_ns.npy"
        file.write_bytes(file.read_bytes()[:-8])

    def longer(entry: Path) -> None:
        with (entry / "events" / "dur_ns.npy").open("ab") as file:
            file.write(b"more")

    def without(entry: Path) -> None:
        (entry / "tree" / "parent.npy").unlink()

    def no_header(entry: Path) -> None:
        (entry / "trace.json").write_text("{")

    def empty(entry: Path) -> None:
        shutil.rmtree(entry)
        entry.mkdir()

    def other_columns(entry: Path) -> None:
        pl.DataFrame({"name": [1, 2]}).write_ipc(entry / "names.arrow")
        header = json.loads((entry / "trace.json").read_text())
        header["sizes"]["names.arrow"] = (entry / "names.arrow").stat().st_size
        (entry / "trace.json").write_text(json.dumps(header))

    def other_kind(entry: Path) -> None:
        (entry / "names.arrow").write_bytes(b"x" * (entry / "names.arrow").stat().st_size)

    return [cut, longer, without, no_header, empty, other_columns, other_kind]


@pytest.mark.parametrize("damage", damaged_entries(), ids=lambda damage: damage.__name__)
def test_a_damaged_entry_is_noticed_and_made_again(folder, trace_file, loads, damage):
    first, tree = open_trace(trace_file)
    (entry,) = folder.iterdir()
    damage(entry)
    again, again_tree = open_trace(trace_file)
    assert len(loads) == 2
    same(first, again)
    same_tree(tree, again_tree)
    open_trace(trace_file)
    assert len(loads) == 2, "made again"


def test_entries_of_other_code_are_not_used(folder, trace_file, loads, monkeypatch):
    open_trace(trace_file)
    monkeypatch.setattr(cache, "_form", lambda: "0000")
    open_trace(trace_file)
    assert len(loads) == 2
    assert len(list(folder.iterdir())) == 2


def test_no_writable_place_is_no_error(trace_file, monkeypatch, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setenv("TRACELENS_TUI_CACHE", str(in_the_way / "cache"))
    trace, _ = open_trace(trace_file)
    assert len(trace) == 13


def test_a_full_disk_is_no_error_and_leaves_nothing(folder, trace_file, monkeypatch):
    def full(where, *_):
        (where / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write_trace", full)
    open_trace(trace_file)
    assert list(folder.iterdir()) == []


def test_the_entries_used_longest_ago_go_first(folder, tmp_path, monkeypatch, loads):
    paths = []
    for number in range(4):
        path = tmp_path / f"{number}.json"
        path.write_bytes(document(sample(number + 1)))
        paths.append(path)
    for path in paths[:3]:
        open_trace(path)
    for age, path in enumerate(paths[:3]):
        entry = next(folder.glob(f"{fingerprint(path)}-*"))
        os.utime(entry, (1000 - age, 1000 - age))
    open_trace(paths[2])  # used again: now the newest
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    monkeypatch.setattr(cache, "LIMIT", size)
    open_trace(paths[3])
    kept = {entry.name.split("-")[0] for entry in folder.iterdir()}
    assert fingerprint(paths[1]) not in kept
    assert {fingerprint(paths[2]), fingerprint(paths[3])} <= kept


def test_an_entry_larger_than_the_limit_is_kept_alone(folder, trace_file, monkeypatch, loads):
    monkeypatch.setattr(cache, "LIMIT", 1)
    open_trace(trace_file)
    open_trace(trace_file)
    assert len(loads) == 1


def test_what_processes_that_died_left_is_removed_after_a_day(folder, trace_file):
    folder.mkdir()
    for name, age in (("old", 2 * 24 * 3600), ("young", 60)):
        left = folder / f".new-{name}"
        left.mkdir()
        then = time.time() - age
        os.utime(left, (then, then))
    open_trace(trace_file)
    assert not (folder / ".new-old").exists()
    assert (folder / ".new-young").exists()


def test_a_file_that_changes_while_it_is_read_is_not_kept(folder, trace_file, monkeypatch):
    real = cache.load_trace

    def changing(path, **rest):
        trace = real(path, **rest)
        path.write_bytes(document(sample(9)))
        return trace

    monkeypatch.setattr(cache, "load_trace", changing)
    open_trace(trace_file)
    assert list(folder.iterdir()) == []


def test_several_processes_at_once(folder, trace_file):
    opening = f"print(len(open_trace(Path({str(trace_file)!r}))[0]))"
    code = f"from pathlib import Path; from tracelens_tui.ingest.cache import open_trace; {opening}"
    root = Path(cache.__file__).parents[2]
    started = [
        subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["13"] * 3
    assert len(list(folder.iterdir())) == 1


def test_where_the_cache_is(monkeypatch, tmp_path, trace_file):
    monkeypatch.delenv("TRACELENS_TUI_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    open_trace(trace_file)
    assert len(list((tmp_path / "xdg" / "tracelens-tui").iterdir())) == 1
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    open_trace(trace_file)
    assert len(list((tmp_path / "home" / ".cache" / "tracelens-tui").iterdir())) == 1


def test_fingerprints_tell_files_apart_by_every_sampled_byte(tmp_path):
    size = 40 << 20
    path = tmp_path / "large"

    def with_byte(at):
        data = bytearray(size)
        data[at] = 1
        path.write_bytes(data)
        os.utime(path, ns=(5, 5))
        return fingerprint(path)

    marks = {with_byte(at) for at in (0, (1 << 20) - 1, size // 2, size - 1, size - (1 << 20))}
    assert len(marks) == 5
    assert all(len(mark) == 32 for mark in marks)
    small = tmp_path / "small"
    seen = set()
    for content in (b"", b"a", b"b", b"ab"):
        small.write_bytes(content)
        os.utime(small, ns=(5, 5))
        seen.add(fingerprint(small))
    assert len(seen) == 4


def test_progress_tells_reading_and_tree(folder, trace_file):
    heard = []
    open_trace(trace_file, progress=lambda *report: heard.append(report))
    assert [stage for stage, _, _ in heard][-2:] == ["tree", "tree"]
    assert heard[-1] == ("tree", 13, 13)
    assert ("read", trace_file.stat().st_size, trace_file.stat().st_size) in heard
