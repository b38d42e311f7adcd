"""``agents/<id>/evidence.json``: what a sub-agent may state, computed from the tables before it begins to write.

Each quantity is a ``Fact``.  One that stands in a table is cited there; one that was computed is cited here.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from tracelens_tui.run.findings import SCHEMA_VERSION, Evidence, Impact, Schema
from tracelens_tui.run.store import AGENTS


class Fact(Schema):
    """A quantity or a name, and where it stands if it is a table's."""

    value: float | int | str
    label: str
    unit: str = ""
    digits: int = 1
    source: str | None = None  # None: this file
    key: str | None = None


Facts = dict[str, Fact]

MS_FROM_US = 1000


class Match(Schema):
    """Operations of a cluster that one rule applies to."""

    rule: str
    rows: list[int]  # rows of Analysis.ops, heaviest first; empty for the idle analysis
    gap_share: float  # part of the cluster's gap, 0..1
    facts: Facts
    constants: Facts = Field(default_factory=dict)


class Cluster(Schema):
    """What becomes one finding."""

    id: str
    bound: Literal["compute", "memory", "unknown"] | None = None
    library: str | None = None
    band: str | None = None
    impact: Impact
    rows: list[int]
    facts: Facts
    matches: list[Match]  # most of the gap first


class CategoryPack(Schema):
    """The clusters of one category."""

    category: str
    clusters: list[Cluster]


class EvidenceFile(Schema):
    """The pack of one sub-agent, by category."""

    schema_version: int = SCHEMA_VERSION
    agent: str
    categories: dict[str, CategoryPack]
    metrics: dict[str, JsonValue] = Field(default_factory=dict)  # of a system sub-agent: its metrics file once more


def span(us: float, label: str, source: str | None = None, key: str | None = None) -> Fact:
    """Return a duration given in µs, in ms from a millisecond on; ``key`` is the place of the value in µs."""
    if us < MS_FROM_US:
        return Fact(value=us, label=label, unit="µs", source=source, key=key)
    scaled = None if key is None else f"{key},scale=0.001"
    return Fact(value=us / 1e3, label=label, unit="ms", digits=2, source=source, key=scaled)


def evidence_file(agent: str) -> str:
    """Return the path of an agent's pack, relative to the run directory."""
    return f"{AGENTS}/{agent}/evidence.json"


def evidence_of(prefix: str, facts: Mapping[str, Fact], file: str, place: str) -> list[Evidence]:
    """Return the facts as evidence items ``<prefix>.<name>``; ``place`` is the path of the facts in the pack."""
    return [
        Evidence(
            id=f"{prefix}.{name}",
            label=fact.label,
            value=fact.value,
            unit=fact.unit,
            digits=fact.digits,
            source=fact.source or file,
            key=fact.key or f"{place}.{name}.value",
        )
        for name, fact in facts.items()
    ]
