"""The flat record that every reader produces, one row per object of the event list that has a ``ph``."""

import polars as pl

from tracelens_tui.trace.types import Kind

RECORD_SCHEMA: dict[str, type[pl.DataType]] = {
    "phase": pl.String,
    "category": pl.String,
    "name": pl.String,
    "pid": pl.String,
    "tid": pl.String,
    "start_ns": pl.Int64,  # null: no readable time
    "dur_ns": pl.Int64,  # null: none given
    "flow_id": pl.Int64,
    "correlation": pl.Int64,
    "external_id": pl.Int64,
    "sequence": pl.Int64,
    "fwd_thread": pl.Int64,
    "device": pl.String,
    "stream": pl.String,
    "bytes": pl.String,
    "label_name": pl.String,  # of process_name and thread_name
    "label_text": pl.String,  # of process_labels
    # the columns of ARGS_SCHEMA and DETAIL_SCHEMA
    "dims": pl.String,
    "types": pl.String,
    "strides": pl.String,
    "concrete": pl.String,
    "grid": pl.String,
    "block": pl.String,
    "collective": pl.String,
    "dtype": pl.String,
    "group": pl.String,
    "group_ranks": pl.String,
    "group_size": pl.String,
    "in_nelems": pl.String,
    "out_nelems": pl.String,
    "in_split": pl.String,
    "out_split": pl.String,
    "kernel_file": pl.String,
    "comms_id": pl.String,
}

ID_ARGS = {
    "correlation": "correlation",
    "External id": "external_id",
    "Sequence number": "sequence",
    "Fwd thread id": "fwd_thread",
}
"""Key in ``args`` -> record column, for whole numbers."""

TEXT_ARGS = {
    "device": "device",
    "stream": "stream",
    "bytes": "bytes",
    "name": "label_name",
    "labels": "label_text",
    "Input Dims": "dims",
    "Input type": "types",
    "Input Strides": "strides",
    "Concrete Inputs": "concrete",
    "grid": "grid",
    "block": "block",
    "Collective name": "collective",
    "dtype": "dtype",
    "Process Group Name": "group",
    "Process Group Ranks": "group_ranks",
    "Group size": "group_size",
    "In msg nelems": "in_nelems",
    "Out msg nelems": "out_nelems",
    "In split size": "in_split",
    "Out split size": "out_split",
    "kernel_file": "kernel_file",
    "Comms Id": "comms_id",
}
"""Key in ``args`` -> record column, for text and for values kept as JSON text."""

OLD_ID_ARGS = {"external id": "external_id"}
OLD_TEXT_ARGS = {"Process Group ID": "group"}
"""Spellings of older profilers; they count where the present one is absent."""

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
