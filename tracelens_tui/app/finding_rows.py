"""The findings of a run as a row source."""

from collections.abc import Sequence
from dataclasses import dataclass

from tracelens_tui.app.cells import NOTHING, Cell, Column, fixed
from tracelens_tui.app.lists import ListSource
from tracelens_tui.run.findings import Finding
from tracelens_tui.text import plain

TIERS = ("compute", "fusion", "system")
COLUMNS = (
    Column("rank", "#", 3),
    Column("mid", "Win %", 6),
    Column("title", "Finding", 20, "left", grows=True),
    Column("tier", "Tier", 7, "left"),
    Column("confidence", "Conf", 6, "left"),
    Column("bound", "Bound", 7, "left"),
    Column("category", "Category", 14, "left"),
    Column("library", "Library", 11, "left"),
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A finding and its place in the run; ``fresh`` until the cursor has been on it."""

    place: int
    finding: Finding
    fresh: bool = False


def finding_source(findings: Sequence[Finding], fresh: frozenset[str] = frozenset()) -> ListSource[Ranked]:
    """Return the findings in the run's order: by rank once they are ranked, else as they arrived."""
    items = tuple(Ranked(place, one, one.id in fresh) for place, one in enumerate(findings, start=1))
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
    return ListSource(COLUMNS, items, _cells, lambda ranked: ranked.finding.id, orders, sort_key="rank")


def _cells(ranked: Ranked) -> Sequence[Cell]:
    finding = ranked.finding
    mid = finding.impact.mid
    return [
        (f"{'•' if ranked.fresh else ''}{ranked.place}", "bold" if ranked.fresh else ""),
        NOTHING if mid is None else (fixed(mid, 1), "bold"),
        (plain(finding.title), ""),
        (finding.tier, ""),
        (finding.confidence, "dim" if finding.confidence == "low" else ""),
        (finding.bound, "") if finding.bound else NOTHING,
        (plain(finding.category), ""),
        (plain(finding.library), "") if finding.library else NOTHING,
    ]
