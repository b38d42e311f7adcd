"""Text that is no JSON or no UTF-8, at every place in a trace.

Every expected value is counted by hand in the six events of ``two_ops``.
"""

import pytest

from tests.variants.making import (
    PYTHON,
    TWO_OPS,
    analysis,
    codes,
    document,
    info,
    names_of,
    split,
    texts,
    whole,
)

QUOTES = {
    "around a word": (b'say "hi" now', 'say "hi" now'),
    "at both ends": (b'"quoted"', '"quoted"'),
    "a dictionary": (b'{"device": "cuda:0", "x": ["a", "b"]}(3): f', '{"device": "cuda:0", "x": ["a", "b"]}(3): f'),
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
