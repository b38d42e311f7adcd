"""Decide once what a GPU event does with the device: compute, communicate or copy."""

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.types import Kind, Role

_LIBRARIES = re.compile(
    r"(?:n|r|x|h|one|ms)ccl"  # NCCL, RCCL, oneCCL and XCCL, HCCL, MSCCL and MSCCL++
    r"|(?:nv|roc)_?shmem|symmetric_memory|multimem_"
    r"|cross_device_(?:reduce|store)|quick_?reduce"  # vLLM, SGLang and AITER custom all-reduce
    r"|deep_ep::|\bmori::|Ep(?:Dispatch|Combine)(?:Intra|Inter)",  # expert-parallel dispatch and combine
    re.IGNORECASE,
)
_COLLECTIVES = re.compile(
    r"(?<!warp)(?<!warp_)(?<!block)(?<!block_)(?<!wave)(?<!wave_)(?<!group)(?<!group_)"  # within one kernel only
    r"(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)",
    re.IGNORECASE,
)
_FUSED_BY_COMPILER = re.compile(r"triton_[a-z]+_fused_")  # named after every op it came from, waits included
_COPIES = re.compile(
    r"MEMORY_COPY_"
    r"|__amd_rocclr_copy"
    r"|Copy(?:Host|Device|Peer)To(?:Host|Device|Peer)"
    r"|Memcpy (?:HtoD|DtoH|DtoD|HtoH|PtoP)"
)


def is_collective(kernel: str) -> bool:
    """Return whether a kernel of that name moves data between devices or ranks.

    A collective fused with other work (all-reduce + RMSNorm) is one: its time is bounded by the transfer.
    """
    if _LIBRARIES.search(kernel):
        return True
    return bool(_COLLECTIVES.search(kernel)) and not _FUSED_BY_COMPILER.match(kernel)


def is_copy(kernel: str) -> bool:
    """Return whether an event that the profiler calls a kernel is a plain copy, as old ROCm profilers write them."""
    return bool(_COPIES.match(kernel))


def role_codes(
    kinds: NDArray[np.uint8], codes: NDArray[np.uint32], names: "Sequence[str] | pl.Series"
) -> NDArray[np.uint8]:
    """Return the :class:`Role` of every event from its kind and its name (a row of ``names``).

    Copies are ``COPY``; kernels by name; sets are ``COMPUTE``; whatever is not GPU work is ``NONE``.  Each distinct
    kernel name is looked at once.
    """
    roles = np.full(len(kinds), Role.NONE, np.uint8)
    roles[kinds == Kind.MEMCPY] = Role.COPY
    roles[kinds == Kind.MEMSET] = Role.COMPUTE
    kernels = kinds == Kind.KERNEL
    distinct, inverse = np.unique(codes[kernels], return_inverse=True)
    of_name = np.array([_role_of_kernel(names[int(code)]) for code in distinct], np.uint8)
    roles[kernels] = of_name[inverse.reshape(-1)]
    return roles


def _role_of_kernel(name: str) -> Role:
    if is_copy(name):
        return Role.COPY
    return Role.COMM if is_collective(name) else Role.COMPUTE
