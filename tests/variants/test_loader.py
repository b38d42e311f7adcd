"""Broken files in other spellings than the known cases: each kind of fault at other places, in other forms.

Every expected value is counted by hand in the six events of ``two_ops``.
"""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable

import pytest

from tests.ingest.making import text
from tests.variants.making import DEVICE, TWO_OPS, analysis, codes, document, info, kernel, names_of, split, texts
from tracelens_tui.errors import UserError

PYTHON = (
    b'{"ph": "X", "cat": "python_function", "name": "%s", "pid": 7, "tid": 7, "ts": 5, "dur": 90, '
    b'"args": {"Python id": 1}}'
)


def whole(told: dict, events: int = 6) -> None:
    assert (told["events"], told["events_lost"], told["partial"]) == (events, 0, False)
    assert split(told) == TWO_OPS
    assert (told["linked_count"], told["linked_percent"]) == (2, 100.0)


# a file that ends early


def cut_in_a_number() -> bytes:
    return document(texts()).partition(b'"ts":70')[0] + b'"ts":7'


def cut_in_a_string() -> bytes:
    return document(texts(), b",\n").partition(b"_kernel\",\"pid\":0,\"tid\":7,\"ts\":70")[0]


def cut_after_an_escape() -> bytes:
    broken = document([*texts()[:5], b'{"ph": "X", "name": "a \\'])
    return broken.removesuffix(b"]}")


def cut_within_a_character() -> bytes:
    return document([*texts()[:5], '{"ph": "X", "name": "µ'.encode()[:-1]]).removesuffix(b"]}")


