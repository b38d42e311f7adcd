"""What ``info`` tells about a trace: for machines as one object, for people as lines of plain text."""

from typing import Any

import numpy as np
import polars as pl

from tracelens_tui.analysis.autograd_info import autograd_info, autograd_lines
from tracelens_tui.analysis.launch_info import launch_info
from tracelens_tui.analysis.model import Analysis, TimeSplit
from tracelens_tui.analysis.part import elsewhere_sentence
from tracelens_tui.analysis.steady import steps_note
from tracelens_tui.analysis.timesplit import raw_time_split
from tracelens_tui.analysis.units import us_number
from tracelens_tui.text import duration, percent, plain
from tracelens_tui.trace.types import LAUNCH_KINDS, Kind, Trace

_PARTS = ("window", "busy", "idle", "compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy")
_NO_TIME = TimeSplit(0, 0, 0, 0, 0, 0, 0, 0, 0)


def trace_info(analysis: Analysis) -> dict[str, Any]:
    """Return the object of ``info --json``: counts, links, the time split of each device in µs, the data quality.

    ``time_us`` is of the first device; ``time_us_raw``, before repairs, is there only where it differs.  Percentages
    are of GPU time.  Of a part of a trace, which ``scope`` names, all but source, ``events`` and quality speaks of it.
    """
    trace = analysis.trace
    source = trace.metadata.source
    launches, without = _launches(analysis)
    device, split = next(iter(analysis.splits.items()), (-1, _NO_TIME))
    raw = raw_time_split(trace).get(device, _NO_TIME)
    info: dict[str, Any] = {
        "format": source.format,
        "source": {"member": source.member, "members": source.members, "trailing_bytes": source.trailing_bytes},
        "partial": trace.quality.partial,
        "events": sum(trace.metadata.phase_counts.values()),
        "events_lost": trace.quality.events_lost,
        "counts": _counts(trace) | {"launch": launches},
        "launches_without_kernel": without,
        "host_threads": _host_threads(trace),
        "scope": _scope(analysis),
        "time_us": time_us(split),
    }
    if raw != split:
        info["time_us_raw"] = time_us(raw)
    return info | _gpu_info(analysis, split)


def time_us(split: TimeSplit) -> dict[str, int | float]:
    """Return the parts of a split in µs, exact to the ns."""
    return {part: us_number(int(getattr(split, part))) for part in _PARTS}


def _scope(analysis: Analysis) -> dict[str, Any] | None:
    """What the part is and, by device, where its window begins and what other work lies in it; None for the whole."""
    part = analysis.part
    if part is None:
        return None
    return {
        "kind": part.scope.kind,
        "text": part.scope.text,
        "title": part.title,
        "events": part.events,
        "start_us": {
            str(device): us_number(split.start_ns - part.origin_ns) for device, split in analysis.splits.items()
        },
        "elsewhere_us": {
            str(device): {"idle": us_number(other.idle), "beside": us_number(other.beside)}
            for device, other in part.elsewhere.items()
        },
    }


def _gpu_info(analysis: Analysis, split: TimeSplit) -> dict[str, Any]:
    trace = analysis.trace
    gpu = trace.events["dur_ns"].gather(analysis.gpu["event"]).to_numpy()
    linked = analysis.tree.launch[analysis.gpu["event"].to_numpy()] >= 0
    return {
        "devices": {str(device): time_us(part) for device, part in analysis.splits.items()},
        "gpu_events": len(gpu),
        "linked_count": int(linked.sum()),
        "linked_percent": _share(int(gpu[linked].sum()), int(gpu.sum())),
        "modelled_percent": _modelled_percent(analysis),
        "sum_dur_us": us_number(int(gpu.sum())),
        "utilisation_percent": _share(split.busy, split.window),
        **autograd_info(analysis),
        "launch": launch_info(analysis),
        "quality": [{"code": item.code, "count": item.count, "message": item.message} for item in trace.quality.items],
    }


def _modelled_percent(analysis: Analysis) -> float:
    """The share of all kernel time that lies under rows with a perf model."""
    kernels = analysis.kernels.filter(pl.col("kind") == Kind.KERNEL).join(
        analysis.ops.select("row", "modelled"), on="row", how="left"
    )
    modelled = int(kernels.filter(pl.col("modelled").fill_null(value=False))["sum_ns"].sum())
    return _share(modelled, int(kernels["sum_ns"].sum()))


