"""Recorded op arguments in the short form that fits a table: ``8944×1024 bf16, 1024×2816 bf16``."""

import json
from functools import lru_cache
from typing import Any

from tracelens_tui.text import plain

_SHORT_TYPES = {
    "c10::BFloat16": "bf16",
    "c10::Half": "fp16",
    "float": "fp32",
    "double": "fp64",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e4m3fnuz": "fp8",
    "c10::Float8_e5m2": "fp8",
    "c10::Float8_e5m2fnuz": "fp8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
}


@lru_cache(4096)
def args_text(dims: str, types: str) -> str:
    """Return the tensor arguments of one call; "" where no shapes were recorded."""
    shapes = _json_list(dims)
    names = _json_list(types)
    parts: list[str] = []
    for place, shape in enumerate(shapes):
        text = _shape(shape)
        if text:
            name = names[place] if place < len(names) else ""
            short = _SHORT_TYPES.get(str(name), str(name))
            parts.append(f"{text} {short}".rstrip())
    return plain(", ".join(parts))


def _json_list(text: str) -> list[Any]:
    """Parse the JSON text of a list; anything else is no list."""
    try:
        value = json.loads(text) if text else []
    except ValueError:
        return []
    return value if isinstance(value, list) else []


def _shape(shape: object) -> str:
    """One shape as ``8×16``, a tensor list as ``[8×16 8×16]``, "" for a scalar."""
    if not isinstance(shape, list) or not shape:
        return ""
    if all(isinstance(size, int) for size in shape):
        return "×".join(str(size) for size in shape)
    inner = [_shape(one) for one in shape if isinstance(one, list)]
    return f"[{' '.join(text for text in inner if text)}]"
