"""Read events one by one out of text that is not the JSON array it should be.

Event by event the strictest reader that accepts it: JSON; JSON with control characters or bytes that are not UTF-8; a
repaired text.  An event that none can read is counted as lost, and reading goes on at the next one.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from tracelens_tui.ingest.lenient import lenient_object
from tracelens_tui.ingest.numbers import point_number, whole_number

_KEY = r'\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s)"\s*:'
_GAP = re.compile(r"[\s,]*")
_EVENT_START = re.compile(r"\{" + _KEY)
_TIMED = re.compile(r'"ts"\s*:|"ph"\s*:\s*"M"')
_GOES_ON = re.compile(r"[\s\]}]*,\s*\{" + _KEY)
_LIST_END = re.compile(r'\}(?=\s*,?\s*\]\s*(?:,\s*"|\}|$))')
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile(r"[\ud800-\udfff]")
_TRIES = 4  # ends of the broken event that are tried: a bare quote may make text within it look like one
_ENOUGH = 8 << 20  # characters that tell what comes before them, wherever the text was cut
_MOST_PLACES = 64  # where an event may begin that are tried in search of a sound one
_WINDOWS = (1 << 12, 1 << 16, 1 << 62)  # characters that an event is looked for in


def _not_a_number(word: str) -> Any:  # noqa: ANN401 - what json wants
    raise ValueError(word)


_strict = json.JSONDecoder(parse_float=Decimal, parse_constant=_not_a_number)
_lax = json.JSONDecoder(parse_float=point_number, parse_int=whole_number, parse_constant=lambda _: None, strict=False)
_FAULTS = (ValueError, ArithmeticError, RecursionError)
"""What reading JSON raises: faults of the text, numbers beyond Decimal, too many levels."""


class _RanOut(ValueError):
    """A reader failed because the text ended."""


def _decoded(decoder: json.JSONDecoder, text: str, at: int) -> tuple[dict[str, Any], int]:
    """The object that begins there, and where it ends; raises one of ``_FAULTS``.

    Looks no further than it must: an object that lacks a bracket seems to hold all that follows.
    """
    for window in _WINDOWS:
        part = text[at : at + window]
        try:
            value, end = decoder.raw_decode(part)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Unterminated string") and part[error.pos :].strip():
                raise
            if at + window >= len(text) or next(_starts(part, 1), None) is not None:
                break
        else:
            return value, at + end
    raise _RanOut


@dataclass(slots=True)
class Salvaged:
    """What could be read of a stretch."""

    objects: list[Any] = field(default_factory=list)
    repaired: int = 0  # objects whose text was mended
    lost: int = 0  # objects that could not be read
    cut: bool = False  # the last lost one ends with the document
    closed: bool = False  # the end of the list was met
    rest: bytes = b""  # text after the list, or an event that goes on beyond the stretch


def salvage(text: bytes, *, last: bool) -> Salvaged:
    """Return the events of a stretch, without the brackets of the list; ``last``: nothing comes after it."""
    reader = _Reader(text.decode("utf-8", "surrogateescape"), last=last)
    reader.read()
    return reader.found


def first_event(text: bytes) -> tuple[int, int] | None:
    """Return where the first whole event of a text begins and ends, None where there is none."""
    content = text.decode("utf-8", "surrogateescape")
    found = _whole_event(content, 0)
    if found is None:
        return None
    start, end = (len(content[:at].encode("utf-8", "surrogateescape")) for at in found)
    return start, end


def _whole_event(text: str, at: int) -> tuple[int, int] | None:
    """Where the first event that a JSON reader accepts and that has its time begins and ends."""
    for start in islice(_starts(text, at), _MOST_PLACES):
        end = _event_at(text, start)
        if end is not None:
            return start, end
    return None


def _event_at(text: str, start: int) -> int | None:
    """Where the event that begins there ends; None where no JSON reader accepts it."""
    try:
        value, end = _decoded(_lax, text, start)
    except _FAULTS:
        return None
    return end if "ph" in value and ("ts" in value or value["ph"] == "M") else None


def _starts(text: str, at: int) -> Iterator[int]:
    """Where events may begin: a known key comes first, and a time before the next one begins."""
    start: int | None = None
    for match in chain(_EVENT_START.finditer(text, at), (None,)):
        end = len(text) if match is None else match.start()
        if start is not None and _TIMED.search(text, start, end):
            yield start
        start = end


def _end_before(text: str, start: int) -> int:
    """Where the event ends after which, perhaps with empty objects between, comes the one at ``start``."""
    end = _gap_before(text, start)
    while text.endswith("}", 0, end) and text.endswith("{", 0, _gap_before(text, end - 1)):
        end = _gap_before(text, text.rfind("{", 0, end))
    return end


def _gap_before(text: str, end: int) -> int:
    """Where the white space and the commas before ``end`` begin."""
    while end and text[end - 1] in " \t\r\n,":
        end -= 1
    return end


class _Reader:
    def __init__(self, text: str, *, last: bool) -> None:
        self.found = Salvaged()
        self._text = text
        self._last = last
        self._at = 0
        self._unfinished = False  # the text ended within the event that could not be read
        self._clean = _NOT_UTF8.search(text) is None

    def read(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Read one event; False at the end."""
        gap = _GAP.match(self._text, self._at)
        self._at = gap.end() if gap else self._at
        if self._at == len(self._text):
            return False
        if self._text[self._at] == "]" and (closes := self._closes()) is not False:
            self.found.closed = closes is True
            self._leave(self._at + self.found.closed)
            return False
        if self._text[self._at] != "{":
            return self._skipped()
        return self._plain() or self._mended()

    def _plain(self) -> bool:
        """Read an event that a JSON reader accepts."""
        for decoder in (_strict, _lax):
            try:
                value, end = _decoded(decoder, self._text, self._at)
            except _FAULTS as error:
                self._unfinished = isinstance(error, _RanOut)
                continue
            mended = decoder is _lax
            if not self._clean and _NOT_UTF8.search(self._text, self._at, end):
                value, mended = _lax.decode(_NOT_UTF8.sub("\ufffd", self._text[self._at : end])), True
            mended = mended or self._halved(value, end)
            self._take(value, end, mended=mended)
            return True
        return False

    def _halved(self, value: Any, end: int) -> bool:  # noqa: ANN401 - decoded JSON
        """Whether a value holds half of a surrogate pair, which no Unicode text may."""
        if not _SURROGATE.search(self._text, self._at, end):
            return False
        return _LONE.search(json.dumps(value, ensure_ascii=False, default=str)) is not None

    def _mended(self) -> bool:
        """Read a broken event by repairing its text, or skip it."""
        if self._unfinished:
            return self._ended()
        starts = list(islice(_starts(self._text, self._at + 1), _TRIES))
        ends = [_end_before(self._text, start) for start in starts]
        if not ends and (self._last or len(self._text) - self._at > _ENOUGH):
            ends = [match.end() for match in islice(_LIST_END.finditer(self._text, self._at), _TRIES)]
        if not ends:
            return self._ended()
        for number, end in enumerate(ends):
            value = lenient_object(_NOT_UTF8.sub("\ufffd", self._text[self._at : end]))
            if value is not None and "ph" in value:
                self._take(value, end, mended=True)
                return True
            if starts and _event_at(self._text, starts[number]) is not None:
                break  # a sound event must not become part of a broken one
        self.found.lost += 1
        self._at = starts[0] if starts else ends[0]
        return True

    def _ended(self) -> bool:
        """Leave the half event at the end of the text to the next stretch, or count it as lost.

        It is no half event if others follow: it lacks a bracket.
        """
        return self._lost(next(_starts(self._text, self._at + 1), None), cut=True)

    def _lost(self, following: int | None, *, cut: bool) -> bool:
        """Go on at ``following`` without what is before it; where there is none, more text may tell."""
        if following is None and not self._last and len(self._text) - self._at < _ENOUGH:
            self._leave(self._at)
            return False
        self.found.lost += 1
        self.found.cut = cut and following is None and self._last
        self._at = len(self._text) if following is None else following
        return following is not None

    def _closes(self) -> bool | None:
        """Whether the bracket that comes next ends the list, and not a list in an event that could not be read.

        None where more text must tell.
        """
        rest = self._text[self._at :]
        all_there = self._last or len(rest) > _ENOUGH
        try:
            _, end = _lax.raw_decode('{"":[' + rest)
        except _FAULTS:
            following = _whole_event(rest, 0)
            if following is not None:
                return not (_GOES_ON.match(rest, 1) or rest.endswith("}", 0, _gap_before(rest, following[0])))
            return True if all_there else None
        after = rest[end - len('{"":[') :]
        if after.strip(" \t\r\n]},") or all_there:
            return not _GOES_ON.match(after)
        return None

    def _skipped(self) -> bool:
        """Go to the next event, past what is none."""
        start = _EVENT_START.search(self._text, self._at)
        return self._lost(start.start() if start else None, cut=False)

    def _take(self, value: Any, end: int, *, mended: bool) -> None:  # noqa: ANN401 - decoded JSON
        if "ph" in value:  # else it is no event: a file may hold millions of empty objects
            self.found.objects.append(value)
        self.found.repaired += mended
        self._at = end

    def _leave(self, at: int) -> None:
        self.found.rest = self._text[at:].encode("utf-8", "surrogateescape")
