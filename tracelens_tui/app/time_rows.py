"""Where the time went: the split of each device, its categories, its longest gaps and the defects of the data."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.app.cells import NOTHING, Cell, Column, fixed, thousands
from tracelens_tui.app.lists import ListSource
from tracelens_tui.text import plain

COLUMNS = (
    Column("what", "What", 15, "left", sortable=False),
    Column("time", "Time ms", 9, sortable=False),
    Column("share", "%", 5, sortable=False),
    Column("bar", "Share", 6, "bar", grows=True, sortable=False),
)
GAPS_SHOWN = 20
_CAUSES = {
    "launch": "launch latency",
    "sync": "host waits (sync)",
    "host": "host work",
}


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One line of the pane: a heading (no time) or a bar."""

    key: Hashable
    label: str
    ns: int | None = None
    share: float | None = None  # of the window, 0..1
    style: str = ""
    category: str | None = None  # op category to filter the kernels by
    event: int | None = None  # where in the tree it is
    detail: str = ""


def time_source(analysis: Analysis) -> ListSource[TimeRow]:
    """Return the rows for every device, the one the triage speaks of first."""
    devices = sorted(analysis.splits, key=lambda device: (device != analysis.device, device))
    rows: list[TimeRow] = []
    for device in devices:
        rows += _split_rows(device, analysis.splits[device])
        if device == analysis.device:
            rows += _category_rows(analysis, analysis.splits[device])
            rows += _gap_rows(analysis, analysis.splits[device])
    rows += _quality_rows(analysis)
    return ListSource(COLUMNS, tuple(rows), _cells, lambda row: row.key)


def _split_rows(device: int, split: TimeSplit) -> Iterator[TimeRow]:
    """The window of a device and its four parts, which add up to it."""
    yield TimeRow(("window", device), f"GPU {device}: window", split.window, None, "head", detail=_WINDOW)
    parts = (
        ("compute", split.compute, "good", "union of all kernels and sets that are neither collectives nor copies"),
        ("exposed comm", split.exposed_comm, "warn", "collectives that no compute hides"),
        ("exposed copies", split.exposed_memcpy, "warn", "copies that neither compute nor collectives hide"),
        ("idle", split.idle, "bad", "nothing ran on the GPU"),
    )
    for label, ns, style, detail in parts:
        yield TimeRow((label, device), label, ns, _share(ns, split), style, detail=detail)


_WINDOW = "first GPU start to last GPU end; compute + exposed comm + exposed copies + idle"


def _category_rows(analysis: Analysis, split: TimeSplit) -> Iterator[TimeRow]:
    """Summed GPU time per op category; on several streams they may add up to more than the window."""
    mine = analysis.gpu.join(
        analysis.trace.events.select("dur_ns", "device").with_row_index("event"), on="event", how="left"
    ).filter(pl.col("device") == analysis.device)
    named = mine.join(analysis.ops.select("row", pl.col("category").alias("of_op")), on="row", how="left")
    sums = (
        named.group_by(pl.coalesce("of_op", "category").alias("category"))
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", "category", descending=[True, False])
    )
    if sums.height:
        yield TimeRow(("head", "categories"), "By category, streams added", style="head", detail=_CATEGORIES)
    for category, ns in sums.iter_rows():
        label = plain(category or "none")
        yield TimeRow(("category", category), label, ns, _share(ns, split), category=category, detail=_CATEGORY)


_CATEGORIES = "GPU time of the ops of a category, streams added: overlapping work counts twice"
_CATEGORY = "enter shows its kernels"


def _gap_rows(analysis: Analysis, split: TimeSplit) -> Iterator[TimeRow]:
    """The longest stretches in which the device had nothing to do."""
    gaps = analysis.gaps.filter(pl.col("device") == analysis.device)
    if not gaps.height:
        return
    names, codes = analysis.trace.names, analysis.trace.events["name"]
    shown = f"{GAPS_SHOWN} of " if gaps.height > GAPS_SHOWN else ""
    yield TimeRow(("head", "gaps"), f"Longest gaps, {shown}{thousands(gaps.height)}", style="head")
    for place, gap in enumerate(gaps.head(GAPS_SHOWN).iter_rows(named=True)):
        host = gap["host_event"]
        during = "" if host is None else f"; host in {plain(str(names[codes[host]]))}"
        cause = _CAUSES.get(gap["cause"], "cause unknown")
        yield TimeRow(
            ("gap", place),
            cause,
            gap["dur_ns"],
            _share(gap["dur_ns"], split),
            event=gap["after_event"],
            detail=f"idle before {plain(str(names[codes[gap['after_event']]]))}{during}",
        )


def _quality_rows(analysis: Analysis) -> Iterator[TimeRow]:
    """What was repaired, dropped or missing."""
    items = analysis.trace.quality.items
    if items:
        yield TimeRow(("head", "quality"), "Data quality", style="head")
    for item in items:
        label = f"{'! ' if item.gates else ''}{item.code} {thousands(item.count)}"
        words = f"{item.message} {item.effect}".strip()
        yield TimeRow(("quality", item.code), label, style="warn" if item.gates else "", detail=plain(words))


def _share(ns: int, split: TimeSplit) -> float | None:
    """Part of the window."""
    return ns / split.window if split.window else None


def _cells(row: TimeRow) -> Sequence[Cell]:
    if row.ns is None:
        return [(row.label, row.style)]
    share = NOTHING if row.share is None else (fixed(100 * row.share, 1), "")
    if row.style == "head":
        share = ("", "")
    return [(row.label, row.style), (fixed(row.ns / 1e6, 3), ""), share, (str(row.share or 0), row.style)]
