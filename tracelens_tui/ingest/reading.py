"""One pass over the stretches of a document: decoded here and by helping processes, added to the columns in order."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tracelens_tui.ingest.assemble import Assembler
from tracelens_tui.ingest.crew import Crew, CrewLost
from tracelens_tui.ingest.decode import FastDecoder
from tracelens_tui.ingest.document import Document, Stretch
from tracelens_tui.ingest.objects import batch_of
from tracelens_tui.ingest.quality import Tally
from tracelens_tui.ingest.salvage import salvage
from tracelens_tui.ingest.worker import Answer, answer_to

_MOST_GROUPS = 24  # read ahead of the oldest one that is not finished
_MOST_REFUSALS = 3  # after which a file counts as broken in many places


@dataclass(slots=True)
class _Group:
    """Some stretches, and what came of them; nothing yet while a process works on them."""

    stretches: list[Stretch]
    answer: Answer = field(default_factory=list)


class Reading:
    """Reads the events of a document into an assembler."""

    def __init__(self, document: Document) -> None:
        self.assembler = Assembler()
        self.found = Tally()  # what was wrong with the text
        self._document = document
        self._stretches = document.stretches()
        self._decoder = FastDecoder()

    def run(self, crew: Crew[_Group] | None) -> None:
        """Take all events, in order."""
        going = self._take_one()
        shares = 0
        while going and crew is not None and shares < _MOST_REFUSALS:
            shares += 1
            crew = crew if self._share(crew) else None
            going = self._take_one()
        while going:
            going = self._take_one()

    def _take_one(self) -> bool:
        """Take the next stretch, event by event where it is not plain; False at the end."""
        stretch = next(self._stretches, None)
        if stretch is None:
            return False
        batch = None if stretch.last else answer_to([stretch.text], self._decoder)[0]
        self.assembler.add(batch_of(self._salvaged(stretch)) if batch is None else batch)
        return True

    def _share(self, crew: Crew[_Group]) -> bool:
        """Take stretches together with the crew, up to a refused one or the end's; False if the crew is lost.

        The document gets back what was cut off beyond that.
        """
        groups: deque[_Group] = deque()
        try:
            self._share_out(crew, groups)
            while crew.busy:
                _collect(crew, patiently=True)
            self._add_finished(groups)
        except CrewLost:
            return False
        finally:
            self._document.restore([stretch for group in groups for stretch in group.stretches])
            self._stretches = self._document.stretches()
        return True

    def _share_out(self, crew: Crew[_Group], groups: deque[_Group]) -> None:
        for stretches in self._grouped(crew.slot * 4 // 5):
            group = _Group(stretches)
            groups.append(group)
            texts = [stretch.text for stretch in stretches]
            if not crew.give(group, texts, floats=self._decoder.floats):
                group.answer = answer_to(texts, self._decoder)
            _collect(crew, patiently=len(groups) > _MOST_GROUPS and not groups[0].answer)
            if not self._add_finished(groups):
                return

    def _grouped(self, enough: int) -> Iterator[list[Stretch]]:
        """Give groups of stretches that have together at least so many bytes, all but the document's last stretch."""
        group: list[Stretch] = []
        for stretch in self._stretches:
            if stretch.last:
                self._document.restore([stretch])
                break
            group.append(stretch)
            if sum(len(each.text) for each in group) >= enough:
                yield group
                group = []
        if group:
            yield group

    def _add_finished(self, groups: deque[_Group]) -> bool:
        """Add what is ready, oldest first; False at a refused stretch, which stays with all after it."""
        while groups and groups[0].answer:
            group = groups[0]
            for batch in group.answer:
                if batch is None:
                    group.answer = []
                    return False
                self.assembler.add(batch)
                group.stretches.pop(0)
            groups.popleft()
        return True

    def _salvaged(self, stretch: Stretch) -> list[Any]:
        """Read a stretch event by event, and tell the document where it really ends."""
        found = salvage(stretch.inner, last=stretch.last)
        self.found.events_lost += found.lost
        self.found.counts["unreadable_event"] += found.lost - found.cut
        self.found.counts["repaired_text"] += found.repaired
        self.found.partial = self.found.partial or found.cut
        if found.closed:
            self._document.close(found.rest)
        elif found.rest:
            self._document.give_back(found.rest)
        return found.objects


def _collect(crew: Crew[_Group], *, patiently: bool) -> None:
    for group, answer in crew.answers(patiently=patiently):
        group.answer = answer
