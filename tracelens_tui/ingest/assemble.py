"""Batches of records into the columns of a Trace."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.dictionary import Codes, RowDictionary
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.records import FLOW_RECORD, LABEL_RECORD, Arguments, Batch, Schema, kind_of
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

_IS_GPU = np.isin(np.arange(len(Kind)), GPU_KINDS)
_IS_GPU_ROW = _IS_GPU | (np.arange(len(Kind)) == Kind.GPU_ANNOTATION)
_NUMBERS = {"correlation": NONE_ID, "external_id": NONE_ID, "sequence": -1, "fwd_thread": -1}
_NO_DEVICE = pl.DataFrame(schema={**dict.fromkeys(("device", "stream", "bytes"), pl.String), "event": pl.Int64})
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
        self.tally.counts["repaired_text"] += batch.repaired
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
        codes["args"], args = _by_first_use(codes["args"], args)
        codes["detail"], details = _by_first_use(codes["detail"], details)
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
        records, arguments = self._readable(batch)
        kinds = self._kinds(records, batch.categories)
        gpu = np.flatnonzero(_IS_GPU[kinds])
        names = records.select("name")
        self.tally.counts["unnamed_kernel"] += sum(name == "" for name in names["name"][gpu])
        args, details = np.zeros(records.height, np.uint32), np.zeros(records.height, np.uint32)
        for part in arguments:
            _set_codes(args, self._args, part, ARGS_SCHEMA)
            _set_codes(details, self._details, part, DETAIL_SCHEMA)
        missing = records["missing"].to_numpy()
        self._events.append(
            pl.DataFrame(
                {
                    "uid": records["uid"].to_numpy() + self.objects,
                    "kind": kinds,
                    "role": np.zeros(records.height, np.uint8),
                    "name": self._names.add(names),
                    "thread": self._thread_codes(records, _IS_GPU_ROW[kinds]),
                    **_device_columns(records, arguments, gpu),
                    "start_ns": records["start_ns"],
                    "dur_ns": records["dur_ns"],
                    **_numbers(arguments, records.height),
                    "args": args,
                    "detail": details,
                    "missing": missing,
                },
            ).select(*EVENT_SCHEMA, "missing")
        )

    def _readable(self, batch: Batch) -> tuple[pl.DataFrame, list[Arguments]]:
        """The events that have a time, without nulls but for the ids of processes and threads, and their arguments."""
        records = batch.events.with_columns(
            pl.col("name").fill_null(""),
            pl.col("dur_ns").is_null().alias("missing"),
            pl.col("dur_ns").fill_null(0),
        )
        lost = records["start_ns"].null_count()
        if not lost:
            return records, batch.args
        self.tally.counts["unreadable_event"] += lost
        self.tally.events_lost += lost
        readable = records["start_ns"].is_not_null().to_numpy()
        position = np.cumsum(readable) - 1
        kept = [(part, readable[part.events]) for part in batch.args]
        args = [Arguments(part.rows.filter(keep), position[part.events[keep]]) for part, keep in kept]
        return records.filter(readable), args

    def _kinds(self, records: pl.DataFrame, categories: list[str]) -> NDArray[np.uint8]:
        codes = records["category"].to_numpy()
        counts = np.bincount(codes, minlength=len(categories))
        self._categories.update(dict(zip(categories, counts.tolist(), strict=True)))
        kinds = np.array([kind_of(category) for category in categories], np.uint8)[codes]
        kernels = np.flatnonzero(kinds == Kind.KERNEL)
        metrics = [name.startswith(_METRIC) for name in records["name"][kernels]]
        kinds[kernels[metrics]] = Kind.OTHER
        return kinds

    def _thread_codes(self, records: pl.DataFrame, gpu: NDArray[np.bool_]) -> Codes:
        """Codes of the rows' threads.  GPU rows are kept apart: host ids may equal a device and its stream."""
        place = pl.col("pid", "tid", "gpu")
        runs = (
            records.lazy()
            .select("pid", "tid", gpu=pl.Series(gpu))
            .with_row_index("row")
            .filter((pl.col("row") == 0) | pl.any_horizontal(place.ne_missing(place.shift())))
            .with_columns(place.cast(pl.String).fill_null(""))
            .collect()
        )
        codes = self._threads.add(runs.select("pid", "tid", "gpu"))
        return np.repeat(codes, np.diff(np.append(runs["row"].to_numpy(), len(gpu))))


