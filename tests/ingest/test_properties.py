"""Properties of the reader on generated traces: however one is written, packed and cut, it is the same Trace."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingest.making import same, text
from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.tables import all_tables
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.repair import repaired

SETTINGS = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

NAMES = st.one_of(
    st.sampled_from(["aten::mm", "k", "}, {\"ph\": \"X\"", "]}", "a\\b", "\U0001f600 ü", "ProfilerStep#3", ""]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)  # fmt: skip
CATEGORIES = st.sampled_from(
    ["cpu_op", "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver", "python_function", "Operator",
     "user_annotation", "gpu_user_annotation", "odd", "overhead"]
)  # fmt: skip
PLACES = st.one_of(st.integers(0, 9), st.integers(2**31, 2**66), st.sampled_from(["7", "stream 7 ", "Spans", ""]))
IDS = st.one_of(st.integers(-1, 40), st.integers(2**31, 2**70), st.integers(0, 40).map(str))


@st.composite
def times(draw: st.DrawFn, least: int = -50) -> Decimal:
    """A number of µs near a common start: whole, with three decimals or with more."""
    base = draw(st.sampled_from([0, 0, 1_000_000, 1_700_000_000_000_000]))
    decimals = draw(st.sampled_from([0, 3, 3, 3, 6, 9]))
    return base + Decimal(draw(st.integers(least * 10**decimals, 10 ** (decimals + 3)))).scaleb(-decimals)


ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "correlation": IDS,
        "External id": IDS,
        "Sequence number": st.integers(-1, 99),
        "device": st.integers(0, 3),
        "stream": st.integers(0, 9),
        "bytes": st.integers(0, 2**40),
        "grid": st.lists(st.integers(1, 999), max_size=3),
        "Input Dims": st.lists(st.lists(st.integers(0, 99), max_size=3), max_size=3),
        "Input type": st.lists(st.sampled_from(["float", "c10::Half", "", 'a "b" },{'])),
        "Concrete Inputs": st.lists(st.text(max_size=5), max_size=2),
        "unknown": st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4),
    },
)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """An object of an event list: a span, the end of an arrow, a label, or nothing."""
    kind = draw(st.sampled_from(["X", "X", "X", "X", "s", "f", "M", "i", ""]))
    if not kind:
        return draw(st.sampled_from([{}, {"name": "no phase"}]))
    made: dict[str, Any] = {"ph": kind, "pid": draw(PLACES), "tid": draw(PLACES), "ts": draw(times())}
    if kind == "X":
        made |= {"cat": draw(CATEGORIES), "name": draw(NAMES), "dur": draw(times(least=-1)), "args": draw(ARGUMENTS)}
    elif kind in "sf":
        made |= {"cat": "ac2g", "name": "ac2g", "id": draw(IDS)}
    elif kind == "M":
        made |= {"name": draw(st.sampled_from(["process_name", "thread_name", "odd"])), "args": {"name": draw(NAMES)}}
    for key in draw(st.sets(st.sampled_from(["pid", "tid", "dur", "args", "name"]), max_size=1)):
        made.pop(key, None)
    return {key: made[key] for key in draw(st.permutations(list(made)))}


METADATA = st.fixed_dictionaries(
    {},
    optional={
        "deviceProperties": st.just([{"id": 0, "name": "NVIDIA H100"}]),
        "with_stack": st.integers(0, 1),
        "note": NAMES,
        "baseTimeNanoseconds": st.integers(0, 2**62),
        "extra": st.just([{"ph": "X", "name": "none"}, {"traceEvents": []}]),
    },
)


def _indented(width: int) -> Callable[[bytes], bytes]:
    return lambda data: msgspec.json.format(data, indent=width)


def _ascii(data: bytes) -> bytes:
    """Every other character as an escape; numbers keep their digits."""
    return b"".join(
        char.encode() if char < "\x7f" else json.dumps(char)[1:-1].encode() for char in data.decode("utf-8")
    )


SPELLINGS = (bytes, _indented(0), _indented(2), _ascii, lambda data: _indented(3)(data).replace(b"\n", b"\r\n"))
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le")
PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    bytes, bytes, lambda data: gzip.compress(data, 1),
    lambda data: gzip.compress(data[: len(data) // 3], 1) + gzip.compress(data[len(data) // 3 :], 1),
)  # fmt: skip


@SETTINGS
@given(st.lists(events(), min_size=1, max_size=25), METADATA, st.data())
def test_however_it_is_written_it_is_the_same_trace(tmp_path, objects, metadata, data):
    if not any("ph" in item for item in objects):
        objects.append({"ph": "i", "ts": 0})
    form = data.draw(st.sampled_from(["head", "tail", "array", "lines"]), label="form")
    spelling = data.draw(st.sampled_from(SPELLINGS if form != "lines" else SPELLINGS[:1]), label="spelling")
    listed = {"traceEvents": objects}
    if form == "lines":
        objects = [item for item in objects if item.get("ph")] + [item for item in objects if not item.get("ph")]
        written = b"\n".join(map(text, objects))
    else:
        whole = {"head": {**metadata, **listed}, "tail": {**listed, **metadata}, "array": objects}[form]
        written = spelling(text(whole))
    encoding = data.draw(st.sampled_from(ENCODINGS), label="encoding")
    packed = data.draw(st.sampled_from(PACKINGS), label="packing")(written.decode("utf-8").encode(encoding))
    path = tmp_path / "trace"
    path.write_bytes(packed)
    stretch = data.draw(st.integers(40, 4000) | st.just(1 << 20), label="stretch")
    expected = trace_from_objects(objects, metadata=metadata if form in {"head", "tail"} else {})
    same(load_trace(path, stretch=stretch), expected)


@st.composite
def digits(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A number as JSON or text writes it, and its value."""
    sign = draw(st.sampled_from(["", "", "-"]))
    whole = str(draw(st.integers(0, 10 ** draw(st.integers(1, 15)))))
    decimals = draw(st.sampled_from(["", "."])) and "." + draw(st.text("0123456789", min_size=1, max_size=15))
    exponent = draw(st.sampled_from(["", "", "e0", "E+2", "e-3", "e-9"])) if len(whole) < 13 else ""
    number = f"{sign}{whole}{decimals}{exponent}"
    return draw(st.sampled_from([number, f'"{number}"'])), Fraction(number)


