"""Damage to the bytes of a trace, from single bits to spliced files; the same seed gives the same mutants."""

import random
import re
from collections.abc import Callable, Iterator

from tests.fuzz.seeds import PACKINGS, seeds

Mutation = Callable[[random.Random, bytes], bytes]

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[\[\]{}:,]')
_NUMBER = re.compile(rb"(?<![\w\"])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_EVENT = re.compile(rb'\{"ph".*?\}(?=[,\]\n])', re.DOTALL)

_NUMBERS = (
    b"0", b"-1", b"-0", b"1", b"0.0005", b"1e-9", b"NaN", b"-Infinity", b"inf", b"N/A", b"null", b"true", b'""', b'"7"',
    b'"0x1f"', b"[]", b"{}", b"1e15", b"1e19", b"1e308", b"1e400", b"-1e400", b"4611686018427387", b"-4611686018427387",
    b"4611686018427388", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808",
    b"18446744073709551615", b"2147483648", b"4294967295", b"123456789012345678901234567890", b"5e-324",
    b"1.7976931348623157e308", b"0.1e1",
    b"00012", b"+5", b".5", b"5.", b"1_000", b"1e", b"0." + b"3" * 500, b"9" * 500, b"8796093022207.999",
    b"8796093022208.001", b"1000000000000001.5", b"2592000000000", b"3.000000000000000000000001",
)  # fmt: skip
_TEXTS = (
    b"", b"\x00", b"\x1b[31m", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\\ud83d\\ude00", b"\\udc00\\ud800", b"\\u12",
    b"\\x41", b"C:\\new\\users", b'"', b'\\"', b"\\", b"{", b"}", b"[", b"]}", b'"}, {"ph": "X"', b"\xe2\x80\xae",
    b"a" * 5000, b"ProfilerStep#1", b"ProfilerStep#99999999999999999999", b"X", b"M", b"f", b"s", b"kernel", b"cpu_op",
    b"gpu_memcpy", b"python_function", b"cuda_runtime", b"ac2g", b"traceEvents", b"ts", b"dur", b"pid", b"correlation",
    b"Input Dims", b"Input type", b"External id", b"aten::mm", b"aten::bmm", b"aten::convolution", b"c10::BFloat16",
    b"aten::_scaled_dot_product_flash_attention", b"=cmd|' /C calc'!A0", b"\xef\xbc\x9d", b"ncclDevKernel_AllGather",
)  # fmt: skip
_CHUNKS = (
    b"{}",
    b"[]",
    b",",
    b"]",
    b"}",
    b"{",
    b"[",
    b'"',
    b":",
    b"\n",
    b"\0",
    b"\\",
    b"/*",
    b"//",
    b"\xef\xbb\xbf",
    b"\x1f\x8b",
)


def _place(choice: random.Random, data: bytes) -> int:
    return choice.randrange(len(data) + 1)


def _range(choice: random.Random, data: bytes, longest: int = 400) -> tuple[int, int]:
    start = _place(choice, data)
    return start, min(len(data), start + choice.randrange(1, choice.choice((3, 30, longest))))


def _flip(choice: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.choice((1, 1, 2, 8))):
        if changed:
            changed[choice.randrange(len(changed))] ^= 1 << choice.randrange(8)
    return bytes(changed)


def _overwrite(choice: random.Random, data: bytes) -> bytes:
    start, end = _range(choice, data, 40)
    return data[:start] + choice.randbytes(end - start) + data[end:]


def _delete(choice: random.Random, data: bytes) -> bytes:
    start, end = _range(choice, data)
    return data[:start] + data[end:]


def _duplicate(choice: random.Random, data: bytes) -> bytes:
    start, end = _range(choice, data)
    return data[:end] + data[start:end] * choice.choice((1, 1, 2, 20)) + data[end:]


def _move(choice: random.Random, data: bytes) -> bytes:
    start, end = _range(choice, data)
    rest = data[:start] + data[end:]
    at = _place(choice, rest)
    return rest[:at] + data[start:end] + rest[at:]


def _truncate(choice: random.Random, data: bytes) -> bytes:
    return data[: _place(choice, data)]


def _behead(choice: random.Random, data: bytes) -> bytes:
    return data[choice.randrange(1, 200) :]


def _insert(choice: random.Random, data: bytes) -> bytes:
    at = _place(choice, data)
    return data[:at] + choice.choice(_CHUNKS) * choice.choice((1, 1, 3, 2000)) + data[at:]


def _replace_one(pattern: "re.Pattern[bytes]", choice: random.Random, data: bytes, new: bytes, group: int = 0) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = choice.choice(found)
    return data[: match.start(group)] + new + data[match.end(group) :]


def _number(choice: random.Random, data: bytes) -> bytes:
    for _ in range(choice.choice((1, 1, 3))):
        data = _replace_one(_NUMBER, choice, data, choice.choice(_NUMBERS))
    return data


def _digit(choice: random.Random, data: bytes) -> bytes:
    return _replace_one(re.compile(rb"\d"), choice, data, choice.choice((b"9", b"0", b".", b"e", b"-", b"99999")))


def _string(choice: random.Random, data: bytes) -> bytes:
    return _replace_one(_STRING, choice, data, choice.choice(_TEXTS), group=1)


def _swap(choice: random.Random, data: bytes) -> bytes:
    tokens = list(_TOKEN.finditer(data))
    if len(tokens) < 2:
        return data
    one, other = sorted(choice.sample(tokens, 2), key=lambda match: match.start())
    return b"".join([data[: one.start()], other[0], data[one.end() : other.start()], one[0], data[other.end() :]])


def _token(choice: random.Random, data: bytes) -> bytes:
    return _replace_one(
        _TOKEN, choice, data, choice.choice((b"", b"null", b"{}", b"[]", b"[[[[]]]]", b"1", b"0", b'"a"'))
    )


def _event(choice: random.Random, data: bytes) -> bytes:
    """Put an event, perhaps changed, somewhere between others."""
    events = list(_EVENT.finditer(data))
    if not events:
        return data
    again, at = choice.choice(events)[0], choice.choice(events).end()
    changed = choice.choice((_number, _string, _flip, lambda _, same: same))(choice, again)
    return data[:at] + b"," + changed + data[at:]


def _deep(choice: random.Random, data: bytes) -> bytes:
    depth = choice.choice((10, 600, 3000))
    left, right = choice.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return _replace_one(_NUMBER, choice, data, left * depth + b"1" + right * depth)


def _recode(choice: random.Random, data: bytes) -> bytes:
    words = data.decode("utf-8", "replace")
    return words.encode(choice.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32")), "replace")


def _repeat(choice: random.Random, data: bytes) -> bytes:
    return data + choice.choice((b"", b"\n", b",")) + data


MUTATIONS: tuple[Mutation, ...] = (
    _flip, _flip, _overwrite, _delete, _delete, _duplicate, _move, _truncate, _behead, _insert, _number, _number,
    _number, _digit, _string, _string, _swap, _token, _event, _event, _deep, _recode, _repeat,
)  # fmt: skip


def _splice(choice: random.Random, one: bytes, other: bytes) -> bytes:
    return one[: _place(choice, one)] + other[_place(choice, other) :]


def mutant(number: int, traces: list[bytes]) -> bytes:
    """Return the mutant of that number."""
    choice = random.Random(number)
    data = choice.choice(traces)
    if choice.random() < 0.1:
        data = _splice(choice, data, choice.choice(traces))
    for _ in range(choice.choice((0, 1, 1, 1, 2, 4))):
        data = choice.choice(MUTATIONS)(choice, data)
    if choice.random() < 0.3:
        data = choice.choice(PACKINGS)(data)
        if choice.random() < 0.6:
            data = choice.choice((_flip, _overwrite, _delete, _duplicate, _truncate, _behead, _insert))(choice, data)
    return data


def mutants(first: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Give the mutants of these numbers."""
    traces = seeds()
    for number in range(first, first + count):
        yield number, mutant(number, traces)
