"""Streams, archives and encodings around a trace.

Every expected value is counted by hand in the six events of ``two_ops``.
"""

import bz2
import gzip
import io
import lzma
import random
import struct
import tarfile
import zipfile
import zlib

import pytest

from tests.ingest.making import text
from tests.variants.making import (
    PYTHON,
    TWO_OPS,
    analysis,
    codes,
    document,
    info,
    kernel,
    names_of,
    split,
    texts,
    whole,
)
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.packed import Packing, blocks_of


def members(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part) for part in parts)


def with_header_fields(data: bytes) -> bytes:
    """A gzip member with an extra field, a file name, a comment and a checksum of its header."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 6) + b"BC\2\0\1\0" + b"name.json\0" + b"by hand\0"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def zipped(method: int, files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], kind: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


DATA = document(texts())
THIRD = len(DATA) // 3
MANY = {
    "three members": (members(DATA[:THIRD], DATA[THIRD : 2 * THIRD], DATA[2 * THIRD :]), 3, 0),
    "an empty member at both ends": (members(b"", DATA, b""), 3, 0),
    "one per byte": (members(*(DATA[at : at + 1] for at in range(300)), DATA[300:]), 301, 0),
    "header fields": (with_header_fields(DATA[:THIRD]) + with_header_fields(DATA[THIRD:]), 2, 0),
    "zeros behind": (members(DATA) + bytes(512), 1, 512),
    "text behind": (members(DATA[:9], DATA[9:]) + b"stray", 2, 5),
    "half a magic behind": (members(DATA) + b"\x1f", 1, 1),
    "bzip2 twice": (bz2.compress(DATA[:THIRD]) + bz2.compress(DATA[THIRD:]), 2, 0),
    "xz twice and text": (lzma.compress(DATA[:THIRD]) + lzma.compress(DATA[THIRD:]) + b"????????", 2, 8),
}


@pytest.mark.parametrize("form", MANY)
def test_several_members_and_bytes_behind(tmp_path, form: str):
    data, count, stray = MANY[form]
    told = info(tmp_path, data, "trace.zip")
    whole(told)
    assert (told["source"]["members"], told["source"]["trailing_bytes"]) == (count, stray)
    assert codes(told) == ({"trailing_bytes": stray} if stray else {})


@pytest.mark.parametrize("block", [1, 7, 100])
def test_header_fields_in_blocks_of_any_size(tmp_path, block: int):
    path = tmp_path / "t"
    parts = [random.Random(seed).randbytes(2000) for seed in range(4)]
    path.write_bytes(b"".join(map(with_header_fields, parts)))
    assert b"".join(blocks_of(path, Packing(), lambda _: None, block)) == b"".join(parts)


def test_damage_in_a_small_file_costs_what_comes_after_it(tmp_path):
    """Half of the packed bytes are sound."""
    events = [text(kernel(f"k{at * 7919 % 1000}", f"{at}.{at * 104729 % 1000:03d}", "0.5")) for at in range(400)]
    data = bytearray(gzip.compress(document(events)))
    data[len(data) // 2] ^= 255
    data[len(data) // 2 + 1] ^= 255
    told = info(tmp_path, bytes(data))
    assert told["partial"]
    assert 120 < told["events"] < 300


@pytest.mark.parametrize("lacking", [1, 4, 8])
def test_a_stream_that_lacks_its_end(tmp_path, lacking: int):
    """The checksum and the length are not there, or not whole: all events are, but the file was cut."""
    told = info(tmp_path, gzip.compress(DATA)[:-lacking])
    assert (told["events"], told["events_lost"], told["partial"], codes(told)) == (6, 0, True, {"truncated": 1})
    assert split(told) == TWO_OPS


def test_a_member_after_the_first_that_is_damaged(tmp_path):
    data = gzip.compress(DATA[:THIRD]) + gzip.compress(DATA[THIRD:])[:12] + b"\xff" * 30
    told = info(tmp_path, data)
    assert told["partial"]
    assert told["events"] < 6


JUNK = {"__MACOSX/._a.json": b'{"a": 1}', "run/.DS_Store": b"[x]", "run/._a.json": b"{}", "notes.txt": b"none"}
WITH_JUNK = {**JUNK, "run/a": DATA}
AGAIN = {**JUNK, "run/a": gzip.compress(DATA)}
ARCHIVES = {
    "zip, stored": zipped(zipfile.ZIP_STORED, WITH_JUNK),
    "zip, deflated": zipped(zipfile.ZIP_DEFLATED, WITH_JUNK),
    "zip, bzip2": zipped(zipfile.ZIP_BZIP2, WITH_JUNK),
    "zip, LZMA": zipped(zipfile.ZIP_LZMA, WITH_JUNK),
    "zip, packed again": zipped(zipfile.ZIP_STORED, AGAIN),
    "zip, another encoding": zipped(zipfile.ZIP_STORED, {**JUNK, "run/a": DATA.decode().encode("utf-16")}),
    "tar": tarred(WITH_JUNK),
    "tar of GNU": tarred(WITH_JUNK, tarfile.GNU_FORMAT),
    "tar of POSIX 1988": tarred(WITH_JUNK, tarfile.USTAR_FORMAT),
    "tar.gz": gzip.compress(tarred(WITH_JUNK)),
    "tar.bz2": bz2.compress(tarred(WITH_JUNK)),
    "tar.xz": lzma.compress(tarred(WITH_JUNK)),
    "tar of a packed file": tarred(AGAIN),
    "tar.gz of a packed file": gzip.compress(tarred(AGAIN)),
}  # fmt: skip


@pytest.mark.parametrize("form", ARCHIVES)
def test_archives_of_one_trace_among_other_files(tmp_path, form: str):
    told = info(tmp_path, ARCHIVES[form], "trace.json")
    whole(told)
    assert told["source"]["member"] == "run/a"
    assert codes(told) == {"archive_member": 5}


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_in_a_tar_archive(tmp_path, kind: int):
    name = "a/" + "x" * 300 + "é.json"
    told = info(tmp_path, tarred({name: DATA}, kind))
    whole(told)
    assert told["source"]["member"] == name


def test_links_and_folders_in_a_tar_archive(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("run", tarfile.DIRTYPE), ("run/last.json", tarfile.SYMTYPE), ("pipe", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "a.json"
            archive.addfile(entry)
        entry = tarfile.TarInfo("run/a.json")
        entry.size = len(DATA)
        archive.addfile(entry, io.BytesIO(DATA))
    told = info(tmp_path, out.getvalue())
    whole(told)
    assert (told["source"]["member"], codes(told)) == ("run/a.json", {})


def test_what_is_around_a_tar_archive_is_looked_at(tmp_path):
    packed = gzip.compress(tarred({"a": DATA}))
    told = info(tmp_path, packed + b"stray")
    whole(told)
    assert codes(told) == {"trailing_bytes": 5}
    assert info(tmp_path, packed[:-4])["partial"]
    path = tmp_path / "t"
    path.write_bytes(packed + b"stray")
    packing = Packing()
    assert b"".join(blocks_of(path, packing, lambda _: None, 700)) == DATA
    assert packing.trailing_bytes == 5


def test_a_tar_archive_that_is_cut(tmp_path):
    data = tarred({"a": DATA})
    inside = data.index(b'"ts":70')
    told = info(tmp_path, data[:inside])
    assert (told["events"], told["events_lost"], told["partial"]) == (5, 1, True)
    whole(info(tmp_path, data[: 512 + -(-len(DATA) // 512) * 512]))  # nothing is missing but the mark of the end


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            tarred({"a": DATA, "b": b"x", "c": gzip.compress(DATA)}),
            r"tar archive of 2 files that may be traces; .*\(a, c\)",
        ),
        (gzip.compress(tarred({"a": b"x", "b": b""})), "tar archive in which no file is a JSON trace"),
        (tarred({}), "looks like|only white space or zeros"),
        (
            zipped(zipfile.ZIP_STORED, {"a": zipped(zipfile.ZIP_STORED, {"b": DATA})}),
            "in which no file is a JSON trace",
        ),
        (tarred({"a": zipped(zipfile.ZIP_STORED, {"b": DATA})}), "in which no file is a JSON trace"),
        (zipped(zipfile.ZIP_STORED, {"a": DATA})[:-30], "damaged zip archive"),
        (b"7z\xbc\xaf\x27\x1c....", "a 7z archive"),
    ],
)
def test_archives_that_are_refused(tmp_path, data: bytes, words: str):
    with pytest.raises(UserError, match=words):
        info(tmp_path, data)


def test_an_archive_with_a_password_says_so(tmp_path):
    data = bytearray(zipped(zipfile.ZIP_STORED, {"a": DATA}))
    for at in (6, data.index(b"PK\1\2") + 8):
        data[at] |= 1  # the flag in both directories
    with pytest.raises(UserError, match="zip archive with a password; unpack it first"):
        info(tmp_path, bytes(data))


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("before", ["", " \r\n\t"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_encodings_with_and_without_their_mark(tmp_path, name, mark, before, pack):
    events = [*texts(), PYTHON % "µ \U0001f600 ü".encode()]
    given = pack((mark + before + document(events).decode()).encode(name))
    told = info(tmp_path, given)
    whole(told, 7)
    assert codes(told) == {}
    assert "µ \U0001f600 ü" in names_of(analysis(tmp_path, given))


@pytest.mark.parametrize("form", ["array", "lines"])
@pytest.mark.parametrize("name", ["utf-16", "utf-16-be"])
def test_other_forms_in_other_encodings(tmp_path, form: str, name: str):
    plain = {"array": b"[" + b",\n".join(texts()) + b"]", "lines": b"\r\n".join(texts())}[form]
    whole(info(tmp_path, plain.decode().encode(name)))


def test_half_a_surrogate_pair_in_utf_16_is_repaired(tmp_path):
    given = document([*texts(), PYTHON % b"a@b"]).decode().replace("@", "\ud83d").encode("utf-16", "surrogatepass")
    told = info(tmp_path, given)
    whole(told, 7)
    assert codes(told) == {"repaired_text": 1}


def test_names_that_lie(tmp_path):
    for name in ("a.json.gz", "a.zip", "a.txt", "a", "a.tar", "a.png"):
        whole(info(tmp_path, DATA, name))
        whole(info(tmp_path, gzip.compress(DATA), name))
