"""Which part of a trace is asked for: what the options say, as a value and as text; no heavy imports."""

import re
import shlex
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from tracelens_tui.errors import UserError
from tracelens_tui.text import plain

ScopeKind = Literal["step", "steps", "annotation", "time", "node"]

KINDS: tuple[ScopeKind, ...] = ("step", "steps", "annotation", "time", "node")
"""Also the names of the options, without their dashes."""

_BY_NAME: dict[str, ScopeKind] = {kind: kind for kind in KINDS}
_UNITS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_NUMBER = re.compile(r"[0-9]{1,18}")
_NUMBERS = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")
_TIME = r"([0-9]{1,18}(?:\.[0-9]{1,18})?)"
_TIMES = re.compile(rf"{_TIME}(ns|us|µs|μs|ms|s)?-{_TIME}(ns|us|µs|μs|ms|s)?")
_LONGEST_NS = 10**18
"""More than thirty years: times beyond would not fit the columns."""

_MENDS: dict[ScopeKind, str] = {
    "step": "give the number of a ProfilerStep annotation, such as --step 3",
    "steps": "give the first and the last step, such as --steps 2-5",
    "annotation": "give the name of an annotation, or a pattern such as --annotation 'forward*'",
    "time": "give two times after the window's start, such as --time 300-450 (ms) or --time 1.2s-1.5s",
    "node": "give the position of an event in the file (uid), such as --node 1234",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a trace: steps, an annotation, a stretch of time or the subtree of an event.

    ``first`` and ``last`` are the steps (both belong), the times in ns after the window's start (the last one
    does not belong), or twice the ``uid`` of an event; ``name`` is that of an annotation, or a pattern.
    """

    kind: ScopeKind
    first: int = 0
    last: int = 0
    name: str = ""

    @classmethod
    def parse(cls, kind: ScopeKind, value: str) -> "Scope":
        """Return the scope that an option's value names; UserError where it is none."""
        bounds = (0, 0) if kind == "annotation" else _bounds(kind, value.strip())
        if bounds is None or bounds[0] > bounds[1] or (kind == "annotation" and not value):
            raise UserError(f"--{kind} {plain(value, 60)!r}: {_MENDS[kind]}")
        if kind == "annotation":
            return cls(kind, name=value)
        if kind == "steps" and bounds[0] == bounds[1]:
            kind = "step"
        return cls(kind, *bounds)

    @classmethod
    def of_options(cls, given: Mapping[ScopeKind, str | None]) -> "Scope | None":
        """Return the scope of the one option that was given, None without any; UserError that names two."""
        chosen: list[tuple[ScopeKind, str]] = [(kind, value) for kind, value in given.items() if value is not None]
        if len(chosen) > 1:
            raise UserError(
                f"choose the part of the trace with --{chosen[0][0]} or with --{chosen[1][0]}, not with both"
            )
        return cls.parse(*chosen[0]) if chosen else None

    @classmethod
    def of_text(cls, text: str) -> "Scope":
        """Return the scope that ``text`` was made from; UserError for any other text."""
        name, equals, value = text.partition("=")
        kind = _BY_NAME.get(name)
        if kind is None or not equals:
            raise UserError(f"{plain(text, 60)!r} names no part of a trace")
        return cls.parse(kind, value)

    @property
    def text(self) -> str:
        """The scope as text, such as ``steps=2-5``; with two dashes before it, the option that gives it."""
        return f"{self.kind}={self._value}"

    @property
    def option(self) -> str:
        """The option as a user types it, such as ``--steps 2-5``."""
        return f"--{self.kind} {shlex.quote(plain(self._value))}"

    @property
    def slug(self) -> str:
        """A short name that may stand in a path; different for different scopes."""
        if self.kind == "annotation":
            words = re.sub(r"[^A-Za-z0-9]+", "-", self.name)[:24].strip("-")
            return f"{self.kind}-{words}-{zlib.crc32(self.name.encode('utf-8', 'surrogatepass')):08x}"
        return f"{self.kind}-{self._value}"

    def describe(self) -> str:
        """Return the part in words, as one line of plain text."""
        if self.kind == "annotation":
            return f"annotation {plain(self.name, 80)}"
        return {
            "step": f"ProfilerStep#{self.first}",
            "steps": f"ProfilerStep#{self.first} to #{self.last}",
            "time": f"the time {self._value}",
            "node": f"the subtree of event {self.first}",
        }[self.kind]

    @property
    def _value(self) -> str:
        if self.kind == "annotation":
            return self.name
        if self.kind == "time":
            return _times(self.first, self.last)
        return f"{self.first}-{self.last}" if self.kind == "steps" else str(self.first)


def _bounds(kind: ScopeKind, value: str) -> tuple[int, int] | None:
    """The two numbers of a value, None where it is not of the option's form."""
    if kind == "steps":
        steps = _NUMBERS.fullmatch(value)
        return (int(steps[1]), int(steps[2])) if steps else None
    if kind == "time":
        times = _TIMES.fullmatch(value)
        if times is None:
            return None
        unit = times[4] or "ms"
        first, last = _ns(times[1], times[2] or unit), _ns(times[3], unit)
        return (first, last) if first < last < _LONGEST_NS else None
    number = _NUMBER.fullmatch(value)
    return (int(number[0]), int(number[0])) if number else None


def _ns(number: str, unit: str) -> int:
    """A time in whole ns; smaller digits are dropped."""
    return int(Decimal(number) * _UNITS[unit])


def _times(first: int, last: int) -> str:
    """Two times in the largest unit that writes both without a fraction."""
    unit = next(unit for unit in ("s", "ms", "us", "ns") if not first % _UNITS[unit] and not last % _UNITS[unit])
    return f"{first // _UNITS[unit]}{unit}-{last // _UNITS[unit]}{unit}"
