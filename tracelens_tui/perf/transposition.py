"""How the operands of a matrix product lay, as the kernel's name has it: "TN" = A transposed, B not."""

import re
from collections.abc import Sequence

_TENSILE = re.compile(r"Cijk_A(ilk|lik)_B(ljk|jlk)")  # i, j: free indices of A and B, l: the one that is summed
_LETTERS = (
    re.compile(r"^nvjet_\w*_([NT]{2})[NT]?$"),
    re.compile(r"_([nt]{2})(?:_n)?_(?:align|tilesize)"),  # CUTLASS, cuBLAS
    re.compile(r"gemm\w*_([nt]{2})(?:_v\d)?$"),  # cuBLAS's older kernels
)
_LONGEST = 1024


def transposition(kernels: Sequence[str]) -> str | None:
    """Return two letters, N or T, of the first kernel whose name has them; None if none does."""
    return next((found for found in (_of_name(kernel[:_LONGEST]) for kernel in kernels) if found is not None), None)


def _of_name(kernel: str) -> str | None:
    tensile = _TENSILE.search(kernel)
    if tensile is not None:
        return ("N" if tensile[1] == "ilk" else "T") + ("N" if tensile[2] == "ljk" else "T")
    letters = next((found for found in (pattern.search(kernel) for pattern in _LETTERS) if found is not None), None)
    return None if letters is None else letters[1].upper()