@SETTINGS
@given(st.lists(digits(), min_size=1, max_size=40), st.sampled_from([60, 500, 1 << 20]))
def test_every_digit_of_a_time_is_read(tmp_path, numbers, stretch):
    """Half to even where there are digits below the ns; rational arithmetic is the oracle."""
    path = tmp_path / "t.json"
    made = (f'{{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":{number},"dur":1}}' for number, _ in numbers)
    path.write_text(f'{{"traceEvents":[{",".join(made)}]}}')
    trace = load_trace(path, stretch=stretch)
    exact = [value * 1000 for _, value in numbers]
    assert trace.events["start_ns"].to_list() == [round(value) for value in exact]
    rounded = trace.quality.get("rounded_time")
    assert (rounded.count if rounded else 0) == sum(value.denominator != 1 for value in exact)


@st.composite
def healthy(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Ops one after another, each with a launch and one or two kernels on streams that do not overlap themselves."""
    made: list[dict[str, Any]] = []
    free = {0: 0, 1: 0}  # stream -> when it is free
    for turn in range(draw(st.integers(1, 8))):
        start = 1000 * turn + 1
        name = draw(st.sampled_from(["aten::mm", "aten::add", "aten::relu", "custom"]))
        side = draw(st.sampled_from([8, 64, 513]))
        args = {"External id": turn + 1, "Input Dims": [[side, side], [side, side]], "Input type": ["float", "float"]}
        place = {"pid": 7, "tid": 7}
        made.append({"ph": "X", "cat": "cpu_op", "name": name, **place, "ts": start, "dur": 500, "args": args})
        for part in range(draw(st.integers(1, 2))):
            link, stream = 2 * turn + part + 1, draw(st.integers(0, 1))
            call = {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                **place,
                "args": {"correlation": link},
            }
            made.append({**call, "ts": start + 50 + 100 * part, "dur": 10})
            at = max(free[stream], start + 200 + 7 * part) + draw(st.integers(1, 900))
            length = draw(st.integers(1, 1500)) * 2 + part
            free[stream] = at + length
            kernel = {"ph": "X", "cat": "kernel", "name": f"{name}_kernel_{part}", "pid": 0, "tid": stream}
            found = {"device": 0, "stream": stream, "correlation": link}
            made.append({**kernel, "ts": at, "dur": length, "args": found})
    return made


def tables_of(objects: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
    trace = repaired(trace_from_objects(objects))
    return all_tables(analyse(trace, build_tree(trace), load_platform("H100-SXM"), "chosen"))


def rows(frame: pl.DataFrame) -> list[str]:
    """The rows in an order of their own; positions in the file are no content."""
    kept = [name for name in frame.columns if "uid" not in name.lower()]
    return sorted(map(str, frame.select(kept).rows()))


@settings(SETTINGS, max_examples=15)
@given(healthy(), st.randoms(use_true_random=False))
def test_the_order_of_events_in_the_file_does_not_matter(objects, choice):
    expected = tables_of(objects)
    shuffled = list(objects)
    choice.shuffle(shuffled)
    found = tables_of(shuffled)
    assert found.keys() == expected.keys()
    for name, frame in expected.items():
        assert rows(found[name]) == rows(frame), name


@pytest.mark.parametrize("name", ["mi300_qwen", "hta_nccl"])
def test_a_real_trace_is_the_same_in_stretches_of_any_size(shared, name):
    path = shared / "traces" / f"{name}.json.gz"
    whole = load_trace(path)
    for stretch in (5_000, 77_777):
        same(load_trace(path, stretch=stretch), whole)
