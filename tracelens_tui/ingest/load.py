"""A trace file into a Trace, in one streaming pass.

A thread reads and unpacks the file; the caller's cuts it between events and decodes the pieces together with helping
processes.  A few pieces are in flight, never the whole document.
"""

from contextlib import nullcontext
from pathlib import Path

from tracelens_tui.ingest.background import Background
from tracelens_tui.ingest.crew import SLOT, crew_of, crew_size
from tracelens_tui.ingest.document import STRETCH, Document, NoEventList
from tracelens_tui.ingest.metadata import metadata_of, top_level
from tracelens_tui.ingest.packed import Packing, blocks_of, peek
from tracelens_tui.ingest.reading import Reading
from tracelens_tui.ingest.refusals import check_readable, jax, refuse_foreign, without_events, without_list
from tracelens_tui.ingest.sniff import holds_events
from tracelens_tui.trace.progress import Progress, no_progress
from tracelens_tui.trace.types import Kind, Source, Trace

_CREW_FROM = {False: 24 << 20, True: 2 << 20}
"""Bytes of a file, plain or packed, from which processes that help are worth their start."""


def load_trace(
    path: Path,
    *,
    progress: Progress | None = None,
    helpers: int | None = None,
    stretch: int = STRETCH,
    slot: int = SLOT,
) -> Trace:
    """Return the trace in that file as it is written; nothing is repaired, what reading found wrong is in ``quality``.

    Reads JSON of any layout, plain or packed (gzip, zip, xz, bzip2, zstd): a whole document, a bare array or one event
    per line.  ``progress`` hears ("read", bytes of the file consumed, bytes of the file) from another thread.  Raises
    UserError for what is no such file; a file that is cut or broken in places gives what can be read of it.
    """
    check_readable(path)
    size = path.stat().st_size
    report = progress or no_progress
    report("read", 0, size)
    packing = Packing()
    source = blocks_of(path, packing, lambda done: report("read", done, size), stretch)
    with Background(source) as blocks:
        head, rest = peek(blocks)
        refuse_foreign(path, head)
        try:
            document = Document(rest, stretch)
        except NoEventList:
            raise without_list(path) from None
        reading = Reading(document)
        if helpers is None:
            helpers = crew_size() if size >= _CREW_FROM[packing.compression != "none"] else 0
        with crew_of(helpers, slot) if helpers else nullcontext() as crew:
            reading.run(crew)
    top, following = top_level(document.head, document.tail)
    packing.trailing_bytes += following or 0
    complete = document.complete
    if document.head:
        complete = following is not None or (complete and not holds_events(document.tail))
    _note(reading, packing, complete=complete)
    reading.assembler.tally.counts["second_list"] += document.has_second_list
    if not reading.assembler.objects:
        raise without_events(path, lost=reading.assembler.tally.events_lost, cut=packing.cut)
    trace = reading.assembler.finish(metadata_of(top, _source(path, size, packing)))
    if _is_jax(trace):
        raise jax(path)
    return trace


def _source(path: Path, size: int, packing: Packing) -> Source:
    return Source(
        path=str(path),
        format="kineto",
        size=size,
        compression=packing.compression,
        member=packing.member,
        members=packing.members,
        trailing_bytes=packing.trailing_bytes,
    )


def _is_jax(trace: Trace) -> bool:
    names = trace.threads["process_name"]
    return bool(names.str.starts_with("/device:").any()) and bool((trace.events["kind"] == Kind.OTHER).all())


def _note(reading: Reading, packing: Packing, *, complete: bool) -> None:
    """Add what was wrong with the text and with the file as a whole to what the assembler counted."""
    tally, found = reading.assembler.tally, reading.found
    tally.partial = found.partial or packing.cut or not complete
    tally.events_lost += found.events_lost
    tally.counts.update(found.counts)
    tally.counts["truncated"] += tally.partial
    tally.counts["trailing_bytes"] += packing.trailing_bytes
    tally.counts["archive_member"] += packing.files if packing.files > 1 else 0
