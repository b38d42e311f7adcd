"""The Trace: a profile as columns, with integer nanoseconds.

An *event* is one row of ``Trace.events``; its row index is its id everywhere (tree arrays, tables, jump targets).
Strings and argument lists are stored once and referred to by code.
"""

from dataclasses import dataclass, field

import polars as pl

from tracelens_tui.trace.kinds import GPU_KINDS, HOST_KINDS, LAUNCH_KINDS, NONE_ID, Kind, Role

__all__ = [
    "ARGS_SCHEMA",
    "DETAIL_SCHEMA",
    "EVENT_SCHEMA",
    "FLOW_SCHEMA",
    "GPU_KINDS",
    "HOST_KINDS",
    "LAUNCH_KINDS",
    "NONE_ID",
    "QUALITY_CODES",
    "REPAIR_SCHEMA",
    "THREAD_SCHEMA",
    "DataQuality",
    "DeviceProperties",
    "Kind",
    "QualityItem",
    "Role",
    "Source",
    "Trace",
    "TraceMetadata",
]

EVENT_SCHEMA: dict[str, type[pl.DataType]] = {
    "uid": pl.Int64,  # position in the file's event list, every object with a "ph" counted
    "kind": pl.UInt8,  # Kind
    "role": pl.UInt8,  # Role
    "name": pl.UInt32,  # row of Trace.names
    "thread": pl.UInt32,  # row of Trace.threads (for GPU events: their GPU row)
    "device": pl.Int32,  # GPU of a GPU event as the file numbers it, else -1
    "stream": pl.Int64,  # stream of a GPU event, else -1
    "start_ns": pl.Int64,  # relative to TraceMetadata.base_time_ns; after repairs
    "dur_ns": pl.Int64,  # >= 0; after repairs
    "correlation": pl.Int64,  # launch <-> GPU event, per process; NONE_ID = none
    "external_id": pl.Int64,  # RecordFunction id; a number space of its own
    "sequence": pl.Int64,  # autograd sequence number, -1 = none
    "fwd_thread": pl.Int64,  # autograd forward thread id, -1 = none
    "args": pl.UInt32,  # row of Trace.args; row 0 = nothing recorded
    "detail": pl.UInt32,  # row of Trace.details; row 0 = nothing recorded
    "bytes": pl.Int64,  # bytes of a copy or a set, -1 = not recorded
}

THREAD_SCHEMA: dict[str, type[pl.DataType]] = {
    "pid": pl.String,
    "tid": pl.String,
    "process_name": pl.String,
    "process_label": pl.String,
    "thread_name": pl.String,
    "is_gpu": pl.Boolean,
}

ARGS_SCHEMA: dict[str, type[pl.DataType]] = {
    # each the JSON text of a list, "" where the event has no such field
    "dims": pl.String,
    "types": pl.String,
    "strides": pl.String,
    "concrete": pl.String,
}

DETAIL_SCHEMA: dict[str, type[pl.DataType]] = {
    # fields of launches, kernels and collectives as text, "" where absent
    "grid": pl.String,
    "block": pl.String,
    "collective": pl.String,  # Collective name
    "dtype": pl.String,
    "group": pl.String,  # Process Group Name
    "group_ranks": pl.String,
    "group_size": pl.String,
    "in_nelems": pl.String,
    "out_nelems": pl.String,
    "in_split": pl.String,
    "out_split": pl.String,
    "kernel_file": pl.String,
    "comms_id": pl.String,  # may exceed 64 bits
}

REPAIR_SCHEMA: dict[str, type[pl.DataType]] = {
    "event": pl.UInt32,
    "code": pl.String,  # quality code
    "raw_start_ns": pl.Int64,
    "raw_dur_ns": pl.Int64,
}

FLOW_SCHEMA: dict[str, type[pl.DataType]] = {
    # the "fwdbwd" arrows from forward to backward ops and, only where an event lacks a correlation, the "ac2g" arrows
    # from launches to GPU work
    "id": pl.Int64,
    "autograd": pl.Boolean,  # True: from a forward to a backward op
    "finish": pl.Boolean,  # True at the arrow's head, False at its tail
    "thread": pl.UInt32,  # row of Trace.threads
    "start_ns": pl.Int64,
}


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """One entry of the file's ``deviceProperties``."""

    id: int
    name: str
    sm_count: int | None = None
    memory_bytes: int | None = None
    compute_major: int | None = None
    compute_minor: int | None = None
    warp_size: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a trace came from and how it was packed."""

    path: str
    format: str  # "kineto", ...
    size: int  # bytes of the file as it lies
    compression: str = "none"  # "none", "gzip", "zstd", "zip", ...
    member: str | None = None  # member of an archive that was read
    members: int = 1  # gzip members
    trailing_bytes: int = 0  # bytes after the compressed data or after the end of the document


@dataclass(frozen=True, slots=True)
class TraceMetadata:
    """What the file says beside its events."""

    source: Source
    base_time_ns: int = 0
    devices: tuple[DeviceProperties, ...] = ()
    gpu_name_hints: tuple[str, ...] = ()  # GPU names found elsewhere in the metadata
    with_stack: bool = False
    record_shapes: bool = False
    rank: int | None = None
    world_size: int | None = None
    phase_counts: dict[str, int] = field(default_factory=dict)  # "ph" -> events read, e.g. {"X": 90, "M": 6}
    category_counts: dict[str, int] = field(default_factory=dict)  # "cat" of the "X" events as the file spells it
    extra: dict[str, str] = field(default_factory=dict)  # other scalar top-level keys, as text


@dataclass(frozen=True, slots=True)
class QualityItem:
    """One kind of defect of the data: how often, what it does to the numbers, whether advice must wait."""

    code: str  # the closed list QUALITY_CODES
    count: int
    message: str  # one sentence for the user
    effect: str = ""  # what it does to the tables
    share_of_busy: float | None = None  # 0..1 where it can be stated
    gates: bool = False  # warns and gates advice (more than 0.1 % of busy time)


QUALITY_CODES = (
    "truncated",
    "unreadable_event",
    "repaired_text",
    "trailing_bytes",
    "second_list",
    "archive_member",
    "unnamed_kernel",
    "negative_duration",
    "missing_duration",
    "duration_overflow",
    "kernel_before_launch",
    "stream_overlap",
    "zero_duration",
    "recorded_twice",
    "merged_ranks",
    "dead_steps",
    "unlinked",
    "no_gpu",
    "no_shapes",
    "no_host",
    "rounded_time",
)


@dataclass(frozen=True, slots=True)
class DataQuality:
    """What was repaired, dropped, impossible or missing."""

    items: tuple[QualityItem, ...] = ()
    events_lost: int = 0
    partial: bool = False  # the file was cut or could not be read to its end

    def get(self, code: str) -> QualityItem | None:
        """Return the item of that code, if the trace has the defect."""
        return next((item for item in self.items if item.code == code), None)

    @property
    def gated(self) -> bool:
        """True where a defect is large enough that advice needs a warning first."""
        return any(item.gates for item in self.items)


@dataclass(frozen=True, slots=True)
class Trace:
    """A profile as columns; see the schemas above for every frame.  Never changed after it is built."""

    events: pl.DataFrame
    names: pl.Series  # String; code -> event name
    threads: pl.DataFrame
    args: pl.DataFrame
    details: pl.DataFrame
    repairs: pl.DataFrame  # raw times of the events whose times were repaired
    metadata: TraceMetadata
    quality: DataQuality
    flows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FLOW_SCHEMA))

    def __len__(self) -> int:
        """Return the number of events."""
        return self.events.height
