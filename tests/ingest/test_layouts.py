"""The same events, written in every layout that JSON allows, cut in every size: always the same Trace."""

import json
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import msgspec
import pytest

from tests.ingest.making import decoded, document, event, head, load, same, sample, text
from tracelens_tui.errors import UserError
from tracelens_tui.ingest import arguments, reading
from tracelens_tui.ingest.objects import trace_from_objects

SIZES = {"stretch": 300}


def _spaced(indent: int) -> Callable[[], bytes]:
    return lambda: msgspec.json.format(document(), indent=indent)


def _shuffled_keys() -> bytes:
    events = [dict(sorted(item.items(), reverse=turn % 2 == 0)) for turn, item in enumerate(sample())]
    return text({"traceEvents": events, **head()})


def _kineto() -> bytes:
    """The writer's own form: one top key a line, an event on five to seven lines, args on few."""
    out = [b"\n{\n"]
    for key, value in head().items():
        out.append(b"  " + text(key) + b": " + text(value) + b",\n")
    out.append(b'  "traceEvents": [\n')
    for number, item in enumerate(sample()):
        args = item.get("args")
        plain = {key: value for key, value in item.items() if key not in {"ts", "dur", "args"}}
        lines = [text(plain)[1:-1]] if plain else []
        if "ts" in item:
            lines.append(text({key: item[key] for key in ("ts", "dur") if key in item})[1:-1])
        if args is not None:
            lines.append(b'"args": {\n      ' + text(args)[1:-1].replace(b',"', b',\n      "', 1) + b"\n    }")
        out.append((b",\n" if number else b"") + b"  {\n    " + b",\n    ".join(lines) + b"\n  }")
    return b"".join([*out, b'\n  ],\n  "traceName": "fit-[S]x.json"\n}\n'])


def _strange_space() -> bytes:
    pieces = [_loose(item) for item in sample()]
    return text(head())[:-1] + b' , "traceEvents"\n:\n[' + b"\n ,\t".join(pieces) + b" ] } "


def _loose(value: Any) -> bytes:
    if isinstance(value, dict):
        pairs = [text(key) + b"\t:\r\n " + _loose(item) for key, item in value.items()]
        return b"{ " + b" ,\n\n".join(pairs) + b"\t}"
    return b"[\n" + b"\n,".join(map(_loose, value)) + b" ]" if isinstance(value, list) else text(value)


LAYOUTS: dict[str, Callable[[], bytes]] = {
    "one line": document,
    "indent 2": _spaced(2),
    "indent 4": _spaced(4),
    "one event a line": lambda: text(head())[:-1] + b',"traceEvents":[\n' + b",\n".join(map(text, sample())) + b"\n]}",
    "Kineto": _kineto,
    "keys in any order, events first": _shuffled_keys,
    "strange white space": _strange_space,
    "BOM": lambda: b"\xef\xbb\xbf" + document(),
    "escaped characters": lambda: json.dumps(json.loads(document(), parse_float=_Number), default=str).encode(),
}


class _Number(float):
    """A float that json writes with the digits it was read with."""

    def __new__(cls, digits: str) -> "_Number":
        made = super().__new__(cls, digits)
        made.digits = digits  # type: ignore[attr-defined]
        return made

    def __repr__(self) -> str:
        return self.digits  # type: ignore[attr-defined]


@pytest.fixture
def expected() -> Any:
    return trace_from_objects(sample(), metadata=head())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [SIZES, {"stretch": 2000}, {}], ids=["tiny", "small", "whole"])
def test_every_layout_and_cut_gives_the_same_trace(tmp_path, expected, layout, sizes):
    data = LAYOUTS[layout]()
    if layout != "escaped characters":
        assert decoded(data.removeprefix(b"\xef\xbb\xbf"))["traceEvents"] == sample(), "the layout itself is wrong"
    same(load(tmp_path, data, **sizes), expected)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "strange white space"])
def test_sound_files_never_need_the_slow_readers(tmp_path, monkeypatch, layout):
    """Apart from the last event, which lies before the end of the list."""
    slow = []
    real = reading.salvage
    monkeypatch.setattr(reading, "salvage", lambda text, last: slow.append(last) or real(text, last=last))
    monkeypatch.setattr(arguments, "_object_of", slow.append)
    load(tmp_path, LAYOUTS[layout](), stretch=4000)
    assert slow == [True]


def test_metadata_after_the_events_with_objects_that_look_like_events(tmp_path, expected):
    extra = [{"ph": "X", "name": "none"}, {"ph": "X", "name": "none either"}] * 20
    events_first = text({"traceEvents": sample(), "more": extra, **head()})
    for sizes in ({}, SIZES):
        same(load(tmp_path, events_first, **sizes), expected)


@pytest.mark.parametrize("tail", [b"]", b",]", b"", b","], ids=["closed", "comma", "open", "open comma"])
def test_bare_array_with_or_without_its_end(tmp_path, tail):
    data = b"[" + b",".join(map(text, sample())) + tail
    for sizes in ({}, SIZES):
        trace = load(tmp_path, data, **sizes)
        same(trace, trace_from_objects(sample()))


