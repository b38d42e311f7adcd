"""Every file that cannot be read gives one sentence with the file, the fault and, where there is one, the mend."""

import pytest

from tests.ingest.making import document, text
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.cache import fingerprint, open_trace
from tracelens_tui.ingest.load import load_trace

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
XPLANE = b"\n\xd1\x02\x12\x0e/host:metadata\x1a"
JAX = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
    {"ph": "X", "name": "fusion", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
]
FILES = {
    "nothing": (b"", "is empty"),
    "white space": (b" \n\t ", "only white space or zeros"),
    "zeros": (bytes(5000), "only white space or zeros"),
    "image": (PNG, "is no trace: it looks like a PNG image"),
    "document": (b"%PDF-1.7", "looks like a PDF document"),
    "program": (b"\x7fELF\x02\x01", "looks like a program"),
    "database": (b"SQLite format 3\x00....", "is an SQLite database .*Nsight Systems"),
    "pickle": (b"\x80\x04\x95\x00\x00", "Python pickle"),
    "text": (b"hello, world\n", "looks like text without JSON"),
    "bytes": (bytes(range(1, 40)), r"unknown kind \(first bytes 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10\)"),
    "tar": (b"a" * 257 + b"ustar\x0000", "is a tar archive in which no file is a JSON trace"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
    "page": (b"\n<!DOCTYPE html><html>", "a web page"),
    "XPlane": (XPLANE, "is an XPlane trace"),
    "rocprof": (b'{"rocprofiler-sdk-tool": [{}]}', "is a rocprofv3 trace; only PyTorch Kineto JSON is read so far"),
    "execution trace": (b'{"schema": "1.1.0", "nodes": []}', "PyTorch execution trace"),
    "JAX": (text({"traceEvents": JAX}), "is a JAX trace"),
    "other JSON": (b'{"a": [1, 2]}', "is JSON but no trace: it has no list traceEvents"),
    "half JSON": (b'{"a": [1, 2', "is JSON but no trace"),
    "list elsewhere": (b'{"a": {"traceEvents": 5}}', "is JSON but no trace"),
    "no events": (b'{"traceEvents": []}', "is an empty trace with 0 events"),
    "empty events": (b'{"traceEvents": [{}, {}]}', "is an empty trace with 0 events"),
    "numbers": (b"[[1, 2], [3, 4]]", "is no trace: no item of its list can be read as an event"),
    "empty array": (b"[]", "is an empty trace"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_traces(tmp_path, case):
    data, words = FILES[case]
    path = tmp_path / "given.json"
    path.write_bytes(data)
    for read in (load_trace, open_trace):
        with pytest.raises(UserError, match=words) as caught:
            read(path)
        sentence = str(caught.value)
        assert sentence.startswith(str(path))
        assert "\n" not in sentence


@pytest.mark.parametrize("read", [load_trace, open_trace, fingerprint])
def test_a_missing_file_a_directory_and_an_impossible_name(tmp_path, read):
    with pytest.raises(UserError, match=r"none\.json does not exist"):
        read(tmp_path / "none.json")
    with pytest.raises(UserError, match="is a directory without a trace in it"):
        read(tmp_path)
    for name in ("b.json.gz", "a.json", "notes.txt"):
        (tmp_path / name).write_bytes(document())
    with pytest.raises(UserError, match=r"is a directory; give one of the traces in it: a\.json, b\.json\.gz\."):
        read(tmp_path)
    with pytest.raises(UserError, match="cannot be opened"):
        read(tmp_path / ("x" * 300))


def test_a_file_without_permission(tmp_path, monkeypatch):
    path = tmp_path / "t.json"
    path.write_bytes(document())

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(UserError, match=r"may not be read by this user; .*chmod u\+r t\.json"):
        load_trace(path)


def test_an_error_while_reading_stops_the_reader_and_reaches_the_caller(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(document())

    def interrupt(stage, done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_trace(path, progress=interrupt)
