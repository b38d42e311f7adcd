"""Read one JSON object whose text is broken in one of the ways that profilers are known for.

Bare quotes and lone backslashes in strings, control characters, ``inf`` and ``nan``, values that are missing, too many
commas.  A guess by nature: only for text that strict readers refuse, and whoever uses it counts how often.
"""

import json
import re
from typing import Any

from tracelens_tui.ingest.numbers import point_number, whole_number

_LONGEST = 4 << 20
_decoder = json.JSONDecoder(parse_float=point_number, parse_int=whole_number, strict=False)
_EVENT_KEYS = r"ph|cat|name|pid|tid|ts|dur|tts|tdur|id|args|bp|s|cname|sf|stack"
_AFTER_EVENT_VALUE = re.compile(rf'(?:(?=\s*,)[\s,]*"(?:{_EVENT_KEYS})"\s*:|[\s,]*(?:\}}\s*)?$)')
_AFTER_OTHER_VALUE = re.compile(r'(?:(?=\s*,)[\s,]*"[^"\\]{1,80}"\s*:|[\s,]*(?:\}\s*(?:[,\]}]|$)|$))')
_AFTER_ITEM = re.compile(r'(?:(?=\s*,)[\s,]*["\[{\d\-tfnNI]|[\s,]*(?:\]\s*(?:[,\]}]|$)|$))')
_AFTER_KEY = re.compile(r"\s*:")
_QUOTE = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)
_BLANK = re.compile(r"\s*")
_LITERAL = re.compile(r'[^\s,\[\]{}:"]+')
_NUMBER = re.compile(r"([+-]?)(?:(\d+)\.?(\d*)|\.(\d+))([eE][+-]?\d+)?", re.ASCII)
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_ILLEGAL = re.compile(r'\\(?:\\|(?!["/bfnrt]|u[0-9a-fA-F]{4}))')


def lenient_object(text: str, *, event: bool = True) -> dict[str, Any] | None:
    """Return the object that ``text`` was meant to be, None where that cannot be told.

    With ``event`` the known keys of events help to tell a bare quote from the end of a string.  Numbers with a point
    become ``Decimal``.
    """
    if len(text) > _LONGEST:
        return None
    try:
        value = _decoder.decode(_Rewriter(text, event=event).rewritten())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Rewriter:
    """Goes through the text once and writes it anew as JSON."""

    def __init__(self, text: str, *, event: bool) -> None:
        self._text = text
        self._event = event
        self._at = 0
        self._out: list[str] = []
        self._open: list[str] = []  # brackets that are open
        self._last = ""  # the last token: a bracket, comma or colon, or "value"

    def rewritten(self) -> str:
        while True:
            self._at += len(_match(_BLANK, self._text, self._at))
            if self._at >= len(self._text):
                return "".join(self._out)
            self._token(self._text[self._at])

    def _token(self, char: str) -> None:
        if char == '"':
            self._string()
        elif char in "{[":
            self._open.append(char)
            self._put(char, char)
        elif char in "}]":
            self._close(char)
        elif char == ",":
            self._comma()
        elif char == ":":
            self._put(char, char)
        else:
            self._literal()

    def _put(self, text: str, token: str) -> None:
        self._out.append(text)
        self._last = token
        self._at += 1

    def _close(self, char: str) -> None:
        if not self._open:
            raise ValueError("a bracket too many")
        self._open.pop()
        if self._last == ",":
            self._out.pop()
        self._fill_in()
        self._put(char, "value")

    def _comma(self) -> None:
        self._fill_in()
        if self._last == "value":
            self._put(",", ",")
        else:
            self._at += 1

    def _fill_in(self) -> None:
        """Write null where a key has no value."""
        if self._last == ":":
            self._out.append("null")
            self._last = "value"

    def _literal(self) -> None:
        word = _match(_LITERAL, self._text, self._at)
        self._out.append(word if word in {"true", "false", "null"} else _number(word))
        self._last = "value"
        self._at += len(word)

    def _string(self) -> None:
        start = self._at + 1
        end = self._string_end(start)
        self._out.append(json.dumps(_content(self._text[start:end])))
        self._last = "value"
        self._at = end + 1

    def _string_end(self, start: int) -> int:
        """The first quote after which the text goes on as it may after a string."""
        follows = self._what_follows()
        at = start
        while match := _QUOTE.match(self._text, at):
            if follows.match(self._text, match.end()):
                return match.end() - 1
            at = match.end()
        raise ValueError("a string without an end")

    def _what_follows(self) -> "re.Pattern[str]":
        if not self._open or self._open[-1] == "[":
            return _AFTER_ITEM
        if self._last != ":":
            return _AFTER_KEY
        return _AFTER_EVENT_VALUE if self._event and len(self._open) == 1 else _AFTER_OTHER_VALUE


def _match(pattern: "re.Pattern[str]", text: str, at: int) -> str:
    match = pattern.match(text, at)
    return match[0] if match else ""


def _number(word: str) -> str:
    """The number as JSON writes it, null where the word is none: ``+1.``, ``.5`` and ``007`` are."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return "null"
    sign, whole, after_whole, alone, exponent = match.groups(default="")
    decimals = after_whole or alone
    return f"{sign.strip('+')}{whole.lstrip('0') or '0'}{'.' + decimals if decimals else ''}{exponent}"


def _content(raw: str) -> str:
    """What the text between the quotes means.  Where one escape is illegal, no backslash is one: it is a path."""
    if "\\" not in raw:
        return raw
    if any(match[0] != "\\\\" for match in _ILLEGAL.finditer(raw)):
        return raw.replace('\\"', '"')
    quoted = _ESCAPE_OR_QUOTE.sub(lambda match: '\\"' if match[0] == '"' else match[0], raw)
    return _decoder.decode(f'"{quoted}"')
