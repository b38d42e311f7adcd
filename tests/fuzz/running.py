"""One input through the whole pipeline, watched for hangs and for memory that it cannot have a use for."""

import faulthandler
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tracelens_tui.analysis.compute import analyse
from tracelens_tui.analysis.info import info_lines, trace_info
from tracelens_tui.analysis.model import Analysis
from tracelens_tui.analysis.tables import all_tables
from tracelens_tui.errors import UserError
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.quality import finished_quality
from tracelens_tui.trace.repair import repaired
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Trace

PATIENCE_S = 60
"""Far beyond what a small input takes on a busy machine: it hangs."""

ALLOWANCE = 1 << 30
"""Bytes by which the process may grow over one input of some kilobytes."""

_ADDRESSES = 8 << 30
"""Bytes of address space that one input may ask for."""

PARTS = ("window", "busy", "idle", "compute", "comm", "exposed_comm", "memcpy", "exposed_memcpy")
EXACT_US = 2**43
"""Below it a float of microseconds tells every nanosecond."""

_BYTES_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


class Hang(BaseException):
    """The pipeline did not come to an end."""


def outcome(path: Path, *, stretch: int, helpers: int = 0, thorough: bool = False) -> Analysis | str:
    """Return the analysis of a file or the sentence of its UserError; AssertionError for a result that cannot be.

    ``thorough``: with what is printed of it and all tables.
    """
    with _watched():
        try:
            return _analysed(load_trace(path, stretch=stretch, helpers=helpers, slot=2 * stretch), thorough)
        except UserError as error:
            sentence = str(error)
            assert "\n" not in sentence
            assert sentence.startswith(str(path)), sentence
            return sentence


def _analysed(raw: Trace, thorough: bool) -> Analysis:
    trace = repaired(raw)
    tree = build_tree(trace)
    trace = replace(trace, quality=finished_quality(trace, tree))
    check_trace(trace, tree)
    analysis = analyse(trace, tree, load_platform("H100-SXM"), "chosen")
    for split in analysis.splits.values():
        check_split({part: getattr(split, part) for part in PARTS})
    check_info(trace_info(analysis))
    if thorough:
        for line in info_lines(analysis):
            assert line.isprintable()
            line.encode("utf-8")
        all_tables(analysis)
    return analysis


def check_trace(trace: Trace, tree: EventTree) -> None:
    """Assert what holds of every repaired trace and its tree."""
    start, dur = (trace.events[name].to_numpy() for name in ("start_ns", "dur_ns"))
    assert (dur >= 0).all()
    assert (start + dur >= start).all(), "an end beyond 64 bits"
    n = len(trace)
    assert sorted(tree.order.tolist()) == list(range(n))
    roots = np.flatnonzero(tree.parent < 0)
    assert int(tree.size[roots].sum()) == n
    assert (tree.size >= 1).all()
    assert (tree.gpu_ns >= 0).all()
    for name in ("correlation", "external_id"):
        assert (trace.events[name] != -1).all()


def check_split(ns: dict[str, int]) -> None:
    """Assert what holds of every time split."""
    assert ns["busy"] + ns["idle"] == ns["window"]
    assert ns["compute"] + ns["exposed_comm"] + ns["exposed_memcpy"] == ns["busy"]
    assert 0 <= ns["exposed_comm"] <= ns["comm"] <= ns["busy"]
    assert 0 <= ns["exposed_memcpy"] <= ns["memcpy"] <= ns["busy"]
    assert ns["idle"] >= 0


def check_info(info: dict[str, Any]) -> None:
    """Assert what holds of the numbers of every trace."""
    for split in (info["time_us"], info.get("time_us_raw", {"window": 0}), *info["devices"].values()):
        assert all(value >= 0 for value in split.values()), split
    for split in info["devices"].values():
        if split["window"] < EXACT_US:
            check_split({part: round(Decimal(str(split[part])) * 1000) for part in PARTS})
    for name in ("linked_percent", "modelled_percent", "utilisation_percent"):
        assert 0 <= info[name] <= 100
    assert info["linked_count"] <= info["gpu_events"]
    assert info["events_lost"] >= 0


@contextmanager
def _watched() -> Iterator[None]:
    """Raise Hang after a while, and AssertionError where the process has grown too much.

    Where no Python code runs any more, the process ends and shows where it was.
    """
    before = _peak()
    handler = signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(PATIENCE_S)
    faulthandler.dump_traceback_later(2 * PATIENCE_S, exit=True)
    try:
        with _bounded():
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    assert _peak() - before < ALLOWANCE


@contextmanager
def _bounded() -> Iterator[None]:
    """Let an absurd allocation fail instead of filling the machine; the limit is that of Linux alone."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(statm.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _ADDRESSES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _alarm(_number: int, _frame: FrameType | None) -> None:
    raise Hang


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_OF_MAXRSS
