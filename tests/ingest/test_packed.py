"""Packed files: what is inside is read, and what lies around it is told."""

import bz2
import gzip
import io
import lzma
import zipfile

import pytest

from tests.ingest.making import document, head, same, sample
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.ingest.packed import Packing, blocks_of


def read(tmp_path, data, name="trace.json", **sizes):
    path = tmp_path / name
    path.write_bytes(data)
    return load_trace(path, **sizes)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz"), (bytes, "none")]
)
def test_compressions_are_told_by_their_bytes_not_by_the_name(tmp_path, pack, name):
    for sizes in ({}, {"stretch": 100}):
        trace = read(tmp_path, pack(document()), "trace.png", **sizes)
        same(trace, trace_from_objects(sample(), metadata=head()))
        assert trace.metadata.source.compression == name


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_several_streams_and_stray_bytes_in_blocks_of_any_size(tmp_path, pack, block):
    data = document()
    parts = [data[:100], data[100:101], b"", data[101:]]
    path = tmp_path / "t"
    path.write_bytes(b"".join(pack(part) for part in parts) + b"\x00stray")
    packing = Packing()
    assert b"".join(blocks_of(path, packing, lambda _: None, block)) == data
    assert (packing.members, packing.trailing_bytes, packing.cut) == (4, 6, False)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_cut_file_gives_what_can_be_unpacked(tmp_path, pack):
    events = sample(4000)
    data = pack(document(events))
    trace = read(tmp_path, data[: len(data) * 2 // 3])
    assert trace.quality.partial
    assert trace.quality.get("truncated") is not None
    whole = trace_from_objects(events)
    assert 100 < len(trace) < len(whole)
    assert trace.events["start_ns"].to_list() == whole.events["start_ns"].to_list()[: len(trace)]


def test_a_file_that_lacks_only_its_checksum_is_read_whole_and_called_cut(tmp_path):
    trace = read(tmp_path, gzip.compress(document())[:-4])
    assert len(trace) == len(trace_from_objects(sample()))
    assert (trace.quality.partial, trace.quality.events_lost) == (True, 0)


def test_damage_in_the_middle_keeps_what_came_before(tmp_path):
    data = bytearray(gzip.compress(document(sample(1500))))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    trace = read(tmp_path, bytes(data), stretch=50_000)
    assert trace.quality.partial
    assert len(trace) > 100


def test_damage_at_the_beginning_is_an_error(tmp_path):
    with pytest.raises(UserError, match="is damaged: its compressed data cannot be read"):
        read(tmp_path, b"\x1f\x8b\x08\x00" + b"\xff" * 50)


def test_gzip_within_gzip_and_within_zip(tmp_path):
    for data, kind in (
        (gzip.compress(gzip.compress(document())), "gzip"),
        (zipped(**{"a/rank0.json.gz": gzip.compress(document())}), "zip"),
    ):
        trace = read(tmp_path, data)
        same(trace, trace_from_objects(sample(), metadata=head()))
        assert trace.metadata.source.compression == kind


def test_zip_uses_the_one_trace_and_says_so(tmp_path):
    members = {"__MACOSX/._t.json": b"{}", ".DS_Store": b"x", "readme.txt": b"hello", "run/t.json": document()}
    trace = read(tmp_path, zipped(**members))
    assert trace.metadata.source.member == "run/t.json"
    item = trace.quality.get("archive_member")
    assert item is not None
    assert item.count == 4


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (
            {"a.json": document(), "b.json": document()},
            r"of 2 files that may be traces; unpack the one .*a\.json, b\.json",
        ),
        ({"a.txt": b"no"}, "in which no file is a JSON trace"),
        ({}, "in which no file is a JSON trace"),
    ],
)
def test_zip_with_no_or_several_traces_is_an_error_that_names_them(tmp_path, members, words):
    with pytest.raises(UserError, match=words):
        read(tmp_path, zipped(**members))


def test_damaged_zip_and_zip_in_gzip_are_errors(tmp_path):
    with pytest.raises(UserError, match="damaged zip archive"):
        read(tmp_path, b"PK\x03\x04nothing")
    with pytest.raises(UserError, match="zip archive inside a gzip file"):
        read(tmp_path, gzip.compress(zipped(**{"a.json": document()})))


def test_zstd_names_the_command_where_this_python_cannot_read_it(tmp_path, monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(UserError, match=r"unpack it: zstd -d trace\.zst"):
        read(tmp_path, b"\x28\xb5\x2f\xfdxxxx", "trace.zst")


def test_progress_counts_the_bytes_of_the_file_itself(tmp_path):
    heard = []
    for data in (document(sample(2000)), gzip.compress(document(sample(2000))), zipped(a=document(sample(2000)))):
        path = tmp_path / "t"
        path.write_bytes(data)
        heard.clear()
        load_trace(path, progress=lambda *report: heard.append(report), stretch=10_000)
        assert {stage for stage, _, _ in heard} == {"read"}
        assert {total for _, _, total in heard} == {len(data)}
        done = [done for _, done, _ in heard]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, len(data))


def test_a_wrong_checksum_costs_no_event(tmp_path):
    data = bytearray(gzip.compress(document()))
    data[-8:-4] = b"\0\0\0\0"
    trace = read(tmp_path, bytes(data))
    assert trace.quality.partial
    assert len(trace) == len(trace_from_objects(sample(), metadata=head()))
    assert trace.quality.events_lost == 0


def test_every_byte_before_the_damage_is_given(tmp_path):
    text = bytes(range(256)) * 400  # packs into many small blocks
    packed = gzip.compress(text)
    for cut in (len(packed) - 8, len(packed) - 4):  # the checksum is wrong, or the length
        broken = bytearray(packed)
        broken[cut] ^= 0xFF
        path = tmp_path / "t.json.gz"
        path.write_bytes(broken)
        packing = Packing()
        assert b"".join(blocks_of(path, packing, lambda _: None)) == text
        assert packing.cut


def test_the_second_of_several_damaged_members_keeps_the_first(tmp_path):
    first, second = gzip.compress(b"a" * 1000), bytearray(gzip.compress(b"b" * 1000))
    second[-8] ^= 0xFF
    path = tmp_path / "t.json.gz"
    path.write_bytes(first + bytes(second))
    assert b"".join(blocks_of(path, Packing(), lambda _: None)) == b"a" * 1000 + b"b" * 1000
