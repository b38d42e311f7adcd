"""What every reader hands over: batches of records, and what the keys of a Kineto event mean."""

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.types import Kind

Schema = dict[str, type[pl.DataType]]

EVENT_RECORD: Schema = {
    "uid": pl.Int64,  # position among the batch's objects
    "category": pl.UInt32,  # position in Batch.categories
    "name": pl.String,
    "pid": pl.String,  # a reader may give whole numbers instead
    "tid": pl.String,
    "start_ns": pl.Int64,  # null: no readable time
    "dur_ns": pl.Int64,  # null: none given
}
"""One row per "X" event."""

ID_ARGS = {
    "correlation": "correlation",
    "External id": "external_id",
    "external id": "external_id_2021",
    "Sequence number": "sequence",
    "Fwd thread id": "fwd_thread",
}
"""Key in ``args`` -> record column, for whole numbers."""

TEXT_ARGS = {
    "device": "device",
    "stream": "stream",
    "bytes": "bytes",
    "Input Dims": "dims",
    "Input type": "types",
    "Input Strides": "strides",
    "Concrete Inputs": "concrete",
    "grid": "grid",
    "block": "block",
    "Collective name": "collective",
    "dtype": "dtype",
    "Process Group Name": "group",
    "Process Group ID": "group_2023",
    "Process Group Ranks": "group_ranks",
    "Group size": "group_size",
    "In msg nelems": "in_nelems",
    "Out msg nelems": "out_nelems",
    "In split size": "in_split",
    "Out split size": "out_split",
    "kernel_file": "kernel_file",
    "Comms Id": "comms_id",
}
"""Key in ``args`` -> record column, for text; lists become JSON text.  A spelling of older profilers has its year."""

ARGS_RECORD: Schema = {
    **dict.fromkeys(ID_ARGS.values(), pl.Int64),
    **dict.fromkeys(TEXT_ARGS.values(), pl.String),
}
"""One row per "X" event whose arguments are read, null where a key is absent."""

FLOW_RECORD: Schema = {
    "id": pl.Int64,
    "finish": pl.Boolean,
    "pid": pl.String,
    "tid": pl.String,
    "start_ns": pl.Int64,
}
"""One row per end of an arrow from a launch to GPU work."""

LABEL_RECORD: Schema = {
    "name": pl.String,  # one of LABELS
    "pid": pl.String,
    "tid": pl.String,
    "text": pl.String,
}
"""One row per "M" event that names a process or a thread."""

LABELS = {"process_name": "name", "process_labels": "labels", "thread_name": "name"}
"""Name of an "M" event -> key of its text in ``args``."""

FLOW_CATEGORIES = frozenset({"ac2g", "async_cpu_to_gpu", "async_gpu"})

KINDS: dict[str, Kind] = {
    "cpu_op": Kind.CPU_OP,
    "operator": Kind.CPU_OP,
    "hpu_op": Kind.CPU_OP,
    "python_function": Kind.PYTHON_FUNCTION,
    "cuda_runtime": Kind.RUNTIME,
    "hip_runtime": Kind.RUNTIME,
    "runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.DRIVER,
    "xpu_driver": Kind.DRIVER,
    "privateuse1_driver": Kind.DRIVER,
    "kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "user_annotation": Kind.USER_ANNOTATION,
    "gpu_user_annotation": Kind.GPU_ANNOTATION,
    "cuda_sync": Kind.SYNC,
    "xpu_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
}
"""Category in lower case -> kind; whatever is not here is ``Kind.OTHER``."""


_OP_KEYS = ("External id", "external id", "Sequence number", "Fwd thread id")
_OP_TEXTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs", "kernel_file")

ARGS_KEYS: dict[str, tuple[str, ...]] = {
    "none": (),
    "op": (*_OP_KEYS, *_OP_TEXTS),
    "launch": ("correlation", "External id", "external id", "grid", "block"),
    "all": (*ID_ARGS, *TEXT_ARGS),
}
"""Which keys of ``args`` are read of which events, see :func:`args_group`: a key that cannot matter costs time."""

_COLLECTIVE_OP = "record_param_comms"  # the op that describes a collective has all keys

_GROUPS = {
    Kind.PYTHON_FUNCTION: "none",  # most events of a trace, and nothing in a Trace needs what they carry
    Kind.OVERHEAD: "none",
    Kind.CPU_OP: "op",
    Kind.RUNTIME: "launch",
    Kind.DRIVER: "launch",
}


def kind_of(category: str) -> Kind:
    """Return the kind of events of a category."""
    return KINDS.get(category.lower(), Kind.OTHER)


def args_group(category: str, name: str | None) -> str:
    """Return the key of ``ARGS_KEYS`` for an event of that category and name."""
    group = _group_of(category)
    return "all" if group == "op" and name == _COLLECTIVE_OP else group


@lru_cache(256)
def _group_of(category: str) -> str:
    return _GROUPS.get(kind_of(category), "all")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of some events."""

    rows: pl.DataFrame  # columns of ARGS_RECORD; those that were not read are absent
    events: NDArray[np.int64]  # row of ``rows`` -> row of Batch.events


@dataclass(frozen=True, slots=True)
class Batch:
    """The records of one stretch of the event list."""

    phases: Counter[str]  # "ph" -> objects; their sum is the number of objects that are events
    categories: list[str]
    events: pl.DataFrame  # EVENT_RECORD
    args: list[Arguments]
    flows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FLOW_RECORD))
    labels: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LABEL_RECORD))
    rounded: int = 0  # times that had digits below the nanosecond
    repaired: int = 0  # events with bytes that are no UTF-8
