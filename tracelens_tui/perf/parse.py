"""From the argument lists of a trace to :class:`OpArgs`.  Trace text is hostile: literal JSON only, never eval."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from tracelens_tui.perf.types import Dims, OpArgs, Shape

_LARGEST = 1 << 62  # elements of a tensor; nothing real is larger
_T = TypeVar("_T")


def op_args(
    name: str, dims: str, types: str, strides: str = "", concrete: str = "", kernels: Sequence[str] = ()
) -> OpArgs:
    """Return the parsed arguments of an op; each text is the JSON of a list, "" where nothing was recorded.

    A list that is malformed, or holds what no shape can be (negative, fractional, nested too deep), becomes empty, so
    that a model has nothing to go by and answers None.  So does a tensor of more than 2**62 elements.
    """
    return OpArgs(
        name=name,
        dims=_dims(dims),
        types=_strings(types),
        strides=_dims(strides, bounded=False),
        concrete=_strings(concrete),
        kernels=tuple(kernels),
    )


def as_bool(text: str) -> bool | None:
    """Return a recorded bool ("True"), None for anything else."""
    return {"true": True, "false": False}.get(text.strip().lower())


def as_int(text: str) -> int | None:
    """Return a recorded integer ("15"), None for anything else."""
    body = text.strip()
    digits = body.removeprefix("-")
    return int(body) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def as_float(text: str) -> float | None:
    """Return a recorded finite number ("0.", "1e-05"), None for anything else."""
    if len(text) > 40 or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def as_ints(text: str) -> tuple[int, ...] | None:
    """Return a recorded list of integers ("[16, 16]", "(1,1)"), None for anything else."""
    return _items(text, as_int)


def as_floats(text: str) -> tuple[float, ...] | None:
    """Return a recorded list of finite numbers ("[2., 2.]"), None for anything else."""
    return _items(text, as_float)


def as_bools(text: str) -> tuple[bool, ...] | None:
    """Return a recorded list of flags ("[True, False]"), None for anything else."""
    return _items(text, as_bool)


def _items(text: str, parsed: Callable[[str], _T | None]) -> tuple[_T, ...] | None:
    """Parse the items between one pair of brackets; a comma may end them, as in "(1,)"."""
    body = text.strip()
    if body[:1] + body[-1:] not in {"[]", "()"}:
        return None
    parts = body[1:-1].split(",")
    if not parts[-1].strip():
        parts.pop()
    items = [parsed(part) for part in parts]
    known = [item for item in items if item is not None]
    return tuple(known) if len(known) == len(items) else None


def _json_list(text: str) -> list[Any] | None:
    if not text:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return value if isinstance(value, list) else None


def _strings(text: str) -> tuple[str, ...]:
    return tuple(_string(item) for item in _json_list(text) or ())


def _string(item: object) -> str:
    if isinstance(item, str):
        return item
    return "" if item is None else str(item)


def _dims(text: str, *, bounded: bool = True) -> Dims:
    parsed: list[Shape | tuple[Shape, ...]] = []
    for item in _json_list(text) or ():
        entry = _entry(item, bounded=bounded)
        if entry is None:
            return ()
        parsed.append(entry)
    return tuple(parsed)


def _entry(item: object, *, bounded: bool) -> Shape | tuple[Shape, ...] | None:
    """Return a shape, or the shapes of a tensor list; None where it is neither."""
    shape = _shape(item, bounded=bounded)
    if shape is not None or not isinstance(item, list):
        return shape
    shapes = [_shape(part, bounded=bounded) for part in item]
    return None if any(part is None for part in shapes) else tuple(part for part in shapes if part is not None)


def _shape(item: object, *, bounded: bool) -> Shape | None:
    if not isinstance(item, list) or not all(type(n) is int and 0 <= n <= _LARGEST for n in item):
        return None
    return None if bounded and math.prod(item) > _LARGEST else tuple(item)
