"""The element type that a kernel's name tells, for ops whose arguments do not: lists of tensors are recorded without.

PyTorch's kernels are templates over the element type.  Kernels that only move data are instantiated for a size in
bytes (``OpaqueType<2u>``) and tell no more than that.
"""

import re
from collections.abc import Sequence

from tracelens_tui.perf.dtypes import Dtype, dtype_of

_OPAQUE = re.compile(r"OpaqueType<(\d{1,2})u?>")
_SCALAR = (
    r"c10::(?:BFloat16|Half|Float8_\w+|complex<[\w:]+>)|double|float|long|int|short|signed char|unsigned char|bool"
)
_FIRST = re.compile(rf"\b\w*(?:Functor|Copy)\w*<({_SCALAR})\s*[,>]")


def element_type(kernels: Sequence[str]) -> Dtype | None:
    """Return the type that the templates of functors and copies begin with, None if none or several are told."""
    sizes = {int(size) for kernel in kernels for size in _OPAQUE.findall(kernel)}
    names = {name for kernel in kernels for name in _FIRST.findall(kernel)}
    if len(sizes) + len(names) != 1:
        return None
    if names:
        return dtype_of(names.pop())
    size = sizes.pop()
    return Dtype(f"{size} bytes", size, None, "int") if size else None