def _numbers(arguments: list[Arguments], height: int) -> dict[str, NDArray[np.int64]]:
    """The whole numbers of the arguments, one per event; what stands for "none" where there is none."""
    columns = {name: np.full(height, none) for name, none in _NUMBERS.items()}
    for part in arguments:
        rows = _first_given(part.rows, "external_id", "external_id_2021")
        found = [name for name in columns if name in rows.columns and rows[name].null_count() < rows.height]
        filled = rows.select(pl.col(name).fill_null(_NUMBERS[name]) for name in found)
        for name in found:
            columns[name][part.events] = filled[name].to_numpy()
    for name in ("correlation", "external_id"):
        columns[name][columns[name] == -1] = NONE_ID
    return columns


def _first_given(rows: pl.DataFrame, name: str, older: str) -> pl.DataFrame:
    """The rows with ``name`` taken from the older spelling where it is absent."""
    if older not in rows.columns or rows[older].null_count() == rows.height:
        return rows
    return rows.with_columns(pl.coalesce(name, older).alias(name))


def _device_columns(
    records: pl.DataFrame, arguments: list[Arguments], gpu: NDArray[np.int64]
) -> dict[str, NDArray[np.integer]]:
    """Device, stream and bytes of the events ``gpu``: their arguments first, then the row they lie on; -1 elsewhere."""
    columns: dict[str, NDArray[np.integer]] = {
        "device": np.full(records.height, -1, np.int32),
        "stream": np.full(records.height, -1),
        "bytes": np.full(records.height, -1),
    }
    if not len(gpu):
        return columns
    given = [
        part.rows.select("device", "stream", "bytes", event=part.events) for part in arguments if "device" in part.rows
    ]
    tid = pl.col("tid").cast(pl.String).str.extract(_LAST_NUMBER)
    found = (
        records.lazy()
        .select("pid", "tid", event=pl.int_range(records.height, dtype=pl.Int64))
        .select(pl.all().gather(gpu))
        .join(pl.concat([_NO_DEVICE, *given]).lazy(), on="event", how="left", maintain_order="left")
        .select(
            pl.coalesce(_whole("device", pl.Int32), _whole("pid", pl.Int32)).alias("device").fill_null(-1),
            pl.coalesce(_whole("stream", pl.Int64), tid.cast(pl.Int64, strict=False)).alias("stream").fill_null(-1),
            _whole("bytes", pl.Int64).fill_null(-1),
        )
        .collect()
    )
    for name, column in columns.items():
        column[gpu] = found[name].to_numpy()
    return columns


def _whole(name: str, dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col(name).cast(dtype, strict=False)


def _set_codes(codes: Codes, dictionary: RowDictionary, part: Arguments, schema: Schema) -> None:
    """Set the codes of the events that have any of the columns of ``schema``; the others keep 0, the empty row."""
    rows = _first_given(part.rows, "group", "group_2023")
    found = [name for name in schema if name in rows.columns and rows[name].null_count() < rows.height]
    if found:
        recorded = (
            rows.lazy()
            .select(*found, event=part.events)
            .filter(pl.any_horizontal(pl.col(found).is_not_null()))
            .with_columns(pl.col(found).fill_null(""))
            .collect()
        )
        codes[recorded["event"].to_numpy()] = dictionary.add(recorded.select(found))


def _by_first_use(codes: Codes, rows: pl.DataFrame) -> tuple[Codes, pl.DataFrame]:
    """Number the rows after 0 in the order in which events use them, however these were batched."""
    first = np.full(rows.height, len(codes))
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    first[0] = -1
    order = np.argsort(first, kind="stable")
    number = np.empty(rows.height, np.uint32)
    number[order] = np.arange(rows.height, dtype=np.uint32)
    return number[codes], rows[order]


def _thread_frame(threads: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    return threads.select(
        "pid",
        "tid",
        _label(labels, "process_name", threads, ["pid"]),
        _label(labels, "process_labels", threads, ["pid"]).alias("process_label"),
        _label(labels, "thread_name", threads, ["pid", "tid"]),
        (pl.col("gpu") == "true").alias("is_gpu"),
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
    rows = threads.select("pid", "tid", (pl.col("gpu") == "true").alias("finish")).with_row_index("thread")
    known = flows.filter(pl.col("id").is_not_null() & pl.col("start_ns").is_not_null())
    known = known.with_columns(pl.col("pid", "tid").fill_null(""))
    joined = known.join(rows, on=["pid", "tid", "finish"], how="inner", maintain_order="left")
    return joined.select(*FLOW_SCHEMA).cast(dict(FLOW_SCHEMA.items()))


def _needs_flows(events: pl.DataFrame) -> bool:
    linked = events["kind"].is_in([*GPU_KINDS, *LAUNCH_KINDS])
    return bool((linked & (events["correlation"] == NONE_ID)).any())


def _concat(parts: list[pl.DataFrame], schema: Schema) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *parts]).rechunk()
