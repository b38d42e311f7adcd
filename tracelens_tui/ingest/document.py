"""Find the event list in a JSON document that comes in blocks, and cut it into stretches between events.

Where to cut is a guess from the text between two events, which a file repeats; whether a cut was right shows when the
stretch is decoded, since half an event is no JSON.  Whoever decodes gives back what he could not use.
"""

import re
from collections.abc import Iterator

import msgspec

from tracelens_tui.ingest.sniff import without_bom

_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
_EVENT_KEY = rb'"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s)"'
_BETWEEN = re.compile(rb"\}\s*,\s*\{\s*" + _EVENT_KEY)
_BETWEEN_LINES = re.compile(rb"\}\s*\n\s*\{\s*" + _EVENT_KEY)
_ANY_BETWEEN = re.compile(rb"\}\s*,?\s*\{")
_KEY = re.compile(rb'\s*"[^"]*"$')
_LONGEST_HEAD = 256 << 20
_LONGEST_TAIL = 64 << 20
_PATIENCE = 16  # stretches' worth of bytes without a place to cut

_discard = msgspec.json.Decoder(dict[str, msgspec.Raw])


class NoEventList(Exception):
    """The document is JSON, or begins like JSON, but holds no list of events."""


class Document:
    """A trace document.  Iterate :meth:`stretches` to its end; then ``head`` and ``tail`` are what lies around the list."""

    def __init__(self, blocks: Iterator[bytes], size: int) -> None:
        """``size`` is about how many bytes a stretch has.  Raises :class:`NoEventList`."""
        self._blocks = blocks
        self._size = size
        self._more = True
        self._separator: bytes | None = None
        self._buffer = bytearray()
        self.head = b""
        self.tail = b""
        self.closed = False  # the list's end was found
        self.lines = False  # events stand one after another without a list
        self._open()

    def stretches(self) -> Iterator[bytes]:
        """Give the text of some events after another, without the brackets of the list.

        A stretch holds whole events if the cut was right, with white space and commas around them; the last one runs to
        the end of the document.
        """
        wanted = self._size
        while self._more and not self.closed:
            self._fill(wanted)
            cut = self._cut() if self._more else len(self._buffer)
            if not cut:
                wanted = 2 * len(self._buffer)
                if wanted > self._size * _PATIENCE * 2:
                    cut = len(self._buffer)
            else:
                wanted = self._size
            if cut:
                ...
