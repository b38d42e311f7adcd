"""Batches of records into the columns of a Trace."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.dictionary import Codes, RowDictionary, codes_by_appearance
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.records import FLOW_RECORD, KINDS, LABEL_RECORD, Batch, Schema
from tracelens_tui.trace.roles import role_codes
from tracelens_tui.trace.types import (
    ARGS_SCHEMA,
    DETAIL_SCHEMA,
    EVENT_SCHEMA,
    FLOW_SCHEMA,
    GPU_KINDS,
    LAUNCH_KINDS,
    NONE_ID,
    REPAIR_SCHEMA,
    THREAD_SCHEMA,
    Kind,
    Trace,
    TraceMetadata,
)

_GPU_ROWS = (*GPU_KINDS, Kind.GPU_ANNOTATION)
_THREAD_KEY: Schema = {"pid": pl.String, "tid": pl.String, "gpu": pl.String}
_NO_FLOWS = pl.DataFrame(schema=FLOW_SCHEMA)
_LAST_NUMBER = r"(\d+)\s*$"
_METRIC = "metrics: "  # XPU's scope profiler repeats kernels under such names, one per metric


class Assembler:
    """Takes batches in file order and gives the Trace of all of them.

    Each batch is turned into codes and numbers as it comes, so that its text can be freed.
    """

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = tally or Tally()
        self.objects = 0  # objects with a "ph" taken so far
        self._phases: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._names = RowDictionary({"name": pl.String})
        self._threads = RowDictionary(_THREAD_KEY)
        self._args = RowDictionary(ARGS_SCHEMA, empty_row=True)
        self._details = RowDictionary(DETAIL_SCHEMA, empty_row=True)
        self._events: list[pl.DataFrame] = []
        self._flows: list[pl.DataFrame] = []
        self._labels: list[pl.DataFrame] = []

    def add(self, batch: Batch) -> None:
        """Take the records of one stretch of the event list."""
        self._phases.update(batch.phases)
        self.tally.counts["rounded_time"] += batch.rounded
        if batch.flows.height:
            self._flows.append(batch.flows.cast({"pid": pl.String, "tid": pl.String}))
        if batch.labels.height:
            self._labels.append(batch.labels.cast({"pid": pl.String, "tid": pl.String}))
        if batch.events.height:
            self._add_events(batch)
        self.objects += batch.phases.total()

    def finish(self, metadata: TraceMetadata) -> Trace:
        """Return the Trace of all batches; ``metadata`` gets the counts of phases and categories."""
        names, of_name = self._names.finish()
        threads, of_thread = self._threads.finish()
        args, of_args = self._args.finish()
        details, of_detail = self._details.finish()
        events = _concat(self._events, {**EVENT_SCHEMA, "missing": pl.Boolean})
        self._events.clear()
        final = {"name": of_name, "thread": of_thread, "args": of_args, "detail": of_detail}
        codes = {column: mapping[events[column].to_numpy()] for column, mapping in final.items()}
        roles = role_codes(events["kind"].to_numpy(), codes["name"], names["name"])
        events = events.with_columns(pl.Series("role", roles), *(pl.Series(*item) for item in codes.items()))
        counts = {"phase_counts": dict(self._phases), "category_counts": dict(self._categories)}
        return Trace(
            events=events.select(*EVENT_SCHEMA),
            names=names["name"],
            threads=_thread_frame(threads, _concat(self._labels, LABEL_RECORD)),
            args=args,
            details=details,
            repairs=_missing_durations(events),
            metadata=replace(metadata, **counts),
            quality=self.tally.record(),
            flows=_flow_frame(_concat(self._flows, FLOW_RECORD), threads) if _needs_flows(events) else _NO_FLOWS,
        )

    def _add_events(self, batch: Batch) -> None:
        records, args, args_of = self._readable(batch)
        kinds = self._kinds(records)
        gpu = np.isin(kinds, GPU_KINDS)
        numbers = _scattered(args, args_of, records.height)
        device, stream, size = _device_columns(records, args, args_of, gpu)
        names = records.select(pl.col("name").fill_null(""))
        self.tally.counts["unnamed_kernel"] += int((names["name"].to_numpy()[gpu] == "").sum()) if gpu.any() else 0
        missing = records["dur_ns"].is_null()
        self._events.append(
            pl.DataFrame(
                {
                    "uid": records["uid"] + self.objects,
                    "kind": kinds,
                    "role": np.zeros(records.height, np.uint8),
                    "name": self._names.add(names),
                    "thread": self._thread_codes(records, np.isin(kinds, _GPU_ROWS)),
                    "device": device,
                    "stream": stream,
                    "start_ns": records["start_ns"],
                    "dur_ns": records["dur_ns"].fill_null(0),
                    **numbers,
                    "args": _sparse_codes(self._args, args.select(*ARGS_SCHEMA), args_of, records.height),
                    "detail": _sparse_codes(self._details, args.select(*DETAIL_SCHEMA), args_of, records.height),
                    "bytes": size,
                    "missing": missing,
                },
            ).select(*EVENT_SCHEMA, "missing")
        )

    def _readable(self, batch: Batch) -> tuple[pl.DataFrame, pl.DataFrame, NDArray[np.int64]]:
        """The events that have a time, their arguments, and which event each argument row belongs to."""
        args = batch.args.with_columns(
            pl.coalesce("external_id", "external_id_2021").alias("external_id"),
            pl.coalesce("group", "group_2023").alias("group"),
        )
        readable = batch.events["start_ns"].is_not_null().to_numpy()
        lost = int((~readable).sum())
        if not lost:
            return batch.events, args, batch.args_of
        self.tally.counts["unreadable_event"] += lost
        self.tally.events_lost += lost
        position = np.cumsum(readable) - 1
        kept = readable[batch.args_of]
        return batch.events.filter(readable), args.filter(kept), position[batch.args_of[kept]]

    def _kinds(self, records: pl.DataFrame) -> NDArray[np.uint8]:
        codes, first = codes_by_appearance(records["category"].fill_null(""))
        categories = records["category"].fill_null("")[first].to_list()
        for category, count in zip(categories, np.bincount(codes).tolist(), strict=True):
            self._categories[category] += count
        kinds = np.array([KINDS.get(category.lower(), Kind.OTHER) for category in categories], np.uint8)[codes]
        kernels = np.flatnonzero(kinds == Kind.KERNEL)
        metrics = records["name"][kernels].str.starts_with(_METRIC).fill_null(value=False).to_numpy()
        kinds[kernels[metrics]] = Kind.OTHER
        return kinds

    def _thread_codes(self, records: pl.DataFrame, gpu: NDArray[np.bool_]) -> Codes:
        """Codes of the rows' threads.  GPU rows are kept apart: host ids may equal a device and its stream."""
        key = records.select("pid", "tid").with_columns(gpu=pl.Series(gpu))
        changed = (
            key.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))).to_series().to_numpy(writable=True)
        )
        changed[0] = True
        runs = np.flatnonzero(changed)
        codes = self._threads.add(
            key[runs].select(
                pl.col("pid", "tid").cast(pl.String).fill_null(""), pl.col("gpu").cast(pl.UInt8).cast(pl.String)
            )
        )
        return np.repeat(codes, np.diff(np.append(runs, len(gpu))))