def test_one_event_per_line_without_a_list(tmp_path):
    for separator in (b"\n", b"\n\n", b"\r\n"):
        data = separator.join(map(text, sample())) + separator
        for sizes in ({}, SIZES):
            same(load(tmp_path, data, **sizes), trace_from_objects(sample()))


def test_events_of_one_object_over_several_lines_without_a_list(tmp_path):
    first = text(sample()[0]) + b"\n"
    data = first + b"\n".join(msgspec.json.format(text(item), indent=2) for item in sample()[1:])
    same(load(tmp_path, data, **SIZES), trace_from_objects(sample()))


def test_a_list_nested_in_the_metadata_is_not_the_event_list(tmp_path, expected):
    decoy = {"metadata": {"traceEvents": [event("kernel", "decoy", "1", "1", 0, 0)]}}
    same(load(tmp_path, text({**decoy, **head(), "traceEvents": sample()})), expected)


def test_many_events_in_many_piles(tmp_path):
    events = sample(700)
    trace = load(tmp_path, document(events), stretch=20_000)
    same(trace, trace_from_objects(events, metadata=head()))
    assert trace.metadata.phase_counts == {"M": 3, "X": 1 + 4 * 700, "s": 700, "f": 700, "i": 700}


def test_uid_is_the_position_among_objects_with_a_ph(tmp_path):
    trace = load(tmp_path, document(), **SIZES)
    positions = [at for at, item in enumerate(item for item in sample() if item) if item["ph"] == "X"]
    assert trace.events["uid"].to_list() == positions


def test_the_way_times_are_written_may_change_within_a_file(tmp_path):
    """Three decimals near zero, then digits below the ns, then times since 1970, then strings, then near zero again."""
    spellings = [f"{n}.{n % 1000:03d}" for n in range(300)]
    spellings += [f"{n}.0005" for n in range(300)] + [f"{1_712_345_678_901_234 + n}.567" for n in range(300)]
    events = [{"ph": "X", "cat": "cpu_op", "name": "op", "ts": Decimal(ts), "dur": 1} for ts in spellings]
    events += [{"ph": "X", "cat": "cpu_op", "name": "op", "ts": f"{n}.25", "dur": "1e0"} for n in range(300)]
    events += events[:300]
    trace = load(tmp_path, document(events), stretch=2000)
    expected = [int((Decimal(item["ts"]) * 1000).to_integral_value(ROUND_HALF_EVEN)) for item in events]
    assert trace.events["start_ns"].to_list() == expected
    assert trace.events["dur_ns"].unique().to_list() == [1000]
    assert [(item.code, item.count) for item in trace.quality.items] == [("rounded_time", 300)]


def test_events_that_begin_with_any_key(tmp_path, monkeypatch):
    """Such a layout is learned late; the file need not be held as a whole."""
    monkeypatch.setattr("tracelens_tui.ingest.document._LONG", 2000)
    taken = []
    real = reading.answer_to
    monkeypatch.setattr(reading, "answer_to", lambda texts, decoder: taken.extend(texts) or real(texts, decoder))
    events = [{"cname": "good", **item} if item else item for item in sample(40)]
    same(load(tmp_path, document(events), stretch=1000), trace_from_objects(sample(40), metadata=head()))
    assert max(map(len, taken)) < 8000


@pytest.mark.parametrize("form", ["array", "object", "lines"])
def test_what_follows_more_text_than_any_event_has_is_given_up(tmp_path, monkeypatch, form):
    monkeypatch.setattr("tracelens_tui.ingest.document._LONGEST_EVENT", 30_000)
    first, second = map(text, (event("kernel", "a", "1", "1", 0, 7), event("kernel", "b", "2", "1", 0, 7)))
    before, after = {"array": (b"[", b"]"), "object": (b'{"traceEvents": [', b"]}"), "lines": (b"", b"")}[form]
    for gap in (b" " * 60_000, b"x" * 60_000):
        trace = load(tmp_path, before + first + b"\n" + gap + b"\n," + second + after, stretch=1000)
        assert trace.names.to_list() == ["a"]
        assert trace.quality.partial


def test_json_that_never_comes_to_an_event_list_is_given_up_early(tmp_path, monkeypatch):
    monkeypatch.setattr("tracelens_tui.ingest.document._LONGEST_HEAD", 5000)
    given = text({"noise": ["x" * 50] * 1000, "traceEvents": sample()})
    with pytest.raises(UserError, match="has no list traceEvents"):
        load(tmp_path, given, stretch=500)


@pytest.mark.parametrize("line", [b"[W 2026-01-01 kineto.cpp:12] started\n", b"[rank0] [INFO] tracing\n"])
def test_log_lines_in_brackets_before_the_document(tmp_path, expected, line):
    same(load(tmp_path, line + document()), expected)


def test_a_file_that_lost_its_head_says_so(tmp_path):
    whole = document()
    found = load(tmp_path, whole[whole.index(b'"ph"', 600) :])
    assert 0 < len(found) < len(load(tmp_path, whole))
    assert found.quality.partial


def test_a_second_list_of_events_is_told(tmp_path, expected):
    found = load(tmp_path, document()[:-1] + b', "traceEvents": [' + text(sample()[0]) + b"]}")
    assert len(found) == len(expected)
    item = found.quality.get("second_list")
    assert item is not None
    assert item.count == 1
