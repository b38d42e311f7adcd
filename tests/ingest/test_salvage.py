"""Broken text: whatever can be read is read, mended where the fault is known, and counted."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.making import decoded, document, head, load, same, sample, text
from tracelens_tui.ingest.lenient import lenient_object
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.ingest.salvage import salvage

GOOD = '{"ph": "X", "cat": "kernel", "name": "good", "pid": 0, "tid": 7, "ts": 1, "dur": 2}'


def broken(name='"k"', args="{}", ts="5.125"):
    return f'{{"ph": "X", "cat": "kernel", "name": {name}, "pid": 0, "tid": 7, "ts": {ts}, "dur": 2, "args": {args}}}'


MENDED = {
    "bare quotes": (broken(name='"a "b" c"'), {"name": 'a "b" c'}),
    "a dictionary as a name": (
        broken(name='"{"device": "cpu", "n": "x"}(1): f"'),
        {"name": '{"device": "cpu", "n": "x"}(1): f'},
    ),
    "a Windows path": (broken(name=r'"C:\Users\new\train.py(3): f"'), {"name": r"C:\Users\new\train.py(3): f"}),
    "a control character": (broken(name='"a\x01b"'), {"name": "a\x01b"}),
    "inf": (broken(args='{"bandwidth": inf, "stream": 7}'), {"args": {"bandwidth": None, "stream": 7}}),
    "minus nan": (broken(args='{"bandwidth": -nan}'), {"args": {"bandwidth": None}}),
    "NaN": (broken(args='{"bandwidth": NaN}'), {"args": {"bandwidth": None}}),
    "no answer": (broken(args='{"bandwidth": N/A, "stream": 1}'), {"args": {"bandwidth": None, "stream": 1}}),
    "a missing value": (broken(args='{"Description": , "stream": 7}'), {"args": {"Description": None, "stream": 7}}),
    "a missing last value": (broken(args='{"Description": }'), {"args": {"Description": None}}),
    "a comma at the end": (broken(args='{"stream": 7, }'), {"args": {"stream": 7}}),
    "a comma after a text": (broken(args='{"x": "y", }'), {"args": {"x": "y"}}),
    "a comma at the end of a list": (broken(args='{"x": ["y", "z", ], "a": ["b",,"c"]}'),
                                     {"args": {"x": ["y", "z"], "a": ["b", "c"]}}),
    "two commas": (broken(args='{"a": [1,, 2],, "b": 2}'), {"args": {"a": [1, 2], "b": 2}}),
    "quotes in an argument": (broken(args='{"Call stack": "f("x"); g", "stream": 7}'),
                              {"args": {"Call stack": 'f("x"); g', "stream": 7}}),
    "bytes that are no UTF-8": (broken(name='"a\udcffb"'), {"name": "a\ufffdb"}),
}  # fmt: skip


@pytest.mark.parametrize("case", MENDED)
@pytest.mark.parametrize("sizes", [{}, {"stretch": 150}], ids=["whole", "small"])
def test_known_faults_are_mended_and_counted(tmp_path, case, sizes):
    bad, expected = MENDED[case]
    data = f'{{"traceEvents": [{GOOD}, {bad}, {GOOD}]}}'.encode("utf-8", "surrogateescape")
    trace = load(tmp_path, data, **sizes)
    healthy = {
        "ph": "X",
        "cat": "kernel",
        "pid": 0,
        "tid": 7,
        "ts": Decimal("5.125"),
        "dur": 2,
        "name": "k",
        "args": {},
    }
    whole = trace_from_objects([json.loads(GOOD), {**healthy, **expected}, json.loads(GOOD)])
    assert trace.events.drop("name").equals(whole.events.drop("name"))
    assert trace.names.to_list() == whole.names.to_list()
    assert [(item.code, item.count) for item in trace.quality.items] == [("repaired_text", 1)]


@pytest.mark.parametrize("name", MENDED)
def test_the_lenient_reader_alone(name):
    bad, expected = MENDED[name]
    value = lenient_object(bad.replace("\udcff", "\ufffd"))
    assert value is not None
    assert {key: value[key] for key in expected} == expected
    assert value["ts"] == Decimal("5.125")


@pytest.mark.parametrize(
    "bad", ['{"ph": "X", "name": "x', "}", "}}", "[1]", '{"a" 1}}', "", '{"ph": tru', "{" * 50_000]
)
def test_what_cannot_be_mended_gives_nothing(bad):
    assert lenient_object(bad) is None


def test_an_event_that_cannot_be_mended_is_lost_alone(tmp_path):
    bad = '{"ph": "X", "name": "x" "y" 5: ::, "ts": [}'
    for sizes in ({}, {"stretch": 100}):
        trace = load(tmp_path, f'{{"traceEvents": [{GOOD}, {bad}, {GOOD}, 5, {GOOD}]}}'.encode(), **sizes)
        assert len(trace) == 3
        assert [(item.code, item.count) for item in trace.quality.items] == [("unreadable_event", 2)]
        assert (trace.quality.events_lost, trace.quality.partial) == (2, False)


def test_a_file_cut_anywhere_gives_a_prefix(tmp_path):
    data = document(sample(2))
    whole = trace_from_objects(sample(2))
    starts = whole.events["start_ns"].to_list()
    first = data.index(b'"traceEvents":[') + len(b'"traceEvents":[')
    for cut in range(data.index(b'"Trace"') + 200, len(data) - 1, 37):
        trace = load(tmp_path, data[:cut], stretch=400)
        assert trace.quality.partial, cut
        assert trace.quality.events_lost <= 1
        assert trace.events["start_ns"].to_list() == starts[: len(trace)]
        assert (len(trace) == len(whole)) == (decoded_prefix(data[first:cut]) == len(whole))


def decoded_prefix(data: bytes) -> int:
    """How many whole "X" events stand at the beginning of the items of a list."""
    decoder, at, count = json.JSONDecoder(), 0, 0
    content = data.decode("utf-8", "ignore")
    while at < len(content) and content[at] == "{":
        try:
            value, at = decoder.raw_decode(content, at)
        except ValueError:
            return count
        count += value.get("ph") == "X"
        at += 1
    return count


def test_a_broken_head_still_gives_events_and_known_keys(tmp_path):
    message = b'"INFO": ["said "hello" and C:\\Users"], '
    data = document().replace(b'"with_stack"', message + b'"with_stack"', 1)
    trace = load(tmp_path, data)
    same(trace, trace_from_objects(sample(), metadata=head()))


def test_records_of_two_writers_in_one_file_lose_no_more_than_what_is_mixed(tmp_path):
    data = f'{{"traceEvents": [{GOOD}, {GOOD[:40]}{GOOD}, {GOOD}]}}'.encode()
    trace = load(tmp_path, data)
    assert len(trace) >= 2
    assert trace.quality.events_lost + len(trace) >= 3


def test_an_unfinished_event_is_given_back_where_more_may_come():
    found = salvage((GOOD + ", " + GOOD[:30]).encode(), last=False)
    assert (len(found.objects), found.lost, found.rest) == (1, 0, GOOD[:30].encode())
    found = salvage((GOOD + ", " + GOOD[:30]).encode(), last=True)
    assert (len(found.objects), found.lost, found.cut) == (1, 1, True)


def test_text_after_the_list_is_left_as_it_is():
    found = salvage(f'{GOOD}], "traceName": "x]"}}'.encode() + b"\xff", last=True)
    assert (found.closed, found.rest) == (True, b', "traceName": "x]"}\xff')


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_never_crashes_and_never_invents_times(tmp_path_factory, data):
    """Random bytes overwritten in a document of three steps: what is read are events of the document, or an error."""
    original = document(sample(3))
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(original.index(b'"traceEvents":[') + 20, len(original) - 1))
        changed[at] = data.draw(st.integers(0, 255))
    trace = load(tmp_path_factory.mktemp("damaged"), bytes(changed), stretch=1000)
    numeric = set(b"0123456789.eE+-")
    if all(
        byte not in numeric and old not in numeric for byte, old in zip(changed, original, strict=True) if byte != old
    ):
        known = set(trace_from_objects(decoded(original)["traceEvents"]).events["start_ns"])
        assert set(trace.events["start_ns"]) <= known | {0}


def event(number: int, args: str = "{}", name: str = '"k"') -> str:
    place = '"pid": 0, "tid": 7'
    return f'{{"ph": "X", "cat": "kernel", "name": {name}, {place}, "ts": {number}, "dur": 1, "args": {args}}}'


def starts_and_lost(tmp_path, objects: list[str], between: str = ", ", **sizes) -> tuple[list[int], int]:
    trace = load(tmp_path, f'{{"traceEvents": [{between.join(objects)}]}}'.encode(), **sizes)
    return [start // 1000 for start in trace.events["start_ns"].to_list()], trace.quality.events_lost


@pytest.mark.parametrize("sizes", [{}, {"stretch": 200}], ids=["whole", "small"])
@pytest.mark.parametrize("between", [", ", ",\n{},\n", "\n"])
def test_a_broken_event_takes_no_sound_one_with_it(tmp_path, sizes, between):
    """Whatever bracket, quote or word it lacks: the event after it begins where it begins."""
    whole = event(2, '{"grid": [1, 2], "x": {"y": "z"}}')
    for fault in ('"grid": [', '"x": {', "}}", "]", '"z', '"name": ', '"k"', "2]", ": {", '"tid"', '"dur"', '"pid"'):
        broken = whole.replace(fault, fault[:-1].rstrip(' "') or "?", 1)
        starts, lost = starts_and_lost(tmp_path, [event(1), broken, event(3), event(4), event(5)], between, **sizes)
        assert [start for start in starts if start != 2] == [1, 3, 4, 5], broken
        assert lost <= 1


def test_a_text_without_its_end_does_not_go_on_in_the_next_event(tmp_path):
    """The next quotes might end it, and what follows them look like more keys of the same event."""
    broken = '{"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 2, "dur": 1, "name": "k}'
    for between in (", ", "\n"):
        assert starts_and_lost(tmp_path, [event(1), broken, event(3), event(4)], between) == ([1, 3, 4], 1)


@pytest.mark.parametrize("between", [", ", "\n"])
def test_a_bracket_instead_of_a_brace_does_not_end_the_list(tmp_path, between):
    objects = [event(1), "]" + event(2)[1:], event(3), event(4)]
    assert starts_and_lost(tmp_path, objects, between) == ([1, 3, 4], 1)


def test_an_event_between_empty_objects_is_mended(tmp_path):
    for empty in ("{}", "{ }, {\n}", "{}, {}, {}"):
        starts, lost = starts_and_lost(tmp_path, [event(1), event(2).replace("2,", "+2,"), empty, event(3)])
        assert (starts, lost) == ([1, 2, 3], 0)


@pytest.mark.parametrize("size", [3_000, 10_000, 100_000, 1_000_000])
def test_long_events_among_broken_ones(tmp_path, size):
    long = event(2, f'{{"grid": [{"1, " * (size // 3)}1]}}')
    assert starts_and_lost(tmp_path, [event(1).replace("1,", "nan,"), long, event(3)]) == ([2, 3], 1)
    assert starts_and_lost(tmp_path, [event(1), long.replace(" 2,", " +2,"), event(3)]) == ([1, 2, 3], 0)


@pytest.mark.parametrize("sizes", [{}, {"stretch": 150}, {"stretch": 400}], ids=str)
def test_a_list_in_a_broken_event_does_not_end_the_list_of_events(tmp_path, sizes):
    """What is left of the broken event holds objects that look like events, and brackets after them."""
    nested = event(2, '{"n": [{"ph": "X"}, {"ph": "X", "x": [{}, {"y": {}}]}], "a" 5: ::, "b": [}')
    starts, lost = starts_and_lost(tmp_path, [event(1), nested, *(event(at) for at in range(3, 20))], **sizes)
    assert starts == [1, *range(3, 20)]
    assert 1 <= lost <= 2


@pytest.mark.parametrize("sizes", [{}, {"stretch": 150}], ids=str)
@pytest.mark.parametrize("stray", ["]", "]}", "]}}", "}", "]]"])
def test_a_bracket_too_many_between_events_does_not_end_the_list(tmp_path, sizes, stray):
    objects = [event(1), event(2) + stray, event(3), event(4)]
    assert starts_and_lost(tmp_path, objects, **sizes) == ([1, 2, 3, 4], 1)


def test_events_after_what_seems_to_be_the_end_make_the_trace_partial(tmp_path):
    trace = load(tmp_path, f'{{"traceEvents": [{event(1)}] x, {event(2)}]}}'.encode())
    assert len(trace) == 1
    assert trace.quality.partial


def test_thousands_of_events_without_their_brackets(tmp_path):
    """Each seems to hold all that follow; none may cost a look at all of them."""
    broken = event(2).removesuffix("}}") + '"grid": [1'
    starts, lost = starts_and_lost(tmp_path, [event(1), *[broken] * 5000, event(3)])
    assert (starts, lost) == ([1, 3], 5000)


def test_bytes_that_are_no_utf8_within_arguments_are_replaced_and_counted(tmp_path):
    kernel = GOOD[:-1].encode() + b', "args": {"grid": "\xff", "stream": 3}}'
    label = b'{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "args": {"name": "s\xff"}}'
    trace = load(tmp_path, b'{"traceEvents": [' + b",".join([label, kernel, GOOD.encode(), label]) + b"]}")
    assert trace.details["grid"].to_list() == ["", "\ufffd"]
    assert trace.events["stream"].to_list() == [3, 7]
    assert trace.threads["thread_name"].to_list() == ["s\ufffd"]
    assert [(item.code, item.count) for item in trace.quality.items] == [("repaired_text", 3)]


def test_a_value_with_too_many_levels_is_lost_alone(tmp_path):
    deep = GOOD[:-1] + ', "args": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}"
    trace = load(tmp_path, f'{{"traceEvents": [{GOOD}, {deep}, {GOOD}]}}'.encode())
    assert len(trace) == 2
    assert trace.quality.events_lost == 1
    assert text(1) == b"1"
