"""The fast and the tolerant decoder read the same, whatever a value is: a file passes from one to the other."""

import re

import pytest

from tests.ingest.making import same
from tracelens_tui.ingest import reading
from tracelens_tui.ingest.load import load_trace

EVENT = '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":2,"id":3,"args":{"stream":7,"correlation":5}}'

ARGUMENTS = {
    "a key twice": '{"correlation":1,"stream":3,"correlation":2,"stream":4}',
    "a text twice": '{"grid":[1],"grid":[2]}',
    "half a pair": r'{"grid":"\ud800","stream":3}',
    "half a pair where nothing is read": r'{"other":"\uDFFF","stream":3}',
    "half a pair in a key": r'{"\ud800":1,"stream":3}',
    "a pair": r'{"grid":"\ud83d\ude00","stream":3}',
    "a pair in the wrong order": r'{"grid":"\ude00\ud83d","stream":3}',
    "no pair at all": r'{"grid":"C:\\ud800x","stream":3}',
    "a control character": '{"grid":"a\x01b","stream":3}',
    "a control character where nothing is read": '{"other":"a\x01b","stream":3}',
    "a line break": '{"grid":"a\tb\nc","stream":3}',
    "an illegal escape": r'{"grid":"C:\x","stream":3}',
    "an illegal escape where nothing is read": r'{"other":"C:\x","stream":3}',
    "half an escape": r'{"grid":"\u12","stream":3}',
    "NaN where nothing is read": '{"other":[{"a":NaN}],"stream":3}',
    "bytes that are no UTF-8": '{"grid":"\udcff","stream":3}',
    "bytes that are no UTF-8 where nothing is read": '{"other":"\udcff","stream":3}',
    "large ids": '{"correlation":18446744073709551617,"External id":99999999999999999999999}',
    "large ids as text": '{"correlation":"18446744073709551617","External id":"00099999999999999999999999"}',
    "-1 without a sign": '{"correlation":18446744073709551615,"stream":18446744073709551615}',
    "floats as ids": '{"correlation":6.0,"stream":3.0,"External id":1e2,"bytes":1e400}',
    "fractions as ids": '{"correlation":6.5,"stream":3.5}',
    "no numbers as ids": '{"correlation":true,"stream":false,"External id":null,"bytes":"many","device":[0]}',
    "lists as ids": '{"correlation":[1],"stream":{"a":1},"grid":{"a":[1.50,2e3]}}',
    "numbers in a list": '{"grid":[1.0,2.50,1e400,-0,-0.0,12345678901234567890,true,null,"x"]}',
    "white space": '{"grid":[1 ,  2,\n3],"block":{ }}',
    "many levels": f'{{"grid":{"[" * 900}{"]" * 900}}}',
    "too many levels": f'{{"grid":{"[" * 3000}{"]" * 3000}}}',
    "null": "null", "a list": "[1,2]", "a text": '"x"', "a number": "5", "nothing": "{}",
}  # fmt: skip
TIMES = (
    "70", "7e1", "1E+2", "-0", "0.1e1", "1.0000000000000001", "1e400", "-1e400", "1e-400", "0.0005", "0.0015", "2.5e-4",
    "123456789012345678901234567890", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "4611686018427387.904", "4611686018427387904", "8796093022207.999", "8796093022208.0001", '"5"', '" 5 "', '"x"',
    '""', "true", "null", "[]", "{}",
    "[\n5\n]", '{"a":\r\n 1}',
)  # fmt: skip
PLACES = ("5", "5.0", "1e3", "null", "true", "[]", "{}", '"a"', '""', '"5"', "18446744073709551615", "-1", '"\\u0000"',
          '"\\ud800"', "[9]", "1.5e300")  # fmt: skip


def check(tmp_path, monkeypatch, event: str) -> None:
    """Load five events, the second of which is given, in short stretches, fast and then event by event."""
    path = tmp_path / "t.json"
    text = f'{{"traceEvents":[{EVENT},{event},{EVENT},{EVENT},{EVENT}]}}'
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    fast = load_trace(path, stretch=150)
    monkeypatch.setattr(reading, "answer_to", lambda *_: [None])
    same(fast, load_trace(path, stretch=150))


@pytest.mark.parametrize("case", ARGUMENTS)
@pytest.mark.parametrize("category", ["kernel", "cpu_op", "cuda_runtime", "python_function"])
def test_arguments(tmp_path, monkeypatch, case: str, category: str):
    event = EVENT.replace('{"stream":7,"correlation":5}', ARGUMENTS[case]).replace('"kernel"', f'"{category}"')
    check(tmp_path, monkeypatch, event)


@pytest.mark.parametrize("key", ["ts", "dur"])
@pytest.mark.parametrize("value", TIMES)
def test_times(tmp_path, monkeypatch, key: str, value: str):
    check(tmp_path, monkeypatch, re.sub(rf'"{key}":\d', lambda _: f'"{key}":{value}', EVENT))


@pytest.mark.parametrize("key", ["pid", "tid", "id", "cat", "name", "ph"])
@pytest.mark.parametrize("value", PLACES)
def test_other_keys(tmp_path, monkeypatch, key: str, value: str):
    event = re.sub(rf'"{key}":[^,]*', lambda _: f'"{key}":{value}', EVENT)
    check(tmp_path, monkeypatch, event)
    check(tmp_path, monkeypatch, event.replace('"ph":"X"', '"ph":"s","cat":"ac2g"'))


@pytest.mark.parametrize("key", ["ts", "dur", "pid", "tid", "id", "name", "stream", "correlation", "other"])
@pytest.mark.parametrize("number", ["9" * 5000, "1e99999999999999999999"], ids=["digits", "exponent"])
def test_numbers_beyond_all_bounds_cost_no_event(tmp_path, monkeypatch, key: str, number: str):
    event = re.sub(rf'"{key}":[^,}}]*', f'"{key}":{number}', EVENT.replace('"stream"', '"other":1,"stream"'))
    path = tmp_path / "t.json"
    path.write_text(f'{{"traceEvents":[{EVENT},{event},{EVENT},{EVENT}]}}')
    fast = load_trace(path, stretch=150)
    monkeypatch.setattr(reading, "answer_to", lambda *_: [None])
    slow = load_trace(path, stretch=150)
    assert fast.events["uid"].to_list() == slow.events["uid"].to_list() == ([0, 2, 3] if key == "ts" else [0, 1, 2, 3])


def test_of_a_key_that_comes_twice_the_last_counts(tmp_path):
    """As JSON readers agree."""
    path = tmp_path / "t.json"
    args = '"args":{"stream":1},"args":{"stream":3,"stream":4}'
    event = f'{{"ph":"M","name":"a","cat":"kernel","ph":"X","ts":1,"ts":6,"dur":9,"dur":2,{args}}}'
    path.write_text(f'{{"traceEvents":[{event},{event}]}}')
    for stretch in (100, 1 << 20):
        trace = load_trace(path, stretch=stretch)
        assert trace.events.select("start_ns", "dur_ns", "stream").rows() == [(6000, 2000, 4)] * 2
