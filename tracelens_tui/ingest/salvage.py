"""Read events one by one out of text that is not the JSON array it should be.

Event by event the strictest reader that accepts it: JSON; JSON with control characters or bytes that are not UTF-8; a
repaired text.  An event that none can read is counted as lost, and reading goes on at the next one.
"""

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tracelens_tui.ingest.lenient import lenient_object

_KEY = r'\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s)"\s*:'
_GAP = re.compile(r"[\s,]*")
_EVENT_END = re.compile(r"\}(?=[\s,]*\{" + _KEY + ")")
_EVENT_START = re.compile(r"\{" + _KEY)
_LIST_END = re.compile(r'\}(?=\s*,?\s*\]\s*(?:,\s*"|\}|$))')
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile(r"[\ud800-\udfff]")
_TRIES = 4  # ends of the broken event that are tried: a bare quote may make text within it look like one


def _not_a_number(word: str) -> Any:  # noqa: ANN401 - what json wants
    raise ValueError(word)


_strict = json.JSONDecoder(parse_float=Decimal, parse_constant=_not_a_number)
_lax = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: None, strict=False)


def _ran_out(error: Exception, text: str) -> bool:
    """Whether a reader failed because the text ended."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or not text[error.pos :].strip()


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
        if self._text[self._at] == "]":
            self.found.closed = True
            self._leave(self._at + 1)
            return False
        if self._text[self._at] != "{":
            return self._skipped()
        return self._plain() or self._mended()

    def _plain(self) -> bool:
        """Read an event that a JSON reader accepts."""
        for decoder in (_strict, _lax):
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                self._unfinished = _ran_out(error, self._text)
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
        ends = [match.end() for match, _ in zip(_EVENT_END.finditer(self._text, self._at), range(_TRIES), strict=False)]
        if not ends and (match := _LIST_END.search(self._text, self._at)):
            ends = [match.end()]
        if not ends:
            return self._ended()
        for end in ends:
            value = lenient_object(_NOT_UTF8.sub("\ufffd", self._text[self._at : end]))
            if value is not None and "ph" in value:
                self._take(value, end, mended=True)
                return True
        self.found.lost += 1
        self._at = ends[0]
        return True

    def _ended(self) -> bool:
        """Leave the half event at the end of the text to the next stretch, or count it as lost if there is none."""
        if self._last:
            self.found.lost += 1
            self.found.cut = True
        else:
            self._leave(self._at)
        return False

    def _skipped(self) -> bool:
        """Go to the next event, past what is none."""
        start = _EVENT_START.search(self._text, self._at)
        if start is None and not self._last:
            self._leave(self._at)
            return False
        self.found.lost += 1
        self._at = start.start() if start else len(self._text)
        return start is not None

    def _take(self, value: Any, end: int, *, mended: bool) -> None:  # noqa: ANN401 - decoded JSON
        self.found.objects.append(value)
        self.found.repaired += mended
        self._at = end

    def _leave(self, at: int) -> None:
        self.found.rest = self._text[at:].encode("utf-8", "surrogateescape")
