"""Where the time went: the split of each device and step, categories, the longest gaps, the defects of the data."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracelens_tui.analysis.model import Analysis, Part, TimeSplit
from tracelens_tui.analysis.part import elsewhere_sentence
from tracelens_tui.app.cells import NOTHING, Cell, Column, fixed, thousands
from tracelens_tui.app.lists import ListSource
from tracelens_tui.text import duration, plain

COLUMNS = (
    Column("what", "What", 15, "left", sortable=False),
    Column("time", "Time ms", 9, sortable=False),
    Column("share", "%", 5, sortable=False),
    Column("bar", "Share", 6, "bar", grows=True, sortable=False),
)
GAPS_SHOWN = 20
STEPS_SHOWN = 20
_CAUSES = {
    "launch": "launch latency",
    "sync": "host waits (sync)",
    "copy": "host-device copy",
    "comm": "communication",
    "loading": "data loading",
    "host": "host work",
    "queued": "between queued kernels",
    "unknown": "cause unknown",
}
"""What a cause of ``gap_causes.CAUSES`` is called."""


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
        rows += _split_rows(device, analysis.splits[device], _idle(device, analysis.part))
        if device == analysis.device:
            rows += _category_rows(analysis, analysis.splits[device])
            rows += _step_rows(analysis, analysis.splits[device])
            rows += _gap_rows(analysis, analysis.splits[device])
    rows += _quality_rows(analysis)
    return ListSource(COLUMNS, tuple(rows), _cells, lambda row: row.key)


def _idle(device: int, part: Part | None) -> str:
    """What idle time is; in a part of a trace the device may have worked for another one."""
    if part is None:
        return "nothing ran on the GPU"
    other = part.elsewhere.get(device)
    return f"nothing of the part ran on the GPU. {elsewhere_sentence(device, other) if other else ''}".rstrip()


def _split_rows(device: int, split: TimeSplit, idle: str) -> Iterator[TimeRow]:
    """The window of a device and its four parts, which add up to it; ``idle`` says what the last one is."""
    yield TimeRow(("window", device), f"GPU {device}: window", split.window, None, "head", detail=_WINDOW)
    parts = (
        ("compute", split.compute, "good", "union of all kernels and sets that are neither collectives nor copies"),
        ("exposed comm", split.exposed_comm, "warn", "collectives that no compute hides"),
        ("exposed copies", split.exposed_memcpy, "warn", "copies that neither compute nor collectives hide"),
        ("idle", split.idle, "bad", idle),
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


def _step_rows(analysis: Analysis, split: TimeSplit) -> Iterator[TimeRow]:
    """The GPU window of each step with work on the device, the longest ones where there are many."""
    steps = analysis.steps.filter((pl.col("device") == analysis.device) & pl.col("window_ns").is_not_null())
    if not steps.height:
        return
    shown = steps.sort("window_ns", descending=True, maintain_order=True).head(STEPS_SHOWN).sort("start_ns", "step")
    title = f"Longest steps, {STEPS_SHOWN} of {thousands(steps.height)}" if steps.height > STEPS_SHOWN else "Steps"
    yield TimeRow(("head", "steps"), title, style="head", detail=_STEPS)
    for step in shown.iter_rows(named=True):
        yield TimeRow(
            ("step", step["event"]),
            f"step {step['step']}",
            step["window_ns"],
            _share(step["window_ns"], split),
            event=step["event"],
            detail=_step_detail(step),
        )


_STEPS = "first start to last end of the GPU work that was launched in the step"


def _step_detail(step: Mapping[str, int | None]) -> str:
    """The parts of a step's window and what the host took."""
    parts = (
        ("compute", step["compute_ns"]),
        ("exposed comm", step["exposed_comm_ns"]),
        ("exposed copies", step["exposed_memcpy_ns"]),
        ("idle", step["idle_ns"]),
    )
    told = ", ".join(f"{name} {duration(ns)}" for name, ns in parts if ns is not None)
    other, host = step["elsewhere_ns"], step["host_ns"]
    if other:
        told += f" ({duration(other)} of it busy with other work)"
    return f"{told}; {thousands(step['kernels'] or 0)} kernels" + ("" if host is None else f"; host {duration(host)}")


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
        yield TimeRow(
            ("gap", place),
            _CAUSES[gap["cause"]],
            gap["dur_ns"],
            _share(gap["dur_ns"], split),
            event=gap["after_event"],
            detail=f"idle before {plain(str(names[codes[gap['after_event']]]))}{_launched(gap)}{during}",
        )


def _launched(gap: Mapping[str, Any]) -> str:
    """When the work at the gap's end was launched, which tells whether the device waited for the host."""
    lag = gap["launch_lag_ns"]
    if lag is None:
        return "; its launch is not known"
    told = f"starts {duration(lag)} after" if lag >= 0 else f"starts {duration(-lag)} before the return of"
    return f", which {told} its launch; queue {'empty' if gap['queue_empty'] else 'not empty'}"


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
