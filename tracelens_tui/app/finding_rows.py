"""The findings of a run as a row source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tracelens_tui.app.cells import NOTHING, Cell, Column, fixed
from tracelens_tui.app.lists import ListSource
from tracelens_tui.run.findings import Finding
from tracelens_tui.run.marks import Mark
from tracelens_tui.text import plain

NO_MARKS: Mapping[str, Mark] = MappingProxyType({})
TIERS = ("compute", "fusion", "system")
COLUMNS = (
    Column("rank", "#", 3),
    Column("mid", "Win %", 6),
    Column("title", "Finding", 34, "left", grows=True),
    Column("tier", "Tier", 7, "left"),
    Column("confidence", "Conf", 6, "left"),
    Column("bound", "Bound", 7, "left"),
    Column("category", "Category", 14, "left"),
    Column("library", "Library", 11, "left"),
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finding and its place in the run."""

    place: int
    finding: Finding


def finding_source(
    findings: Sequence[Finding], fresh: Collection[str] = (), marks: Mapping[str, Mark] = NO_MARKS
) -> ListSource[Ranked]:
    """Return the findings in the run's order: by rank once they are ranked, else as they arrived.

    ``fresh`` holds the ids that nobody has looked at yet, ``marks`` the user's verdicts; both are read when a row is
    drawn.
    """

    def cells(ranked: Ranked) -> Sequence[Cell]:
        return _cells(ranked, ranked.finding.id in fresh, marks.get(ranked.finding.id))

    items = tuple(Ranked(place, one) for place, one in enumerate(findings, start=1))
    orders = {
        "rank": lambda ranked: ranked.place,
        "mid": lambda ranked: (-1.0 if ranked.finding.impact.mid is None else ranked.finding.impact.mid, -ranked.place),
        "title": lambda ranked: ranked.finding.title.casefold(),
        "tier": lambda ranked: (TIERS.index(ranked.finding.tier), ranked.place),
        "confidence": lambda ranked: (("high", "medium", "low").index(ranked.finding.confidence), ranked.place),
        "bound": lambda ranked: (ranked.finding.bound or "~", ranked.place),
        "category": lambda ranked: (ranked.finding.category, ranked.place),
        "library": lambda ranked: (ranked.finding.library or "~", ranked.place),
    }
    return ListSource(COLUMNS, items, cells, lambda ranked: ranked.finding.id, orders, sort_key="rank")


def _cells(ranked: Ranked, fresh: bool, mark: Mark | None) -> Sequence[Cell]:  # noqa: FBT001
    finding = ranked.finding
    mid = finding.impact.mid
    verdict = None if mark is None else mark.verdict
    sign = "x" if verdict == "rejected" else "✓" if verdict == "accepted" else "•" if fresh else ""
    style = "dim" if verdict == "rejected" else "bold" if fresh else ""
    return [
        (f"{sign}{ranked.place}", style),
        NOTHING if mid is None else (fixed(mid, 1), style or "bold"),
        (plain(finding.title), style),
        (finding.tier, style),
        (finding.confidence, "dim" if finding.confidence == "low" else style),
        (finding.bound, style) if finding.bound else NOTHING,
        (plain(finding.category), style),
        (plain(finding.library), style) if finding.library else NOTHING,
    ]
