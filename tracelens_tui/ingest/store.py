"""A Trace and its tree as a folder that opens without reading the large columns.

Columns with one number per event are NumPy files, which are mapped into memory; polars would read an Arrow file whole.
The other frames, small by comparison, are uncompressed Arrow IPC files.
"""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import (
    ARGS_SCHEMA,
    DETAIL_SCHEMA,
    EVENT_SCHEMA,
    FLOW_SCHEMA,
    REPAIR_SCHEMA,
    THREAD_SCHEMA,
    DataQuality,
    Trace,
    TraceMetadata,
)

_FRAMES = {
    "names": {"name": pl.String},
    "threads": THREAD_SCHEMA,
    "args": ARGS_SCHEMA,
    "details": DETAIL_SCHEMA,
    "repairs": REPAIR_SCHEMA,
    "flows": FLOW_SCHEMA,
}
_TREE = tuple(field.name for field in fields(EventTree))
_HEADER = "trace.json"


class Damaged(Exception):
    """The folder does not hold what was written into it, or not in this version's form."""


class _Header(msgspec.Struct, frozen=True):
    metadata: TraceMetadata
    quality: DataQuality
    sizes: dict[str, int]  # of every other file, to notice one that was not written to its end


def write_trace(folder: Path, trace: Trace, tree: EventTree) -> None:
    """Write the trace and its tree into an empty folder."""
    _write_columns(folder / "events", {column.name: column.to_numpy() for column in trace.events})
    _write_columns(folder / "tree", {name: getattr(tree, name) for name in _TREE})
    for name in _FRAMES:
        frame = trace.names.alias("name").to_frame() if name == "names" else getattr(trace, name)
        frame.write_ipc(folder / f"{name}.arrow", compression="uncompressed")
    header = _Header(trace.metadata, trace.quality, _sizes(folder))
    (folder / _HEADER).write_bytes(msgspec.json.encode(header))


def read_trace(folder: Path) -> tuple[Trace, EventTree]:
    """Return the trace and tree of a folder; their large columns are read-only views of the files.

    Raises :class:`Damaged`.
    """
    try:
        header = msgspec.json.decode((folder / _HEADER).read_bytes(), type=_Header)
        if header.sizes != _sizes(folder):
            raise Damaged(f"{folder}: a file has another size than was written")
        events = pl.DataFrame(_mapped(folder / "events", EVENT_SCHEMA))
        tree = EventTree(**_mapped(folder / "tree", _TREE))
        frames = {name: pl.read_ipc(folder / f"{name}.arrow") for name in _FRAMES}
    except (OSError, ValueError, msgspec.DecodeError, pl.exceptions.PolarsError) as error:
        raise Damaged(f"{folder}: {error}") from error
    _check(events, tree, frames)
    names = frames.pop("names")["name"]
    return Trace(events=events, names=names, metadata=header.metadata, quality=header.quality, **frames), tree


def _check(events: pl.DataFrame, tree: EventTree, frames: dict[str, pl.DataFrame]) -> None:
    schemas = {**_FRAMES, "events": EVENT_SCHEMA}
    for name, frame in {**frames, "events": events}.items():
        if dict(frame.schema) != schemas[name]:
            raise Damaged(f"{name} has other columns than this version writes")
    if any(len(getattr(tree, name)) != events.height for name in _TREE):
        raise Damaged("the tree is not that of the events")


def _sizes(folder: Path) -> dict[str, int]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != _HEADER)
    return {str(file.relative_to(folder)): file.stat().st_size for file in files}


def _write_columns(folder: Path, columns: dict[str, np.ndarray]) -> None:
    folder.mkdir()
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def _mapped(folder: Path, columns: Iterable[str]) -> dict[str, np.ndarray]:
    files = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in columns}
    return {name: file.view(np.ndarray) for name, file in files.items()}  # np.memmap itself is slow to index
