"""The ops that a compiled kernel fuses, read from its name.

torch.compile joins the names of the ATen ops by "_", in order: ``triton_red_fused__unsafe_view_add_mean_3`` fuses
``_unsafe_view``, ``add`` and ``mean``.  Names hold "_" themselves, so the text is cut by the longest known name at each
place (``perf/data/fused_op_names.json``); a word that begins no known name is a name of its own.
"""

from functools import lru_cache
from importlib.resources import files

import msgspec

_MOST_WORDS = 400  # of a name that are looked at


def fused_ops(joined: str) -> tuple[str, ...]:
    """Return the names of the ATen ops in a kernel's name, without what stands before and after them."""
    known, longest = _known_names()
    words = joined.split("_")[:_MOST_WORDS]
    names: list[str] = []
    at = 0
    while at < len(words):
        reach = min(longest, len(words) - at)
        tries = ("_".join(words[at : at + count]) for count in range(reach, 1, -1))
        name = next((one for one in tries if one in known), words[at])
        names.append(name)
        at += name.count("_") + 1
    return tuple(name for name in names if name)


@lru_cache(maxsize=1)
def _known_names() -> tuple[frozenset[str], int]:
    """The names of ATen ops that hold "_", and the most words that one has."""
    data = (files("tracelens_tui.perf") / "data" / "fused_op_names.json").read_bytes()
    names = msgspec.json.decode(data, type=list[str])
    return frozenset(names), max(name.count("_") for name in names) + 1
