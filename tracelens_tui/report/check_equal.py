"""Two numbers or texts that must be the same."""

import math
from collections.abc import Iterator
from itertools import takewhile

from tracelens_tui.text import clip

ABS = 1e-6  # of a ms or a percent: files hold unrounded numbers
_REL = 1e-9
_BEFORE, _SHOWN = 15, 60


def equal(what: str, stated: float | None, found: float | None) -> Iterator[str]:
    """Yield one line where a stated number is not the one that its sources give."""
    if stated is found is None:
        return
    if stated is None or found is None or not math.isclose(stated, found, rel_tol=_REL, abs_tol=ABS):
        yield f"{what} is {stated}, its sources give {found}"


def same_text(what: str, found: str, wanted: str) -> Iterator[str]:
    """Yield one line where a text is not what its sources give; long ones are shown from where they differ."""
    if found == wanted:
        return
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(found, wanted, strict=False)))
    start = max(0, common - _BEFORE) if max(len(found), len(wanted)) > _SHOWN else 0
    yield f"{what} is {_excerpt(found, start)}, its sources give {_excerpt(wanted, start)}"


def _excerpt(text: str, start: int) -> str:
    return repr(f"{'…' * bool(start)}{clip(str(text[start:]), _SHOWN)}")
