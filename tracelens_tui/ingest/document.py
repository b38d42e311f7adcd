"""Find the event list in a JSON document that comes in blocks, and cut it into stretches between events.

Where to cut is a guess from the text between two events, which a file repeats; whether a cut was right shows when the
stretch is decoded, since half an event is no JSON.  Whoever decodes gives back what was not used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import msgspec

from tracelens_tui.ingest.salvage import first_event
from tracelens_tui.ingest.sniff import without_bom

STRETCH = 1 << 20
"""Bytes of JSON whose events are split at once: their objects fit the processor's caches."""

_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_LONGEST_KEY = 1000  # bytes that the key, the colon and the bracket may take with white space between them
_EVENT_KEY = rb'"(?:ph|cat|name|pid|tid|ts|dur|args|bp|s)"'  # not "id", with which the objects of devices begin
_BETWEEN = re.compile(rb"\}\s*,\s*\{\s*" + _EVENT_KEY)
_BETWEEN_ANY = re.compile(rb"\}\s*,\s*\{\s*\"")
_BETWEEN_LINES = re.compile(rb"\}\s*\n\s*\{\s*" + _EVENT_KEY)
_LOG_LINE = re.compile(rb"\[[A-Za-z][^\n\"]*\]")  # [W kineto.cpp:1] and the like, before a document
_PART_OF_JSON = re.compile(rb"[\"}\]]\s*[,:}\]]")
_LONGEST_BROKEN_HEAD = 32 << 20  # a list that seems to be nested is taken if no other turned up in so many bytes
_LONGEST_HEAD = 64 << 20
_LONGEST_TAIL = 64 << 20
_LONGEST_EVENT = 128 << 20
_LONG = 8 << 20  # bytes without two events after another as they usually begin
_MOST_NESTED = 64  # lists that seem to be nested are tried before the first of them is taken
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class NoEventList(Exception):
    """The document begins like JSON but holds no list of events."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some events after another: the text of a JSON array of them, if the cuts were right."""

    text: bytes
    last: bool = False  # it runs to the end of the document, past the list; without brackets
    lines: bytes = b""  # where events stand on lines of their own: the text as it was

    @property
    def inner(self) -> bytes:
        """The text without the brackets."""
        return self.text if self.last else self.lines or self.text[1:-1]


