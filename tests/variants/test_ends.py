"""Files that end early, and what stands around and between their events.

Every expected value is counted by hand in the six events of ``two_ops``.
"""

import zlib
from collections.abc import Callable

import pytest

from tests.variants.making import (
    DEVICE,
    TWO_OPS,
    codes,
    document,
    info,
    split,
    texts,
    whole,
)
from tracelens_tui.errors import UserError


def cut_in_a_number() -> bytes:
    return document(texts()).partition(b'"ts":70')[0] + b'"ts":7'


def cut_in_a_string() -> bytes:
    return document(texts(), b",\n").partition(b'_kernel","pid":0,"tid":7,"ts":70')[0]


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
    cut_in_a_number, cut_in_a_string, cut_after_an_escape, cut_within_a_character, cut_in_a_flushed_stream,
    cut_in_utf_16,
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


@pytest.mark.parametrize(
    "before", [b"INFO starting\n", b"\n\n\0\0\0", b"# made by x {y}\n", b"2026-01-01 [a] b: {c}\n"]
)
def test_what_stands_before_the_document_is_passed_over(tmp_path, before: bytes):
    told = info(tmp_path, before + document(texts()))
    whole(told)


@pytest.mark.parametrize(
    ("after", "count"), [(b"\ndone.\n", 5), (b"}", 1), (b"\n" + document(texts()), 0), (b" \n\0", 0)]
)
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
    for form in (
        document(broken),
        b"[" + b",".join(broken) + b"]",
        b",".join(broken).join((b'{"traceEvents":[', b"]}")),
    ):
        told = info(tmp_path, form)
        assert (told["events"], told["events_lost"]) == (5, 1)
        assert split(told) == {"window": 30, "busy": 30, "idle": 0, "compute": 30}
        assert codes(told) == {"unreadable_event": 1}
