"""Values of decoded JSON as text."""

import json
from decimal import Decimal
from typing import Any

from tracelens_tui.ingest.numbers import integer


class Unreadable(Exception):
    """JSON that Python does not read: numbers of thousands of digits or beyond Decimal, a thousand levels."""


def value_of(text: bytes) -> Any:  # noqa: ANN401 - decoded JSON
    """Return the value of JSON text, numbers with a point as ``Decimal``; raises :class:`Unreadable`."""
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Unreadable from error


def text_of(value: Any) -> str | None:  # noqa: ANN401 - decoded JSON
    """Return a value as text: strings as they are, whole numbers without a point, lists and objects as JSON text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return _written(value)
    return str(value) if isinstance(value, int) else str(_number(value))


def _written(value: Any) -> str | None:  # noqa: ANN401 - decoded JSON
    """The JSON text of a list or an object; None where it has more levels than Python writes."""
    try:
        return _encodable(json.dumps(value, ensure_ascii=False, default=_number))
    except RecursionError:
        return None


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced, so that it has a UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: Any) -> int | float:  # noqa: ANN401 - decoded JSON
    """A Decimal inside a list, as JSON writes it."""
    whole = integer(value)
    return whole if whole is not None else float(value)
