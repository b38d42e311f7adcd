"""Measure how traces open: ``python -m benchmarks [TRACE] [--times 1,4,10] [--runs 5]``.

The trace (by default the sample of the demo) is repeated to several sizes.  For each the table has medians of: the
floor (msgspec skipping through the JSON in memory), load, load and tree, alone and with the helping processes that this
machine allows, the whole ``tables`` command, the first and the second opening, and the peak memory of all processes.
"""

import argparse
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import Measured, python
from benchmarks.scale_trace import scale
from tracelens_tui.evals.demo import demo_trace
from tracelens_tui.ingest.crew import crew_size


@dataclass(frozen=True, slots=True)
class _Row:
    """Seconds and bytes for one size of a trace."""

    times: int
    size: int
    events: int
    floor: float
    alone: float  # load and tree without helping processes
    load: float
    tree: float  # load and tree
    cpu: float
    tables: float
    first: float
    second: float
    peak: int


_HEAD = (
    "| size | JSON MB | events | floor s | load s | load + tree s | x floor | alone s | CPU s | tables s "
    "| first / second opening s | peak MB | JSON + |\n|" + "---:|" * 13
)


def measured(trace: Path, times: int, runs: int, folder: Path) -> _Row:
    """Return the medians for the trace repeated so many times."""
    path = folder / f"x{times}.json"
    events = scale(trace, path, times)
    floor = _seconds("floor", path, runs)
    alone = _seconds("tree", path, runs, "0")
    load = _seconds("load", path, runs)
    trees = [python("-m", "benchmarks.once", "tree", str(path)) for _ in range(runs)]
    tables = [_tables(path, folder / "tables") for _ in range(runs)]
    cache = folder / "cache"
    first, second = (python("-m", "benchmarks.once", "open", str(path), cache=cache) for _ in range(2))
    row = _Row(
        times=times,
        size=path.stat().st_size,
        events=events,
        floor=floor,
        alone=alone,
        load=load,
        tree=statistics.median(each.output["seconds"] for each in trees),
        cpu=statistics.median(each.cpu for each in trees),
        tables=statistics.median(each.wall for each in tables),
        first=first.output["seconds"],
        second=second.output["seconds"],
        peak=max(each.peak for each in (*trees, *tables, first)),
    )
    path.unlink()
    return row


def _seconds(what: str, path: Path, runs: int, *more: str) -> float:
    results = [python("-m", "benchmarks.once", what, str(path), *more) for _ in range(runs)]
    return statistics.median(result.output["seconds"] for result in results)


def _tables(path: Path, target: Path) -> Measured:
    return python("-m", "tracelens_tui", "tables", str(path), "--out", str(target), "--no-cache")


def line(row: _Row) -> str:
    """Return a row of the table."""
    cells = (
        f"{row.times} x",
        f"{row.size / 1e6:.0f}",
        f"{row.events:,}",
        f"{row.floor:.3f}",
        f"{row.load:.2f}",
        f"{row.tree:.2f}",
        f"{row.tree / row.floor:.1f}",
        f"{row.alone:.2f}",
        f"{row.cpu:.2f}",
        f"{row.tables:.2f}",
        f"{row.first:.2f} / {row.second:.3f}",
        f"{row.peak / 1e6:.0f}",
        f"{(row.peak - row.size) / 1e6:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def growth(rows: list[_Row]) -> list[str]:
    """Return how the time of load and tree grows from the smallest to each larger size."""
    first = rows[0]
    return [
        f"{first.times} x to {row.times} x: input {row.size / first.size:.1f} x, "
        f"load and tree {row.tree / first.tree:.1f} x"
        for row in rows[1:]
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("trace", nargs="?", type=Path, help="a PyTorch trace; without one the sample of the demo")
    parser.add_argument("--times", default="1,4,10", help="how often it is repeated, separated by commas")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = options.trace or demo_trace(Path(folder))
        print(f"{trace.name}, medians of {options.runs}, {crew_size()} helping process(es)\n\n{_HEAD}", flush=True)
        rows = []
        for times in map(int, options.times.split(",")):
            rows.append(measured(trace, times, options.runs, Path(folder)))
            print(line(rows[-1]), flush=True)
        print("", *growth(rows), sep="\n")


if __name__ == "__main__":
    main()