class Document:
    """A trace document.  After the last stretch, ``head`` and ``tail`` are the text around the event list."""

    def __init__(self, blocks: Iterator[bytes], size: int) -> None:
        """``size`` is about how many bytes a stretch has.  Raises :class:`NoEventList`."""
        self._blocks = blocks
        self._size = size
        self._wanted = size
        self._separator = b""
        self._parts: list[bytes] = []
        self._skipped = b""  # what was left out between the latest stretch and the next one
        self.head = b""
        self.tail = b""
        self._given_up = False  # not all of the document was read
        self._beheaded = False  # it begins within a list of events
        self.closed = False  # the end of the list was met
        self.form = "object"  # or "array", or "lines": events one after another without a list
        self._open()

    @property
    def complete(self) -> bool:
        """Whether the document has its end; that of a list without an object around it may be left out."""
        if self._given_up or self._beheaded:
            return False
        return self.form != "object" or (self.closed and self.tail.rstrip(b" \t\r\n\0").endswith(b"}"))

    @property
    def has_second_list(self) -> bool:
        """Whether the object around the list holds another one of the same name."""
        end = self.tail.rfind(b"}") + 1
        following = _object(b'{"":0' + self.tail[:end]) if self.head else None
        return following is not None and "traceEvents" in following

    def stretches(self) -> Iterator[Stretch]:
        """Give the event list piece by piece.  The piece marked last may hold what follows the list, too."""
        while not self.closed and self._fill():
            cut = self._cut_last_part() or self._cut_anywhere()
            if cut is None:
                self._wanted = 2 * sum(map(len, self._parts))
                if self._wanted > _LONGEST_EVENT:
                    self._given_up = True  # no event is so long
                    break
            else:
                self._wanted = self._size
                yield cut
        if not self.closed and (cut := self._cut_anywhere()) is not None:
            yield cut
        while not self.closed and any(self._parts):
            rest = b"".join(self._parts)
            self._parts, self._skipped = [], b""
            yield Stretch(rest, last=True)

    def give_back(self, rest: bytes) -> None:
        """Take back the end of the latest stretch, which holds half an event: its cut was wrong."""
        self._parts.insert(0, rest + self._skipped)
        self._wanted = sum(map(len, self._parts)) + self._size  # with less, the next cut would be the same

    def restore(self, stretches: Sequence[Stretch]) -> None:
        """Take back the latest stretches, as if they had not been cut off."""
        if not stretches:
            return
        between = b"\n" if self.form == "lines" else b","
        texts = [stretch.inner if stretch.last else stretch.inner + between for stretch in stretches]
        self._blocks = chain(texts, self._parts, self._blocks)
        self._parts, self._skipped = [], b""
        self._wanted = self._size

    def close(self, rest: bytes) -> None:
        """Note that the list ended in the latest stretch, before ``rest``."""
        self.closed = True
        parts, length = [rest, self._skipped, *self._parts], 0
        for part in self._blocks:
            length += len(part)
            if length < _LONGEST_TAIL:
                parts.append(part)
        self._parts = []
        self.tail = b"".join(parts)

    def _open(self) -> None:
        """Read up to the first event."""
        text, searched, nested, tried = b"", 0, 0, 0
        for block in self._blocks:
            text = without_bom(text + block).lstrip() if not searched else text + block
            if text.startswith(b"[") and not _LOG_LINE.match(text):
                self.form, self._parts = "array", [text[1:]]
                return
            line = text[: text.find(b"\n") + 1].rstrip()
            if _is_event(line.rstrip(b",")):
                self.form, self._parts = "array" if line.endswith(b",") else "lines", [text]
                return
            for match in _LIST.finditer(text, searched):
                if tried < _MOST_NESTED and _object(text[: match.end()] + b"]}") is not None:
                    self._begin(text, match.end())
                    return
                nested = nested or match.end()
                tried += 1
            searched = max(0, len(text) - _LONGEST_KEY)
            if len(text) > (_LONGEST_BROKEN_HEAD if nested else _LONGEST_HEAD):
                break
        if nested:  # or the text before it is broken
            self._begin(text, nested)
        elif _is_event(text):
            self.form, self._parts = "lines", [text]
        elif (found := first_event(text)) is not None:
            start, end = found
            self.form = "array" if text[end:].lstrip().startswith(b",") else "lines"
            self._parts = [text[start:]]
            self._beheaded = not text.startswith(b"{") and _PART_OF_JSON.search(text, 0, start) is not None
        else:
            raise NoEventList

    def _begin(self, text: bytes, start: int) -> None:
        self.head, self._parts = text[:start], [text[start:]]

    def _fill(self) -> bool:
        """Have at least as many bytes as wanted; False at the end of the document."""
        length = sum(map(len, self._parts))
        while length < self._wanted:
            block = next(self._blocks, None)
            if block is None:
                return False
            self._parts.append(block)
            length += len(block)
        return True

    def _cut_last_part(self) -> Stretch | None:
        """Cut at the last known separator of the newest block."""
        if not self._separator or len(self._parts) < 2:
            return None
        newest = self._parts[-1]
        at = newest.rfind(self._separator)
        if at < 0:
            return None
        return self._stretch(self._parts[:-1], newest, at)

    def _cut_anywhere(self) -> Stretch | None:
        """Cut late in all that is there, and learn what separates events from the place."""
        text = b"".join(self._parts)
        self._parts = [text]
        at = text.rfind(self._separator) if self._separator else -1
        if at < 0:
            between = _BETWEEN_LINES if self.form == "lines" else _BETWEEN
            late = between.search(text, len(text) * 3 // 4) if self._separator else None
            match = late or between.search(text)
            if match is None and len(text) > _LONG:
                match = _BETWEEN_ANY.search(text)
            if match is None:
                return None
            self._separator = match[0]
            at = text.rfind(self._separator)
        return self._stretch([], text, at)

    def _stretch(self, before: list[bytes], newest: bytes, at: int) -> Stretch:
        """Cut ``newest`` at the separator that begins there."""
        following = at + self._separator.index(b"{", 1)
        parts = [*before, newest[: at + 1]]
        self._skipped = newest[at + 1 : following]
        self._parts = [newest[following:]]
        if self.form != "lines":
            return Stretch(b"".join([b"[", *parts, b"]"]))
        lines = b"".join(parts)
        return Stretch(b"[" + lines.strip().replace(b"\n", b",") + b"]", lines=lines)


def _is_event(line: bytes) -> bool:
    fields = _object(line)
    return fields is not None and "ph" in fields


def _object(text: bytes) -> dict[str, msgspec.Raw] | None:
    """The keys of a JSON object, None if it is none."""
    try:
        return _fields.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
