"""Traces that can be read only once: standard input, pipes, descriptors."""

import bz2
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ingest.making import document
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import open_trace
from tracelens_tui.ingest.streams import is_stream, shown, spooled

ROOT = Path(__file__).resolve().parents[2]


def zipped(data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/._t.json", b"\0")
        archive.writestr("t.json", data)
    return out.getvalue()


PACKINGS = {
    "none": (bytes, ".json"),
    "gzip": (gzip.compress, ".json.gz"),
    "bzip2": (bz2.compress, ".json.bz2"),
    "xz": (lzma.compress, ".json.xz"),
    "zip": (zipped, ".zip"),
}


@pytest.fixture
def spool(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "spool"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.setattr("tempfile.tempdir", None)


@contextmanager
def piped(data: bytes):
    """The reading end of a pipe as a path, and somebody who writes."""
    reading, writing = os.pipe()

    def write():
        with os.fdopen(writing, "wb") as end:
            try:
                end.write(data)
            except BrokenPipeError:
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield Path(f"/dev/fd/{reading}")
    finally:
        os.close(reading)
        writer.join()


@pytest.mark.parametrize("kind", PACKINGS)
def test_every_packing_comes_through_a_pipe(tmp_path, spool, kind):
    pack, _ = PACKINGS[kind]
    path = tmp_path / "t.json"
    path.write_bytes(document())
    expected, _ = open_trace(path)
    with piped(pack(document())) as pipe:
        trace, tree = open_trace(pipe)
    assert trace.metadata.source.path == str(pipe)
    assert trace.metadata.source.compression == kind
    assert len(tree.parent) == len(expected)
    for frame in ("events", "threads", "args", "details", "repairs"):
        assert getattr(trace, frame).equals(getattr(expected, frame))
    assert list(spool.iterdir()) == []


def test_nothing_of_a_stream_is_kept_in_the_cache(tmp_path, spool, monkeypatch):
    monkeypatch.setenv("TRACELENS_TUI_CACHE", str(tmp_path / "cache"))
    with piped(document()) as pipe:
        open_trace(pipe)
    assert not (tmp_path / "cache").exists()


def test_a_named_pipe_waits_for_its_writer(tmp_path, spool):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    data = gzip.compress(document() * 1)

    def write():
        time.sleep(0.05)
        fifo.write_bytes(data)

    writer = threading.Thread(target=write)
    writer.start()
    trace, _ = open_trace(fifo)
    writer.join()
    assert len(trace) == 13
    assert trace.metadata.source.path == str(fifo)


def test_a_file_given_by_descriptor_is_read_from_its_start(tmp_path, spool):
    path = tmp_path / "t.json"
    path.write_bytes(document())
    with path.open("rb") as file:
        trace, _ = open_trace(Path(f"/dev/fd/{file.fileno()}"))
    assert len(trace) == 13


@pytest.mark.parametrize("kind", PACKINGS)
def test_the_copy_has_all_bytes_and_a_telling_name_and_goes(spool, kind):
    pack, ending = PACKINGS[kind]
    data = pack(document())
    with piped(data) as pipe, spooled(pipe) as copy:
        assert copy.read_bytes() == data
        assert copy.name == "input" + ending
        assert copy.parent.parent == spool
        assert copy.parent.stat().st_mode & 0o077 == 0, "for this user alone"
    assert list(spool.iterdir()) == []


def test_the_copy_may_be_moved_away(tmp_path, spool):
    with piped(document()) as pipe, spooled(pipe) as copy:
        copy.rename(tmp_path / "kept")
    assert (tmp_path / "kept").read_bytes() == document()
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"hello\n", "is no trace: it looks like text without JSON"),
        (b'{"traceEvents": []}', "is an empty trace"),
        (gzip.compress(b"hello"), "is no trace"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 50, "is damaged"),
    ],
)
def test_faults_name_the_stream_and_leave_nothing(spool, data, words):
    with piped(data) as pipe, pytest.raises(UserError, match=words) as told:
        open_trace(pipe)
    assert str(told.value).startswith(f"{pipe} ")
    assert str(spool) not in str(told.value)
    assert list(spool.iterdir()) == []


def test_a_stream_without_end_that_is_no_trace_is_refused_at_once(spool):
    with pytest.raises(UserError, match="/dev/zero holds only white space or zeros"):
        open_trace(Path("/dev/zero"))


def test_no_space_is_one_sentence_and_leaves_nothing(spool, monkeypatch):
    real = Path.open

    def full(self, *args, **options):
        file = real(self, *args, **options)
        if str(self).startswith(str(spool)):
            file.write = lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        return file

    monkeypatch.setattr(Path, "open", full)
    with piped(document()) as pipe, pytest.raises(UserError, match=r"cannot be copied to .*no space left on device"):
        open_trace(pipe)
    assert list(spool.iterdir()) == []


def test_what_is_a_stream(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    os.mkfifo(tmp_path / "fifo")
    assert [is_stream(path) for path in (tmp_path, tmp_path / "file", tmp_path / "none")] == [False] * 3
    streams = [Path(name) for name in ("-", "/dev/stdin", "/dev/fd/63", "/dev/null", "/proc/self/fd/0")]
    assert all(is_stream(path) for path in [*streams, tmp_path / "fifo"])
    assert not is_stream(Path("x" * 5000))
    assert [shown(path) for path in streams[:3]] == ["standard input", "standard input", "/dev/fd/63"]


CODE = """
import sys, time
from pathlib import Path
from tracelens_tui.ingest.streams import spooled
with spooled(Path("-")) as copy:
    print(copy.stat().st_size, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_removes_the_copy(spool, number):
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(document())
        process.stdin.close()
        assert int(process.stdout.readline()) == len(document())
        assert len(list(spool.iterdir())) == 1
        process.send_signal(number)
        assert process.wait(timeout=30) != 0
    assert list(spool.iterdir()) == []
