"""Numbers and ids in any spelling, of any size, and words where numbers belong.

Every expected value is counted by hand in the six events of ``two_ops``.
"""

import pytest

from tests.ingest.making import text
from tests.variants.making import (
    codes,
    document,
    info,
    kernel,
    split,
    texts,
    whole,
)

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
