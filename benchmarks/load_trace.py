"""Measure reading a trace: ``python benchmarks/load_trace.py TRACE [RUNS]``.

Prints medians of wall and CPU seconds of the load, of load and tree, and of the floor: msgspec decoding the whole
document from memory while it skips all but one field.  Peak memory is that of a fresh process that loads once.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from isal import igzip

from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.repair import repaired


class _Event(msgspec.Struct):
    ts: float = 0.0


class _Document(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 - the key of the format


def _medians(work: Callable[[], object], runs: int) -> tuple[float, float]:
    walls, cpus = [], []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def _peak(path: Path, *, tree: bool) -> int:
    code = f"import benchmarks.load_trace as b; b.once({str(path)!r}, tree={tree})"
    return int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def once(path: str, *, tree: bool) -> None:
    """Load a trace and print the peak memory of this process in MB."""
    trace = load_trace(Path(path))
    if tree:
        build_tree(repaired(trace))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000)


def _floor(path: Path, runs: int) -> tuple[float, tuple[float, float]]:
    """Return the size of the JSON in MB and the time that msgspec needs to skip through it."""
    packed = path.read_bytes()
    data = igzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    decoder = msgspec.json.Decoder(_Document)
    return len(data) / 1e6, _medians(lambda: decoder.decode(data), runs)


def main(path: Path, runs: int) -> None:
    """Print the measurements."""
    size, floor = _floor(path, runs)
    load = _medians(lambda: load_trace(path), runs)
    both = _medians(lambda: build_tree(repaired(load_trace(path))), runs)
    print(f"{size:.0f} MB of JSON; wall and CPU seconds, medians of {runs}")
    for name, (wall, cpu) in (("floor", floor), ("load", load), ("load and tree", both)):
        print(f"{name:14} {wall:7.3f} {cpu:7.3f}   {wall / floor[0]:.1f} x floor")
    print(f"peak memory: load {_peak(path, tree=False)} MB, load and tree {_peak(path, tree=True)} MB")


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 5)
