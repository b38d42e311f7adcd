"""Records, chunk by chunk, into the columns of a Trace."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.ingest.dictionary import Codes, RowDictionary
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.records import KINDS
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
_FLOW_CATEGORIES = ("ac2g", "async_cpu_to_gpu", "async_gpu")
_LABELS = ("process_name", "process_labels", "thread_name")
_THREAD_KEY = {"pid": pl.String, "tid": pl.String, "gpu": pl.String}
_FLOW_RECORD = {"id": pl.Int64, "finish": pl.Boolean, "pid": pl.String, "tid": pl.String, "start_ns": pl.Int64}
_NO_FLOWS = pl.DataFrame(schema=FLOW_SCHEMA)
_LAST_NUMBER = r"(\d+)\s*$"


class Assembler:
    """Takes frames of ``RECORD_SCHEMA`` in file order and gives the Trace of all of them.

    Each chunk is turned into codes and numbers as it comes, so that its text can be freed.
    """

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = tally or Tally()
        self.objects = 0  # events taken so far
        self._phases: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._names = RowDictionary({"name": pl.String})
        self._threads = RowDictionary(_THREAD_KEY)
        self._args = RowDictionary(ARGS_SCHEMA, empty_row=True)
        self._details = RowDictionary(DETAIL_SCHEMA, empty_row=True)
        self._events: list[pl.DataFrame] = []
        self._flows: list[pl.DataFrame] = []
        self._labels: list[pl.DataFrame] = []

    def add(self, records: pl.DataFrame, *, rounded: int = 0) -> None:
        """Take the records of one chunk, of which ``rounded`` times had digits below the ns."""
        records = records.filter(pl.col("phase").is_not_null()).with_columns(
            uid=pl.int_range(self.objects, self.objects + pl.len(), dtype=pl.Int64)
        )
        self.objects += records.height
        self.tally.counts["rounded_time"] += rounded
        _count(self._phases, records["phase"])
        phase = pl.col("phase")
        self._add_events(records.filter(phase == "X"))
        self._add_flows(records.filter(phase.is_in(["s", "f"]) & pl.col("category").is_in(_FLOW_CATEGORIES)))
        labels = records.filter((phase == "M") & pl.col("name").is_in(_LABELS))
        if labels.height:
            self._labels.append(labels.select("name", "pid", "tid", "label_name", "label_text"))

    def finish(self, metadata: TraceMetadata) -> Trace:
        """Return the Trace of all records; ``metadata`` gets the counts of phases and categories."""
        names, name_codes = self._names.finish()
        threads, thread_codes = self._threads.finish()
        args, args_codes = self._args.finish()
        details, detail_codes = self._details.finish()
        events = _concat(self._events, {**EVENT_SCHEMA, "missing": pl.Boolean}).with_columns(
            pl.col("name").map_batches(lambda codes: _mapped(name_codes, codes), pl.UInt32),
            pl.col("thread").map_batches(lambda codes: _mapped(thread_codes, codes), pl.UInt32),
            pl.col("args").map_batches(lambda codes: _mapped(args_codes, codes), pl.UInt32),
            pl.col("detail").map_batches(lambda codes: _mapped(detail_codes, codes), pl.UInt32),
        )
        kinds = events["kind"].to_numpy()
        roles = role_codes(kinds, events["name"].to_numpy(), names["name"])
        missing = events["missing"]
        events = events.with_columns(role=pl.Series(roles)).select(*EVENT_SCHEMA)
        flows = _flow_frame(_concat(self._flows, _FLOW_RECORD), threads) if _needs_flows(events) else _NO_FLOWS
        counts = {"phase_counts": dict(self._phases), "category_counts": dict(self._categories)}
        return Trace(
            events=events,
            names=names["name"],
            threads=self._thread_frame(threads),
            args=args,
            details=details,
            repairs=_missing_durations(events, missing),
            metadata=replace(metadata, **counts),
            quality=self.tally.record(),
            flows=flows,
        )

    def _add_events(self, records: pl.DataFrame) -> None:
        _count(self._categories, records["category"])
        unreadable = int(records["start_ns"].null_count())
        if unreadable:
            self.tally.counts["unreadable_event"] += unreadable
            self.tally.events_lost += unreadable
            records = records.filter(pl.col("start_ns").is_not_null())
        records = records.with_columns(
            pl.col("category")
            .str.to_lowercase()
            .replace_strict(
                {name: int(kind) for name, kind in KINDS.items()}, default=int(Kind.OTHER), return_dtype=pl.UInt8
            )
            .alias("kind"),
            pl.col("name", "pid", "tid").fill_null(""),
        ).with_columns(kind=_without_metric_rows())
        gpu = records["kind"].is_in(GPU_KINDS)
        self.tally.counts["unnamed_kernel"] += int((gpu & (records["name"] == "")).sum())
        device, stream, size = _device_columns(records, gpu)
        on_gpu_row = records["kind"].is_in(_GPU_ROWS)
        self._events.append(
            records.select(
                "uid",
                "kind",
                pl.lit(0, pl.UInt8).alias("role"),
                pl.Series("name", self._names.add(records.select("name"))),
                pl.Series("thread", self._thread_codes(records, on_gpu_row)),
                pl.Series("device", device),
                pl.Series("stream", stream),
                "start_ns",
                pl.col("dur_ns").fill_null(0),
                _identifier("correlation"),
                _identifier("external_id"),
                pl.col("sequence").fill_null(-1),
                pl.col("fwd_thread").fill_null(-1),
                pl.Series("args", _sparse_codes(self._args, records, list(ARGS_SCHEMA))),
                pl.Series("detail", _sparse_codes(self._details, records, list(DETAIL_SCHEMA))),
                pl.Series("bytes", size),
                pl.col("dur_ns").is_null().alias("missing"),
            )
        )

    def _add_flows(self, records: pl.DataFrame) -> None:
        known = pl.col("start_ns").is_not_null() & pl.col("flow_id").is_not_null()
        self._flows.append(
            records.filter(known).select(
                pl.col("flow_id").alias("id"),
                (pl.col("phase") == "f").alias("finish"),
                pl.col("pid", "tid").fill_null(""),
                "start_ns",
            )
        )

    def _thread_codes(self, records: pl.DataFrame, gpu: pl.Series) -> Codes:
        """Codes of the rows' threads.  GPU rows are kept apart: small host ids may equal a device and its stream."""
        flags = pl.DataFrame({"gpu": gpu.cast(pl.UInt8).cast(pl.String)})
        return self._threads.add(records.select("pid", "tid").hstack(flags))

    def _thread_frame(self, threads: pl.DataFrame) -> pl.DataFrame:
        labels = _concat(self._labels, dict.fromkeys(("name", "pid", "tid", "label_name", "label_text"), pl.String))
        return threads.select(
            "pid",
            "tid",
            _label(labels, "process_name", "label_name", threads, ["pid"]),
            _label(labels, "process_labels", "label_text", threads, ["pid"]).alias("process_label"),
            _label(labels, "thread_name", "label_name", threads, ["pid", "tid"]),
            (pl.col("gpu") == "1").alias("is_gpu"),
        ).cast(dict(THREAD_SCHEMA.items()))


