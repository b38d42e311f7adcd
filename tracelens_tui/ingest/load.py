"""A trace file into a Trace."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

from tracelens_tui.ingest.objects import trace_from_objects
from tracelens_tui.trace.progress import Progress
from tracelens_tui.trace.types import Trace


def load_trace(path: Path, *, progress: Progress | None = None) -> Trace:
    """Return the trace in that file."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=Decimal)
    if isinstance(document, list):
        return trace_from_objects(document)
    events = document.pop("traceEvents")
    return trace_from_objects(events, metadata=document)