def _share(part: int, whole: int) -> float:
    """A percentage to six decimals, 0 of nothing."""
    return round(100.0 * part / whole, 6) if whole else 0.0


def _counts(trace: Trace) -> dict[str, int]:
    """Events of each kind, invalid ones included."""
    kinds = trace.events["kind"]
    of_kind = np.bincount(kinds.to_numpy(), minlength=len(Kind))
    names = (Kind.CPU_OP, Kind.PYTHON_FUNCTION, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
    return {kind.name.lower(): int(of_kind[kind]) for kind in names}


def _launches(analysis: Analysis) -> tuple[int, int]:
    """How many calls launch GPU work (they own some, or are named so), and how many of those own none."""
    events = analysis.trace.events
    calls = events["kind"].is_in(LAUNCH_KINDS).to_numpy()
    owns = analysis.tree.gpu_count > 0
    launching = analysis.trace.names.str.to_lowercase().str.contains("launch", literal=True).to_numpy()
    named = launching[events["name"].to_numpy()] if len(launching) else np.zeros(len(events), np.bool_)
    launches = calls & (owns | named)
    return int(launches.sum()), int((launches & ~owns).sum())


def _host_threads(trace: Trace) -> int:
    """How many threads run ops or Python; where none does, how many call the runtime."""
    for kinds in ((Kind.CPU_OP, Kind.PYTHON_FUNCTION), LAUNCH_KINDS):
        threads = trace.events.filter(pl.col("kind").is_in(kinds))["thread"].n_unique()
        if threads:
            return threads
    return 0


def info_lines(analysis: Analysis) -> list[str]:
    """Return the same for people: file, device, events, time split, linked and modelled shares, data quality."""
    info = trace_info(analysis)
    source = analysis.trace.metadata.source
    counts = ", ".join(f"{count:,} {name}" for name, count in info["counts"].items() if count)
    lines = [
        f"File      {plain(source.path)} ({info['format']}, {source.compression}, {source.size:,} bytes)",
        f"Platform  {plain(_platform(analysis))}",
        *_part_lines(analysis),
        f"Events    {_events(analysis):,}: {counts or 'none of a known kind'}; {info['host_threads']} host threads",
    ]
    lines += [_split_line(device, split) for device, split in analysis.splits.items()]
    if analysis.splits:
        lines.append(f"Linked    {percent(info['linked_percent'])} of GPU time has a launch")
        lines.append(f"Modelled  {percent(info['modelled_percent'])} of kernel time has a perf model")
    if info["launch"]:
        lines.append(f"Launches  {info['launch']['sentence']}")
    lines += autograd_lines(info)
    note = steps_note(analysis)
    lines += [f"Steps     {note}"] if note else []
    return lines + [f"Quality   {plain(item.message)}" for item in analysis.trace.quality.items]


def _events(analysis: Analysis) -> int:
    """How many events the file or the part has."""
    part = analysis.part
    return sum(analysis.trace.metadata.phase_counts.values()) if part is None else part.events


def _part_lines(analysis: Analysis) -> list[str]:
    """What the part is, and what other work its devices do in its window."""
    part = analysis.part
    if part is None:
        return []
    lines = [
        f"Part      {part.title}: {part.events:,} of {part.all_events:,} events; quality is that of the whole file"
    ]
    for device, split in analysis.splits.items():
        begin, end = split.start_ns - part.origin_ns, split.start_ns - part.origin_ns + split.window
        lines.append(f"          GPU {device} from {duration(begin)} to {duration(end)} after the window's start")
    told = (elsewhere_sentence(device, other) for device, other in part.elsewhere.items())
    return lines + [f"          {sentence}" for sentence in told if sentence]


def _platform(analysis: Analysis) -> str:
    """The platform and how it was found, or why there is none."""
    if analysis.platform is None:
        return analysis.platform_note or "unknown"
    return f"{analysis.platform.name} ({analysis.platform_note})"


def _split_line(device: int, split: TimeSplit) -> str:
    busy = percent(100 * split.busy / split.window if split.window else None)
    parts = (
        ("compute", split.compute),
        ("exposed communication", split.exposed_comm),
        ("exposed copies", split.exposed_memcpy),
        ("idle", split.idle),
    )
    told = ", ".join(f"{name} {duration(value)}" for name, value in parts)
    return f"GPU {device:<5} window {duration(split.window)}, busy {busy}: {told}"
