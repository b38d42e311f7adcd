"""What ``info`` tells about the launches of a device: numbers for machines, a sentence for people."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracelens_tui.analysis.launches import STARVED_NS
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.text import duration, percent

_STATS = ("mean", "p50", "p90", "p99", "max")


def launch_info(analysis: Analysis) -> dict[str, Any] | None:
    """Return the statistics of the chosen device's launches, times in µs, with a ``sentence``.

    None where no kernel of the device has a launch.  See ``launches`` for what the times are.
    """
    whole = analysis.launches.filter((pl.col("device") == analysis.device) & pl.col("stream").is_null())
    row = next(whole.iter_rows(named=True), None)
    if row is None or not row["kernels"] + row["graph_kernels"]:
        return None
    starved = 100 * row["starved"] / row["kernels"] if row["kernels"] else None
    return {
        "device": row["device"],
        "kernels": row["kernels"],
        **{f"{name}_us": _micros(row, name) for name in ("latency", "delay", "queued")},
        "starved_percent": None if starved is None else round(starved, 6),
        "depth": {
            "mean": round(row["depth_mean"], 6),
            "median": row["depth_median"],
            "max": row["depth_max"],
        },
        "graph_launches": row["graph_launches"],
        "graph_kernels": row["graph_kernels"],
        "early_kernels": row["early"],
        "unlinked_kernels": row["unlinked"],
        "sentence": _sentence(row, starved),
    }


def _micros(row: Mapping[str, Any], name: str) -> dict[str, float] | None:
    """The distribution of one of the times in µs."""
    if not row["kernels"]:
        return None
    return {stat: round(row[f"{name}_{stat}"] / 1e3, 6) for stat in _STATS}


def _sentence(row: Mapping[str, Any], starved: float | None) -> str:
    told: list[str] = []
    if starved is not None:
        told.append(
            f"from launch call to start on GPU {row['device']} {duration(row['latency_p50'])} in the median of "
            f"{_count(row['kernels'], 'kernel')}; {percent(starved)} start at most {duration(STARVED_NS)} after the "
            "call has returned, so that the GPU was waiting for them"
        )
    if row["graph_launches"]:
        launches = _count(row["graph_launches"], "launch", "es")
        told.append(f"in graphs {_count(row['graph_kernels'], 'kernel')} of GPU {row['device']} from {launches}")
    if row["early"]:
        told.append(f"{_count(row['early'], 'kernel')} with impossible times left out")
    told.append(f"the queue holds {row['depth_mean']:.1f} launches on average")
    text = "; ".join(told) + "."
    return text[0].upper() + text[1:]


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun if number == 1 else noun + plural}"
