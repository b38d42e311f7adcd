"""What an event is and what it does with the device: closed lists that every layer shares, free of heavy imports."""

from enum import IntEnum


class Kind(IntEnum):
    """What an event is.  A closed list: a category that is not known becomes ``OTHER`` and is counted."""

    OTHER = 0
    CPU_OP = 1
    PYTHON_FUNCTION = 2
    RUNTIME = 3
    DRIVER = 4
    KERNEL = 5
    MEMCPY = 6
    MEMSET = 7
    USER_ANNOTATION = 8
    GPU_ANNOTATION = 9
    SYNC = 10
    OVERHEAD = 11


GPU_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
LAUNCH_KINDS = (Kind.RUNTIME, Kind.DRIVER)
HOST_KINDS = (Kind.CPU_OP, Kind.PYTHON_FUNCTION, Kind.RUNTIME, Kind.DRIVER, Kind.USER_ANNOTATION)
"""Kinds that nest on a host thread and form the tree."""


class Role(IntEnum):
    """What a GPU event does with the device; ``NONE`` for everything on the host.  Decided once, in ``trace.roles``."""

    NONE = 0
    COMPUTE = 1
    COMM = 2
    COPY = 3


NONE_ID = 0
"""``correlation`` and ``external_id`` of an event that has none (files write 0, -1 or nothing)."""