def cut_in_a_flushed_stream() -> bytes:
    """A compressed file of which the last block was not written."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = cut_in_a_number()
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def cut_in_utf_16() -> bytes:
    return cut_in_a_number().decode().encode("utf-16")[:-1]


CUT = (
    cut_in_a_number, cut_in_a_string, cut_after_an_escape, cut_within_a_character, cut_in_a_flushed_stream, cut_in_utf_16,
)  # fmt: skip


@pytest.mark.parametrize("cut", CUT)
def test_the_event_that_is_cut_is_lost_and_the_rest_is_there(tmp_path, cut: Callable[[], bytes]):
    told = info(tmp_path, cut())
    assert (told["events"], told["events_lost"], told["partial"]) == (5, 1, True)
    assert split(told) == {"window": 10, "busy": 10, "idle": 0, "compute": 10}
    assert (told["counts"]["launch"], told["launches_without_kernel"]) == (2, 1)
    assert codes(told) == {"truncated": 1}


@pytest.mark.parametrize("tail", [b"", b",", b", ", b"]", b"],", b'], "traceName', b'], "traceName": "x"', b",\n{}"])
def test_a_file_that_is_cut_between_events_lacks_nothing_but_its_end(tmp_path, tail: bytes):
    told = info(tmp_path, document(texts(), tail=tail))
    assert (told["events"], told["events_lost"], told["partial"]) == (6, 0, True)
    assert (split(told), codes(told)) == (TWO_OPS, {"truncated": 1})


def test_a_file_that_is_cut_before_its_events_is_no_trace(tmp_path):
    with pytest.raises(UserError, match="JSON but no trace"):
        info(tmp_path, b"{" + DEVICE)


# brackets, commas, lists without an object


@pytest.mark.parametrize("end", [b"]", b"", b",", b",{}", b",{},", b",\n]\n", b"\n", b"]\0\0\0", b", {}, {}, ]"])
@pytest.mark.parametrize("separator", [b",", b",\r\n", b" , ", b"\n,\n", b",,", b"\n"])
def test_arrays_with_and_without_their_end(tmp_path, end: bytes, separator: bytes):
    told = info(tmp_path, b"[" + separator.join(texts()) + end)
    whole(told)
    assert codes(told) == {}


@pytest.mark.parametrize("separator", [b",", b",\n,", b", {}, ", b",\n{\n},\n", b" "])
@pytest.mark.parametrize("tail", [b"]}", b",]}", b"],}", b', {}], "traceName": "x",}', b"]}\0\0\n"])
def test_objects_with_commas_and_empty_events(tmp_path, separator: bytes, tail: bytes):
    told = info(tmp_path, document(texts(), separator, tail))
    whole(told)
    assert codes(told) == {}


LINES = {
    "events": b"\n".join(texts()),
    "a blank line after each": b"\n\n".join(texts()) + b"\n",
    "CRLF": b"\r\n".join(texts()) + b"\r\n",
    "a comma after each": b",\n".join(texts()),
    "a comma after the last, too": b",\n".join(texts()) + b",\n",
    "metadata first": b"{" + DEVICE + b"}\n" + b"\n".join(texts()),
    "BOM": b"\xef\xbb\xbf" + b"\n".join(texts()),
    "a log first": b"INFO: profiling\nwarning: 3 of [4]\n" + b"\n".join(texts()),
    "spread": b"\n".join(each.replace(b",", b",\n  ").replace(b"{", b"{\n  ") for each in texts()),
}


@pytest.mark.parametrize("form", LINES)
def test_one_event_per_line(tmp_path, form: str):
    told = info(tmp_path, LINES[form])
    whole(told)
    assert codes(told) == {}


def test_lines_that_are_no_events_are_counted(tmp_path):
    told = info(tmp_path, b"\n".join([*texts()[:3], b"Segmentation fault", *texts()[3:]]))
    assert (told["events"], told["events_lost"], codes(told)) == (6, 1, {"unreadable_event": 1})
    assert split(told) == TWO_OPS


@pytest.mark.parametrize("before", [b"INFO starting\n", b"\n\n\0\0\0", b"# made by x {y}\n", b"2026-01-01 [a] b: {c}\n"])
def test_what_stands_before_the_document_is_passed_over(tmp_path, before: bytes):
    told = info(tmp_path, before + document(texts()))
    whole(told)


@pytest.mark.parametrize(("after", "count"), [(b"\ndone.\n", 5), (b"}", 1), (b"\n" + document(texts()), 0), (b" \n\0", 0)])
def test_what_stands_after_the_document_is_counted(tmp_path, after: bytes, count: int):
    count = count or len(after.strip(b" \n\0"))
    told = info(tmp_path, document(texts()) + after)
    whole(told)
    assert told["source"]["trailing_bytes"] == count
    assert codes(told) == ({"trailing_bytes": count} if count else {})


def test_events_under_another_key(tmp_path):
    whole(info(tmp_path, b'{"TraceEvents": [' + b",".join(texts()) + b"]}"))


def test_a_missing_bracket_costs_one_event(tmp_path):
    """Without its brackets the third event seems to hold all that follow."""
    broken = texts()
    broken[2] = broken[2].removesuffix(b"}}") + b',"grid":[1,'
    for form in (document(broken), b"[" + b",".join(broken) + b"]", b",".join(broken).join((b'{"traceEvents":[', b"]}"))):
        told = info(tmp_path, form)
        assert (told["events"], told["events_lost"]) == (5, 1)
        assert split(told) == {"window": 30, "busy": 30, "idle": 0, "compute": 30}
        assert codes(told) == {"unreadable_event": 1}


# text


QUOTES = {
    "around a word": (b'say "hi" now', 'say "hi" now'),
    "at both ends": (b'"quoted"', '"quoted"'),
    "a dictionary": (b"{\"device\": \"cuda:0\", 'x': [\"a\", \"b\"]}(3): f", "{\"device\": \"cuda:0\", 'x': [\"a\", \"b\"]}(3): f"),
    "braces and brackets": (b"a}, {b \"[c]\": 'd'}] e", "a}, {b \"[c]\": 'd'}] e"),
    "escaped ones, too": (b'f(\\"a\\") "b"', 'f("a") "b"'),
    "one": (b'5" disk', '5" disk'),
    "beside a backslash": (b'C:\\dir\\"new" x', 'C:\\dir"new" x'),
}  # fmt: skip


@pytest.mark.parametrize("case", QUOTES)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_bare_quotes_in_a_name(tmp_path, case: str, place: int):
    raw, name = QUOTES[case]
    events = texts()
    events.insert(place, PYTHON % raw)
    opened = analysis(tmp_path, document(events))
    assert names_of(opened)[place] == name
    told = info(tmp_path, document(events))
    whole(told, 7)
    assert codes(told) == {"repaired_text": 1}


def test_a_quote_that_seems_to_end_the_list_does_not_hide_what_follows(tmp_path):
    """With its bare quotes this name is an empty one, then comes the end of the event, and of the list."""
    told = info(tmp_path, document([*texts()[:3], PYTHON % b'"}], "x": [{"', *texts()[3:]]))
    assert (told["linked_count"], told["partial"]) == (2, False)
    assert split(told) == TWO_OPS
    assert "unreadable_event" in codes(told)


def test_bare_quotes_in_arguments_in_metadata_and_in_a_label(tmp_path):
    events = texts()
    events[0] = events[0].replace(b'"External id":1', b'"Call stack": "f("x"); g", "External id": 1')
    label = b'{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "ts": 0, "args": {"name": "my "thread""}}'
    given = document([label, *events], tail=b'], "traceName": "a "b" c"}')
    told = info(tmp_path, given)
    whole(told, 7)
    assert codes(told) == {"repaired_text": 2}
    assert 'my "thread"' in analysis(tmp_path, given).trace.threads["thread_name"].to_list()


BYTES = {
    "raw control characters": (b"a\x01b\x1fc", "a\x01b\x1fc"),
    "a tab and a line break": (b"a\tb\nc", "a\tb\nc"),
    "a zero": (b"a\0b", "a\0b"),
    "Latin-1": (b"caf\xe9.py", "caf\ufffd.py"),
    "half a character": (b"a\xc3", "a\ufffd"),
    "an overlong form": (b"a\xc0\xafb", "a\ufffd\ufffdb"),
    "halves in UTF-8": (b"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"),
    "beyond Unicode": (b"\xf5\x80\x80\x80", "\ufffd" * 4),
    "FF FE": (b"\xff\xfe", "\ufffd\ufffd"),
    "the first half of a pair": (b"half \\ud83d emoji", "half ? emoji"),
    "the second half": (b"\\uDE00", "?"),
    "halves in the wrong order": (b"\\ude00\\ud83d", "??"),
    "a pair and a half": (b"\\ud83d\\ude00\\ud83d", "\U0001f600?"),
    "a Windows path": (b"C:\\Users\\new\\train.py(3): f", "C:\\Users\\new\\train.py(3): f"),
    "a path with escapes that exist": (b"C:\\temp\\bin\\x.py", "C:\\temp\\bin\\x.py"),
    "a share": (b"\\\\host\\dir", "\\\\host\\dir"),
    "half an escape": (b"a\\u12", "a\\u12"),
    "an octal one": (b"a\\033[0m", "a\\033[0m"),
}  # fmt: skip


@pytest.mark.parametrize("case", BYTES)
@pytest.mark.parametrize("place", [0, 6])
def test_bytes_that_have_no_place_in_a_name(tmp_path, case: str, place: int):
    raw, name = BYTES[case]
    events = texts()
    events.insert(place, PYTHON % raw)
    opened = analysis(tmp_path, document(events))
    assert names_of(opened)[place] == name
    told = info(tmp_path, document(events))
    whole(told, 7)
    assert codes(told) == {"repaired_text": 1}


def test_sound_escapes_are_no_repair(tmp_path):
    raw = b'a\\u00e9\\ud83d\\ude00\\\\d\\/\\"\\t\x7f' + "ü\u2028".encode()
    opened = analysis(tmp_path, document([PYTHON % raw, *texts()]))
    assert names_of(opened)[0] == 'aé\U0001f600\\d/"\t\x7fü\u2028'
    assert codes(info(tmp_path, document([PYTHON % raw, *texts()]))) == {}


# numbers


SPELLINGS = [b"70", b"70.0", b"7e1", b"7.0E+1", b"700e-1", b'"70"', b'" 70.000 "', b'"7e1"', b"0.07e3"]
LOOSE = [b"+70", b"070", b"70.", b"70.e0"]


@pytest.mark.parametrize("spelling", SPELLINGS + LOOSE)
def test_a_time_in_any_spelling(tmp_path, spelling: bytes):
    given = document(texts()).replace(b'"ts":70', b'"ts":' + spelling)
    told = info(tmp_path, given)
    whole(told)
    assert codes(told) == ({"repaired_text": 1} if spelling in LOOSE else {})


NO_NUMBER = [b"NaN", b"-Infinity", b"inf", b"N/A", b"", b"-nan(ind)", b"None", b"undefined"]
NO_NUMBER_IN_JSON = [b'"N/A"', b'""', b"null", b'"NaN"', b"1e400", b"[]", b"{}", b"true", b'"1,5"', b"9" * 400]


@pytest.mark.parametrize("word", NO_NUMBER + NO_NUMBER_IN_JSON)
def test_an_event_without_a_time_is_lost_and_counted(tmp_path, word: bytes):
    told = info(tmp_path, document(texts()).replace(b'"ts":70', b'"ts":' + word))
    assert (told["events"], told["events_lost"]) == (6, 1)
    assert split(told) == {"window": 10, "busy": 10, "idle": 0, "compute": 10}
    assert codes(told)["unreadable_event"] == 1


@pytest.mark.parametrize("word", NO_NUMBER + NO_NUMBER_IN_JSON)
def test_a_kernel_without_a_length_takes_no_time(tmp_path, word: bytes):
    told = info(tmp_path, document(texts()).replace(b'"dur":30', b'"dur":' + word))
    assert (told["events"], told["events_lost"], told["gpu_events"]) == (6, 0, 2)
    assert split(told) == {"window": 10, "busy": 10, "idle": 0, "compute": 10}
    assert codes(told)["missing_duration"] == 1


@pytest.mark.parametrize("word", NO_NUMBER)
def test_arguments_without_a_number(tmp_path, word: bytes):
    """As profilers write the occupancy of a kernel without one."""
    events = texts()
    events[2] = events[2].replace(b'"device":0', b'"est. achieved occupancy %": ' + word + b', "device": 0')
    events[5] = events[5].replace(b'"stream":7', b'"stream": 7, "blocks per SM": [' + word + b", 1.5, " + word + b"]")
    told = info(tmp_path, document(events))
    whole(told)
    assert codes(told) == {"repaired_text": 2}


IDS = [b'"5"', b"5.0", b"5e0", b"9223372036854775807", b"9223372036854775808", b"18446744073709551617",
       b'"18446744073709551617"', b"123456789012345678901234567890", b'"00018446744073709551617"']  # fmt: skip


@pytest.mark.parametrize("number", IDS)
def test_ids_of_any_size_and_spelling_link(tmp_path, number: bytes):
    given = document(texts()).replace(b'"correlation":2', b'"correlation":' + number)
    whole(info(tmp_path, given))


def test_large_ids_are_told_apart(tmp_path):
    events = texts()
    for place, number in ((1, b"18446744073709551617"), (2, b"18446744073709551617"), (4, b"18446744073709551618")):
        events[place] = events[place].replace(b'"correlation":1', b'"correlation":' + number)
        events[place] = events[place].replace(b'"correlation":2', b'"correlation":' + number)
    told = info(tmp_path, document(events))
    assert (told["linked_count"], codes(told)) == (1, {"unlinked": 1})


@pytest.mark.parametrize("none", [b"0", b"-1", b"18446744073709551615", b"null", b'"0"', b'"-1"', b"0.0", b'""', b"[]"])
def test_ids_that_mean_none_link_nothing(tmp_path, none: bytes):
    told = info(tmp_path, document(texts()).replace(b'"correlation":2', b'"correlation":' + none))
    assert (told["linked_count"], codes(told)) == (1, {"unlinked": 1})


@pytest.mark.parametrize(("one", "other"), [(b"7", b'"7"'), (b"7", b"7.0"), (b"140588800255680", b'"140588800255680"')])
def test_one_thread_in_two_spellings(tmp_path, one: bytes, other: bytes):
    events = [each.replace(b'"pid":7,"tid":7', b'"pid":7,"tid":' + one) for each in texts()]
    events[4] = events[4].replace(b'"tid":' + one, b'"tid":' + other)
    told = info(tmp_path, document(events))
    whole(told)
    assert told["host_threads"] == 1


def test_threads_beyond_64_bits_and_as_text(tmp_path):
    tids = (b"18446744073709551615", b"140588800255680", b'"thread 7 "', b"18446744073709551616", b"-5", b"null")
    events = [each.replace(b'"tid":7', b'"tid":' + tid) for each, tid in zip(texts()[:1] * 6, tids, strict=True)]
    assert info(tmp_path, document([*events, text(kernel("k", "1", "1"))]))["host_threads"] == 6


# packings


def members(*parts: bytes) -> bytes:
    return b"".join(gzip.compress(part) for part in parts)


def with_header_fields(data: bytes) -> bytes:
    """A gzip member with an extra field, a file name, a comment and a checksum of its header."""
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + struct.pack("<H", 6) + b"BC\2\0\1\0" + b"name.json\0" + b"by hand\0"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def zipped(method: int, **files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def tarred(kind: int = tarfile.PAX_FORMAT, **files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
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


JUNK = {"__MACOSX__._a.json": b'{"a": 1}', "run__.DS_Store": b"[x]", "run__._a.json": b"{}", "notes.txt": b"none"}
ARCHIVES = {
    "zip, stored": zipped(zipfile.ZIP_STORED, **JUNK, run__a=DATA),
    "zip, deflated": zipped(zipfile.ZIP_DEFLATED, **JUNK, run__a=DATA),
    "zip, bzip2": zipped(zipfile.ZIP_BZIP2, **JUNK, run__a=DATA),
    "zip, LZMA": zipped(zipfile.ZIP_LZMA, **JUNK, run__a=DATA),
    "zip, packed again": zipped(zipfile.ZIP_STORED, **JUNK, run__a=gzip.compress(DATA)),
    "zip, another encoding": zipped(zipfile.ZIP_STORED, **JUNK, run__a=DATA.decode().encode("utf-16")),
    "tar": tarred(**JUNK, run__a=DATA),
    "tar of GNU": tarred(tarfile.GNU_FORMAT, **JUNK, run__a=DATA),
    "tar of POSIX 1988": tarred(tarfile.USTAR_FORMAT, **JUNK, run__a=DATA),
    "tar.gz": gzip.compress(tarred(**JUNK, run__a=DATA)),
    "tar.bz2": bz2.compress(tarred(**JUNK, run__a=DATA)),
    "tar.xz": lzma.compress(tarred(**JUNK, run__a=DATA)),
    "tar of a packed file": tarred(**JUNK, run__a=gzip.compress(DATA)),
    "tar.gz of a packed file": gzip.compress(tarred(**JUNK, run__a=gzip.compress(DATA))),
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
    told = info(tmp_path, tarred(kind, **{name: DATA}))
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


def test_a_tar_archive_that_is_cut(tmp_path):
    data = tarred(a=DATA)
    inside = data.index(b'"ts":70')
    told = info(tmp_path, data[:inside])
    assert (told["events"], told["events_lost"], told["partial"]) == (5, 1, True)
    whole(info(tmp_path, data[: 512 + -(-len(DATA) // 512) * 512]))  # nothing is missing but the mark of the end


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (tarred(a=DATA, b=b"x", c=gzip.compress(DATA)), r"tar archive of 2 files that may be traces; .*\(a, c\)"),
        (gzip.compress(tarred(a=b"x", b=b"")), "tar archive in which no file is a JSON trace"),
        (tarred(), "looks like|only white space or zeros"),
        (zipped(zipfile.ZIP_STORED, a=zipped(zipfile.ZIP_STORED, b=DATA)), "in which no file is a JSON trace"),
        (tarred(a=zipped(zipfile.ZIP_STORED, b=DATA)), "in which no file is a JSON trace"),
        (zipped(zipfile.ZIP_STORED, a=DATA)[:-30], "damaged zip archive"),
        (b"7z\xbc\xaf\x27\x1c....", "a 7z archive"),
    ],
)
def test_archives_that_are_refused(tmp_path, data: bytes, words: str):
    with pytest.raises(UserError, match=words):
        info(tmp_path, data)


def test_an_archive_with_a_password_says_so(tmp_path):
    data = bytearray(zipped(zipfile.ZIP_STORED, a=DATA))
    for at in (6, data.index(b"PK\1\2") + 8):
        data[at] |= 1  # the flag in both directories
    with pytest.raises(UserError, match="zip archive with a password; unpack it first"):
        info(tmp_path, bytes(data))


# encodings


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