def _count(counter: Counter[str], values: pl.Series) -> None:
    for value, count in values.fill_null("").value_counts(sort=True).iter_rows():
        counter[value] += count


def _without_metric_rows() -> pl.Expr:
    """The kind, where the "kernels" that XPU's scope profiler adds per metric do not count as kernels."""
    metric = (pl.col("kind") == int(Kind.KERNEL)) & pl.col("name").str.starts_with("metrics: ")
    return pl.when(metric).then(pl.lit(int(Kind.OTHER), pl.UInt8)).otherwise(pl.col("kind"))


def _identifier(name: str) -> pl.Expr:
    column = pl.col(name)
    return pl.when(column.is_null() | (column == -1)).then(NONE_ID).otherwise(column).alias(name)


def _device_columns(
    records: pl.DataFrame, gpu: pl.Series
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Device, stream and bytes of GPU events: their arguments first, then the row they lie on; -1 elsewhere."""
    columns = np.full(records.height, -1, np.int32), np.full(records.height, -1), np.full(records.height, -1)
    rows = records.filter(gpu).select(
        pl.coalesce(_whole("device", pl.Int32), _whole("pid", pl.Int32)).fill_null(-1),
        pl.coalesce(
            _whole("stream", pl.Int64),
            _whole("tid", pl.Int64),
            pl.col("tid").str.extract(_LAST_NUMBER).cast(pl.Int64, strict=False),
        ).fill_null(-1),
        _whole("bytes", pl.Int64).fill_null(-1),
    )
    where = gpu.to_numpy()
    for column, name in zip(columns, ("device", "stream", "bytes"), strict=True):
        column[where] = rows[name].to_numpy()
    return columns


def _whole(name: str, dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col(name).cast(dtype, strict=False)


def _sparse_codes(dictionary: RowDictionary, records: pl.DataFrame, columns: list[str]) -> Codes:
    """Codes of the rows that have any of the columns; 0, the empty row, for the others."""
    codes = np.zeros(records.height, np.uint32)
    recorded = records.select(pl.any_horizontal(pl.col(columns).is_not_null())).to_series()
    if recorded.any():
        codes[recorded.to_numpy()] = dictionary.add(records.filter(recorded).select(pl.col(columns).fill_null("")))
    return codes


def _mapped(mapping: Codes, codes: pl.Series) -> pl.Series:
    return pl.Series(codes.name, mapping[codes.to_numpy()])


def _label(labels: pl.DataFrame, kind: str, text: str, threads: pl.DataFrame, key: list[str]) -> pl.Series:
    """The last label of that kind for each thread, "" where there is none."""
    last = labels.filter(pl.col("name") == kind).unique(key, keep="last").select(*key, pl.col(text).alias(kind))
    return (
        threads.select(key).join(last, on=key, how="left", maintain_order="left")[kind].fill_null("").str.strip_chars()
    )


def _missing_durations(events: pl.DataFrame, missing: pl.Series) -> pl.DataFrame:
    found = events.with_row_index("event").filter(missing)
    return found.select(
        pl.col("event").cast(pl.UInt32),
        pl.lit("missing_duration").alias("code"),
        pl.col("start_ns").alias("raw_start_ns"),
        pl.lit(None, pl.Int64).alias("raw_dur_ns"),
    ).cast(dict(REPAIR_SCHEMA.items()))


def _flow_frame(flows: pl.DataFrame, threads: pl.DataFrame) -> pl.DataFrame:
    """The arrows whose tail lies on a host row and whose head lies on a GPU row; profilers write others that mean nothing."""
    rows = threads.select("pid", "tid", (pl.col("gpu") == "1").alias("finish")).with_row_index("thread")
    joined = flows.join(rows, on=["pid", "tid", "finish"], how="inner", maintain_order="left")
    return joined.select(*FLOW_SCHEMA).cast(dict(FLOW_SCHEMA.items()))


def _needs_flows(events: pl.DataFrame) -> bool:
    linked = events["kind"].is_in([*GPU_KINDS, *LAUNCH_KINDS])
    return bool((linked & (events["correlation"] == NONE_ID)).any())


def _concat(parts: list[pl.DataFrame], schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=schema), *parts]).rechunk()