def _scattered(args: pl.DataFrame, args_of: NDArray[np.int64], height: int) -> dict[str, NDArray[np.int64]]:
    """The whole numbers of the arguments, one per event; what stands for "none" where there is none."""
    columns = {}
    for name, none in (("correlation", NONE_ID), ("external_id", NONE_ID), ("sequence", -1), ("fwd_thread", -1)):
        column = np.full(height, none, np.int64)
        column[args_of] = args[name].fill_null(none).to_numpy()
        if none == NONE_ID:
            column[column == -1] = NONE_ID
        columns[name] = column
    return columns


def _device_columns(
    records: pl.DataFrame, args: pl.DataFrame, args_of: NDArray[np.int64], gpu: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Device, stream and bytes of GPU events: their arguments first, then the row they lie on; -1 elsewhere."""
    where = np.flatnonzero(gpu)
    argument = np.full(records.height, -1)
    argument[args_of] = np.arange(len(args_of))
    given = pl.Series(argument[where]).replace(-1, None)
    rows = records.select("pid", "tid")[where].cast(pl.String).hstack(args.select("device", "stream", "bytes")[given])
    tid = pl.col("tid").str.extract(_LAST_NUMBER)
    found = rows.select(
        pl.coalesce(_whole("device", pl.Int32), _whole("pid", pl.Int32)).fill_null(-1),
        pl.coalesce(_whole("stream", pl.Int64), tid.cast(pl.Int64, strict=False)).fill_null(-1),
        _whole("bytes", pl.Int64).fill_null(-1),
    )
    columns = np.full(records.height, -1, np.int32), np.full(records.height, -1), np.full(records.height, -1)
    for column, name in zip(columns, ("device", "stream", "bytes"), strict=True):
        column[where] = found[name].to_numpy()
    return columns


def _whole(name: str, dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col(name).cast(dtype, strict=False)


def _sparse_codes(dictionary: RowDictionary, rows: pl.DataFrame, rows_of: NDArray[np.int64], height: int) -> Codes:
    """Codes of the rows that have any of the columns; 0, the empty row, for the others."""
    codes = np.zeros(height, np.uint32)
    recorded = rows.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
    if recorded.any():
        codes[rows_of[recorded]] = dictionary.add(rows.filter(recorded).select(pl.all().fill_null("")))
    return codes


def _thread_frame(threads: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    return threads.select(
        "pid",
        "tid",
        _label(labels, "process_name", threads, ["pid"]),
        _label(labels, "process_labels", threads, ["pid"]).alias("process_label"),
        _label(labels, "thread_name", threads, ["pid", "tid"]),
        (pl.col("gpu") == "1").alias("is_gpu"),
    ).cast(dict(THREAD_SCHEMA.items()))


def _label(labels: pl.DataFrame, kind: str, threads: pl.DataFrame, key: list[str]) -> pl.Series:
    """The last label of that kind for each thread, "" where there is none."""
    last = labels.filter(pl.col("name") == kind).unique(key, keep="last").select(*key, pl.col("text").alias(kind))
    found = threads.select(key).join(last, on=key, how="left", maintain_order="left")[kind]
    return found.fill_null("").str.strip_chars()


def _missing_durations(events: pl.DataFrame) -> pl.DataFrame:
    return (
        events.with_row_index("event")
        .filter("missing")
        .select(
            "event",
            pl.lit("missing_duration").alias("code"),
            pl.col("start_ns").alias("raw_start_ns"),
            pl.lit(None).alias("raw_dur_ns"),
        )
        .cast(dict(REPAIR_SCHEMA.items()))
    )


def _flow_frame(flows: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """The arrows that may tell a launch: tail on a host row, head on a GPU row; profilers write others too."""
    rows = threads.select("pid", "tid", (pl.col("gpu") == "1").alias("finish")).with_row_index("thread")
    known = flows.filter(pl.col("id").is_not_null() & pl.col("start_ns").is_not_null())
    known = known.with_columns(pl.col("pid", "tid").fill_null(""))
    joined = known.join(rows, on=["pid", "tid", "finish"], how="inner", maintain_order="left")
    return joined.select(*FLOW_SCHEMA).cast(dict(FLOW_SCHEMA.items()))


def _needs_flows(events: pl.DataFrame) -> bool:
    linked = events["kind"].is_in([*GPU_KINDS, *LAUNCH_KINDS])
    return bool((linked & (events["correlation"] == NONE_ID)).any())


def _concat(parts: list[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *parts]).rechunk()
