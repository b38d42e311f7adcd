"""What the keys of a Kineto event mean; free of heavy imports, since decoding processes start with it."""

from functools import lru_cache

from tracelens_tui.trace.kinds import Kind

ID_ARGS = {
    "correlation": "correlation",
    "External id": "external_id",
    "external id": "external_id_2021",
    "Sequence number": "sequence",
    "Fwd thread id": "fwd_thread",
}
"""Key in ``args`` -> column, for whole numbers."""

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
"""Key in ``args`` -> column, for text; lists become JSON text.  A spelling of older profilers has its year."""

NUMBER_COLUMNS = ("correlation", "external_id", "sequence", "fwd_thread", "device", "stream", "bytes")
"""Columns of whole numbers that an event's arguments may give."""

ARGS_COLUMNS = ("dims", "types", "strides", "concrete")
DETAIL_COLUMNS = tuple(
    column for column in TEXT_ARGS.values() if column not in {*NUMBER_COLUMNS, *ARGS_COLUMNS, "group_2023"}
)
"""Columns of texts that an event's arguments may give, see ``trace.types.ARGS_SCHEMA`` and ``DETAIL_SCHEMA``."""

LABELS = {"process_name": "name", "process_labels": "labels", "thread_name": "name"}
"""Name of an "M" event -> key of its text in ``args``."""

AUTOGRAD_FLOW = "fwdbwd"
"""Category of the arrows from a forward op to its backward op."""

FLOW_CATEGORIES = frozenset({"ac2g", "async_cpu_to_gpu", "async_gpu", AUTOGRAD_FLOW})

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
    "launch": ("correlation", "External id", "external id"),
    "all": (*ID_ARGS, *TEXT_ARGS),
}
"""Which keys of ``args`` are read of which events, see :func:`args_group`: a key that cannot matter costs time."""

COLLECTIVE_OP = "record_param_comms"

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
    return "all" if group == "op" and name == COLLECTIVE_OP else group


@lru_cache(256)
def _group_of(category: str) -> str:
    return _GROUPS.get(kind_of(category), "all")
