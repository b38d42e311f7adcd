"""Write a trace that is another one repeated: ``python benchmarks/scale_trace.py IN.json OUT.json TIMES``.

Every repetition has its times and ids shifted, so that links and nesting stay as they are; the layout is indent=2.
Only the keys of PyTorch's profiler are known; events go through memory one repetition at a time.
"""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from isal import igzip

_GAP_US = Decimal(1000)
_IDS = ("correlation", "External id", "Record function id", "Ev Idx", "Python id", "Python parent id")
_ENCODER = msgspec.json.Encoder(decimal_format="number")

Event = dict[str, Any]


def repeated(events: list[Event], times: int) -> Iterator[list[Event]]:
    """Give the events ``times`` times, each time later and with ids of their own; metadata events only once."""
    timed = [event for event in events if event.get("ph") != "M" and "ts" in event]
    first = min(Decimal(event["ts"]) for event in timed)
    last = max(Decimal(event["ts"]) + Decimal(event.get("dur", 0)) for event in timed)
    ids = 1 + max(_largest_id(event) for event in events)
    for turn in range(times):
        batch = events if turn == 0 else timed
        yield [_shifted(event, turn * (last - first + _GAP_US), turn * ids) for event in batch]


def _largest_id(event: Event) -> int:
    args = event.get("args") or {}
    values = (event.get("id"), *(args.get(key) for key in _IDS))
    return max((value for value in values if isinstance(value, int)), default=0)


def _shifted(event: Event, time: Decimal, ids: int) -> Event:
    shifted = dict(event)
    if "ts" in event:
        shifted["ts"] = Decimal(event["ts"]) + time
    if isinstance(event.get("id"), int):
        shifted["id"] = event["id"] + ids
    args = event.get("args")
    if args:
        moved = {key: args[key] + ids for key in _IDS if isinstance(args.get(key), int) and args[key] > 0}
        shifted["args"] = {**args, **moved}
    return shifted


def scale(source: Path, target: Path, times: int) -> int:
    """Write the repeated trace and return the number of its events."""
    data = source.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = igzip.decompress(data)
    document = json.loads(data, parse_float=Decimal)
    del data
    events = document.pop("traceEvents")
    count = 0
    with target.open("wb") as out:
        head = msgspec.json.format(_ENCODER.encode(document), indent=2)
        out.write(head.rstrip()[:-1].rstrip() + (b",\n" if document else b"\n") + b'  "traceEvents": [')
        for batch in repeated(events, times):
            for event in batch:
                text = msgspec.json.format(_ENCODER.encode(event), indent=2).replace(b"\n", b"\n    ")
                out.write((b"," if count else b"") + b"\n    " + text)
                count += 1
        out.write(b"\n  ]\n}\n")
    return count


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(scale(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])), "events")
