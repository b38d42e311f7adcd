"""An Analysis as a folder: written whole or not at all, opened without reading its large columns.

The events and the tree, one number per event and column, are NumPy files: polars maps their memory as it lies, while it
reads an Arrow file as a whole.  All other frames, small by comparison, are Arrow IPC files.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from tracelens_tui.analysis.model import Analysis, Part, TimeSplit
from tracelens_tui.errors import UserError
from tracelens_tui.perf.platforms import Platform
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import EVENT_SCHEMA, DataQuality, Trace, TraceMetadata

SCHEMA_VERSION = 4

_TRACE_FRAMES = ("threads", "args", "details", "repairs", "flows")
_FRAMES = ("ops", "calls", "gpu", "kernels", "gaps", "steps", "launches")
_HEADER = "analysis.json"


class _Header(msgspec.Struct, frozen=True):
    """All of an analysis that is not a frame."""

    schema_version: int
    metadata: TraceMetadata
    quality: DataQuality
    platform: Platform | None
    platform_note: str
    device: int
    splits: dict[int, TimeSplit]
    part: Part | None


def save_analysis(folder: Path, analysis: Analysis) -> None:
    """Write the analysis into ``folder``, replacing one that is there; on any failure the old one stays.

    Raises UserError where the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent) as temporary:
            new = Path(temporary) / "new"
            new.mkdir()
            _write(new, analysis)
            if folder.exists():
                folder.rename(Path(temporary) / "old")
            new.rename(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot store the analysis ({error.strerror or error}).") from error


def open_analysis(folder: Path) -> Analysis:
    """Return the analysis stored in ``folder``; frames and tree arrays are mapped, not read.

    Raises UserError where there is none, or one of another version.
    """
    header = _header(folder)
    trace = Trace(
        events=pl.DataFrame(_mapped(folder / "events", EVENT_SCHEMA)),
        names=_read(folder, "names")["name"],
        metadata=header.metadata,
        quality=header.quality,
        **{name: _read(folder, name) for name in _TRACE_FRAMES},
    )
    frames: dict[str, Any] = {name: _read(folder, name) for name in _FRAMES}
    return Analysis(
        trace=trace,
        tree=EventTree(**_mapped(folder / "tree", [field.name for field in fields(EventTree)])),
        platform=header.platform,
        platform_note=header.platform_note,
        device=header.device,
        splits=header.splits,
        part=header.part,
        **frames,
    )


def _write(folder: Path, analysis: Analysis) -> None:
    trace, tree = analysis.trace, analysis.tree
    _write_columns(folder / "events", {column.name: column.to_numpy() for column in trace.events})
    _write_columns(folder / "tree", {field.name: getattr(tree, field.name) for field in fields(tree)})
    frames = {name: getattr(trace, name) for name in _TRACE_FRAMES}
    frames |= {name: getattr(analysis, name) for name in _FRAMES}
    frames["names"] = trace.names.alias("name").to_frame()
    for name, frame in frames.items():
        frame.write_ipc(folder / f"{name}.arrow", compression="uncompressed")
    header = _Header(
        SCHEMA_VERSION,
        trace.metadata,
        trace.quality,
        analysis.platform,
        analysis.platform_note,
        analysis.device,
        analysis.splits,
        analysis.part,
    )
    (folder / _HEADER).write_bytes(msgspec.json.encode(header))


def _write_columns(folder: Path, columns: dict[str, np.ndarray]) -> None:
    folder.mkdir()
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def _mapped(folder: Path, columns: Iterable[str]) -> dict[str, np.ndarray]:
    """The columns as plain arrays over the mapped files; ``np.memmap`` itself is slow to index."""
    files = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in columns}
    return {name: file.view(np.ndarray) for name, file in files.items()}


def _read(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_ipc(folder / f"{name}.arrow")


def _header(folder: Path) -> _Header:
    try:
        data = (folder / _HEADER).read_bytes()
    except OSError as error:
        raise UserError(f"{folder}: no analysis is stored here; prepare the trace again.") from error
    try:
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw])["schema_version"]
        if msgspec.json.decode(version) == SCHEMA_VERSION:
            return msgspec.json.decode(data, type=_Header)
    except (msgspec.DecodeError, KeyError) as error:
        raise UserError(f"{folder / _HEADER}: damaged; prepare the trace again.") from error
    raise UserError(f"{folder}: stored by another version of tracelens-tui; prepare the trace again.")
