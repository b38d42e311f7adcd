"""The raw columns of a whole file into a Trace: what each event is, where it ran, and which rows are used."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.batch import ABSENT, Codes, Int64, Texts
from tracelens_tui.ingest.keys import NUMBER_COLUMNS, kind_of
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.threads import flow_frame, thread_frame
from tracelens_tui.trace.roles import role_codes
from tracelens_tui.trace.types import (
    ARGS_SCHEMA,
    DETAIL_SCHEMA,
    EVENT_SCHEMA,
    GPU_KINDS,
    LAUNCH_KINDS,
    NONE_ID,
    REPAIR_SCHEMA,
    Kind,
    Trace,
    TraceMetadata,
)

_Bools = NDArray[np.bool_]
_IS_GPU = np.isin(np.arange(len(Kind)), GPU_KINDS)
_IS_GPU_ROW = _IS_GPU | (np.arange(len(Kind)) == Kind.GPU_ANNOTATION)
_IDS = ("correlation", "external_id")  # 0 and -1 stand for none
_METRIC = "metrics: "  # XPU's scope profiler repeats kernels under such names, one per metric
_LAST_NUMBER = r"(\d+)\s*$"


@dataclass(slots=True)
class Raw:
    """The columns of a file as they were read, and what their codes stand for."""

    events: dict[str, NDArray[Any]]
    categories: list[str]
    names: list[str]
    places: list[tuple[str, str]]  # pid and tid
    args: list[Texts]  # the first is empty
    details: list[Texts]  # the first is empty
    flows: dict[str, NDArray[Any]]
    labels: list[tuple[str, str, str, str]]
    phases: Counter[str]


def trace_of(raw: Raw, metadata: TraceMetadata, tally: Tally) -> Trace:
    """Return the Trace; events without a readable time are left out and counted."""
    _drop_unreadable(raw, tally)
    columns = raw.events
    category_counts = _category_counts(raw)
    kinds, name, names = _kinds_and_names(raw)
    tally.counts["unnamed_kernel"] += int((_IS_GPU[kinds] & (names == "").to_numpy()[name]).sum())
    place, missing = columns.pop("place"), columns["dur_ns"] == ABSENT
    thread, threads = _by_first_use(2 * place + _IS_GPU_ROW[kinds], reserved=0)
    args_code, args = _by_first_use(columns.pop("args"), reserved=1)
    detail_code, details = _by_first_use(columns.pop("detail"), reserved=1)
    columns["dur_ns"][missing] = 0
    _fill_numbers(columns, raw.places, place, _IS_GPU[kinds])
    columns |= {
        "kind": kinds,
        "role": role_codes(kinds, name, names),
        "name": name,
        "thread": thread,
        "args": args_code,
        "detail": detail_code,
    }
    events = pl.DataFrame(
        {column: pl.Series(columns.pop(column), dtype=dtype) for column, dtype in EVENT_SCHEMA.items()}
    )
    rows = [(*raw.places[key // 2], bool(key % 2)) for key in threads.tolist()]
    return Trace(
        events=events,
        names=names,
        threads=thread_frame(rows, raw.labels),
        args=pl.DataFrame([raw.args[row] for row in args.tolist()], schema=ARGS_SCHEMA, orient="row"),
        details=pl.DataFrame([raw.details[row] for row in details.tolist()], schema=DETAIL_SCHEMA, orient="row"),
        repairs=_missing_durations(events, missing),
        metadata=replace(metadata, phase_counts=dict(raw.phases), category_counts=category_counts),
        quality=tally.record(),
        flows=flow_frame(raw.flows, threads, launches=_needs_launch_flows(events)),
    )


def _drop_unreadable(raw: Raw, tally: Tally) -> None:
    readable = raw.events["start_ns"] != ABSENT
    lost = len(readable) - int(readable.sum())
    if lost:
        tally.counts["unreadable_event"] += lost
        tally.events_lost += lost
        raw.events = {name: column[readable] for name, column in raw.events.items()}


def _category_counts(raw: Raw) -> dict[str, int]:
    counts = np.bincount(raw.events["category"], minlength=len(raw.categories)).tolist()
    return {category: count for category, count in zip(raw.categories, counts, strict=True) if count}


def _kinds_and_names(raw: Raw) -> tuple[NDArray[np.uint8], Codes, pl.Series]:
    """The kind of each event, the code of its name, and the names."""
    kinds = np.array([kind_of(category) for category in raw.categories], np.uint8)[raw.events.pop("category")]
    name, used = _by_first_use(raw.events.pop("name"), reserved=0)
    names = pl.Series("name", [raw.names[row] for row in used.tolist()], dtype=pl.String)
    kinds[(kinds == Kind.KERNEL) & names.str.starts_with(_METRIC).to_numpy()[name]] = Kind.OTHER
    return kinds, name, names


def _by_first_use(codes: Codes, reserved: int) -> tuple[Codes, NDArray[np.intp]]:
    """Number the rows in use by their first use, after the reserved ones; returns also the old row of each new one."""
    size = max(int(codes.max(initial=0)) + 1, reserved)
    first = np.full(size, len(codes))
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    first[:reserved] = np.arange(-reserved, 0)
    used = np.flatnonzero(first < len(codes))
    order = used[np.argsort(first[used], kind="stable")]
    number = np.zeros(size, np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    return number[codes], order


def _fill_numbers(columns: dict[str, NDArray[Any]], places: list[tuple[str, str]], place: Codes, gpu: _Bools) -> None:
    """Put what stands for "none" where a number is absent; GPU events get device and stream from their row."""
    for name in ("device", "stream", "bytes"):
        columns[name][~gpu] = ABSENT
    for name, numbers in zip(("device", "stream"), _devices_and_streams(places), strict=True):
        lacking = np.flatnonzero(gpu & (columns[name] == ABSENT))
        columns[name][lacking] = numbers[place[lacking]]
    columns["device"] = np.where(np.abs(columns["device"]) > np.iinfo(np.int32).max, -1, columns["device"])
    for name in NUMBER_COLUMNS:
        column = columns[name]
        none = NONE_ID if name in _IDS else -1
        column[column == ABSENT] = none
        if name in _IDS:
            column[column == -1] = none


def _devices_and_streams(places: list[tuple[str, str]]) -> tuple[Int64, Int64]:
    """The device and the stream that the process and the thread of a GPU row stand for; ABSENT where they do not."""
    rows = pl.DataFrame(places, schema={"pid": pl.String, "tid": pl.String}, orient="row")
    numbers = rows.select(
        pl.col("pid").cast(pl.Int64, strict=False).fill_null(ABSENT),
        pl.col("tid").str.extract(_LAST_NUMBER).cast(pl.Int64, strict=False).fill_null(ABSENT),
    )
    return numbers["pid"].to_numpy(), numbers["tid"].to_numpy()


def _missing_durations(events: pl.DataFrame, missing: _Bools) -> pl.DataFrame:
    rows = np.flatnonzero(missing)
    columns = {
        "event": rows,
        "code": pl.repeat("missing_duration", len(rows), dtype=pl.String, eager=True),
        "raw_start_ns": events["start_ns"].gather(rows),
        "raw_dur_ns": pl.repeat(None, len(rows), dtype=pl.Int64, eager=True),
    }
    return pl.DataFrame(columns).cast(pl.Schema(REPAIR_SCHEMA))


def _needs_launch_flows(events: pl.DataFrame) -> bool:
    linked = events["kind"].is_in([*GPU_KINDS, *LAUNCH_KINDS])
    return bool((linked & (events["correlation"] == NONE_ID)).any())
