"""A trace file into a Trace, in one streaming pass.

One thread reads and unpacks the file; the caller's thread cuts it between events and splits those; a third reads the
arguments and turns the records into columns.  A few stretches are in flight, never the whole document.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tracelens_tui.ingest.assemble import Assembler
from tracelens_tui.ingest.background import Background
from tracelens_tui.ingest.decode import FastDecoder, Refused, batch_of_split
from tracelens_tui.ingest.document import Document, NoEventList, Stretch
from tracelens_tui.ingest.metadata import metadata_of, top_level
from tracelens_tui.ingest.objects import batch_of
from tracelens_tui.ingest.packed import Packing, blocks_of, peek
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.records import Batch
from tracelens_tui.ingest.refusals import check_readable, jax, refuse_foreign, without_events, without_list
from tracelens_tui.ingest.salvage import salvage
from tracelens_tui.trace.progress import Progress, no_progress
from tracelens_tui.trace.types import Kind, Source, Trace

STRETCH = 1 << 20
"""Bytes of JSON whose events are split at once: their objects fit the processor's caches."""

_PILE = 16 << 20
"""Bytes of JSON that become columns at once: what every call costs vanishes, and a few of them fit in memory."""

_IN_FLIGHT = 1


def load_trace(path: Path, *, progress: Progress | None = None, stretch: int = STRETCH, pile: int = _PILE) -> Trace:
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
        reading = _Reading(document, pile)
        reading.run()
    reading.note(packing)
    if not reading.assembler.objects:
        raise without_events(path, lost=reading.assembler.tally.events_lost)
    trace = reading.assembler.finish(metadata_of(top_level(document.head, document.tail), _source(path, size, packing)))
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


class _Reading:
    """One pass over the stretches of a document."""

    def __init__(self, document: Document, pile: int) -> None:
        self.assembler = Assembler()
        self._found = Tally()  # what this thread sees; the assembler, in its own, counts for itself
        self._document = document
        self._fast = FastDecoder(pile)
        self._pending: deque[Future[None]] = deque()

    def run(self) -> None:
        """Take all stretches into the assembler, in order."""
        with ThreadPoolExecutor(1, thread_name_prefix="tracelens-columns") as columns:
            for stretch in self._document.stretches():
                if stretch.last or not self._piled(stretch):
                    self._hand_over(columns)
                    objects = self._salvaged(stretch)
                    self._submit(columns, partial(batch_of, objects))
                elif self._fast.full:
                    self._hand_over(columns)
            self._hand_over(columns)
            while self._pending:
                self._pending.popleft().result()

    def note(self, packing: Packing) -> None:
        """Add what was wrong with the text and with the file as a whole to what the assembler counted."""
        tally = self.assembler.tally
        tally.partial = self._found.partial or packing.cut or not self._document.complete
        tally.events_lost += self._found.events_lost
        tally.counts.update(self._found.counts)
        tally.counts["truncated"] += tally.partial
        tally.counts["trailing_bytes"] += packing.trailing_bytes
        tally.counts["archive_member"] += packing.files if packing.files > 1 else 0

    def _piled(self, stretch: Stretch) -> bool:
        try:
            self._fast.add(stretch)
        except Refused:
            return False
        return True

    def _hand_over(self, columns: ThreadPoolExecutor) -> None:
        split = self._fast.take()
        if split is not None:
            self._submit(columns, partial(batch_of_split, split))

    def _submit(self, columns: ThreadPoolExecutor, batch: Callable[[], Batch]) -> None:
        """Have another thread make the batch and add it; wait where too many are on the way."""
        self._pending.append(columns.submit(lambda: self.assembler.add(batch())))
        while len(self._pending) > _IN_FLIGHT:
            self._pending.popleft().result()

    def _salvaged(self, stretch: Stretch) -> list[Any]:
        """Read a stretch event by event, and tell the document where it really ends."""
        found = salvage(stretch.inner, last=stretch.last)
        self._found.events_lost += found.lost
        self._found.counts["unreadable_event"] += found.lost - found.cut
        self._found.counts["repaired_text"] += found.repaired
        self._found.partial = self._found.partial or found.cut
        if found.closed:
            self._document.close(found.rest)
        elif found.rest:
            self._document.give_back(found.rest)
        return found.objects
