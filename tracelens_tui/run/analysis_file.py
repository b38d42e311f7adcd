"""Schema of ``analysis.json``, the report for machines."""

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer

from tracelens_tui.run.findings import SCHEMA_VERSION, Confidence, Impact, Schema, Tier
from tracelens_tui.run.manifest import CategoryName, PartInfo


class TimeUs(Schema):
    """The device's time split in µs."""

    window: float
    busy: float
    idle: float
    compute: float
    comm: float
    exposed_comm: float
    memcpy: float
    exposed_memcpy: float


class AnalysisOperation(Schema):
    """One op of a finding.

    ``dims`` has an entry per tensor argument: its sides, or for a list of tensors the sides of each.  Of a long list
    only the first stand there; ``dims_omitted`` counts the others, and is written only where there are some.
    """

    name: str
    dims: list[list[int] | list[list[int]]] | None
    dtype: str | None
    count: int
    time_ms: float
    efficiency_percent: float | None
    dims_omitted: int = 0

    @model_serializer(mode="wrap")
    def _without_zero(self, handler: SerializerFunctionWrapHandler) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = handler(self)
        if not self.dims_omitted:
            del found["dims_omitted"]
        return found


class AnalysisFinding(Schema):
    """One finding for machines; ``insight`` and ``action`` have their numbers filled in."""

    id: str
    tier: Tier
    category: CategoryName
    rank: int  # from 1, over all tiers
    title: str
    library: str | None
    bound: str | None
    confidence: Confidence
    impact: Impact
    operations: list[AnalysisOperation]
    insight: str
    action: str


class AnalysisJson(Schema):
    """``analysis.json``: the report for machines, findings in global rank order."""

    schema_version: int = SCHEMA_VERSION
    model: str
    platform: str
    time_us: TimeUs | None  # None: no GPU events
    findings: list[AnalysisFinding]
    warnings: list[str] = Field(default_factory=list)
    part: PartInfo | None = None  # written only where the run speaks of a part of the trace

    @model_serializer(mode="wrap")
    def _without_none(self, handler: SerializerFunctionWrapHandler) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = handler(self)
        if self.part is None:
            del found["part"]
        return found
