"""One measurement in a process of its own: ``python -m benchmarks.once WHAT PATH [HELPERS]`` prints it as JSON.

WHAT is ``floor`` (msgspec skips through the document in memory), ``load``, ``tree`` (load and tree) or ``open`` (as the
program opens a trace, from the cache if it can).
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from isal import igzip

from tracelens_tui.ingest.cache import open_trace
from tracelens_tui.ingest.load import load_trace
from tracelens_tui.trace.build import build_tree
from tracelens_tui.trace.repair import repaired


class _Event(msgspec.Struct):
    ts: float = 0.0


class _Document(msgspec.Struct):
    traceEvents: list[_Event]  # noqa: N815 - the key of the format


def _floor(path: Path) -> Callable[[], object]:
    packed = path.read_bytes()
    data = igzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    decoder = msgspec.json.Decoder(_Document)
    return lambda: decoder.decode(data)


def _work(what: str, path: Path, helpers: int | None) -> Callable[[], object]:
    if what == "floor":
        return _floor(path)
    return {
        "load": lambda: load_trace(path, helpers=helpers),
        "tree": lambda: build_tree(repaired(load_trace(path, helpers=helpers))),
        "open": lambda: open_trace(path),
    }[what]


def main(what: str, path: Path, helpers: int | None) -> None:
    """Do it once and print the seconds that it took."""
    work = _work(what, path, helpers)
    start = time.perf_counter()
    work()
    print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) == 4 else None)
