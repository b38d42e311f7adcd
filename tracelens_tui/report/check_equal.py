"""Two numbers that must be the same."""

import math
from collections.abc import Iterator

ABS = 1e-3  # files may hold numbers rounded to three decimals
_REL = 1e-6


def equal(what: str, stated: float | None, found: float | None) -> Iterator[str]:
    """Yield one line where a stated number is not the one that its sources give."""
    if stated is found is None:
        return
    if stated is None or found is None or not math.isclose(stated, found, rel_tol=_REL, abs_tol=ABS):
        yield f"{what} is {stated}, its sources give {found}"
