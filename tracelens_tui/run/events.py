"""The journal's vocabulary: one model per event type of ``events.jsonl``."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tracelens_tui.run.findings import Schema, Tier


class Base(Schema):
    """Fields of every event; ``seq`` counts from 1 over the life of the run directory, resumes included."""

    seq: int = 0
    time: datetime | None = None  # UTC; set by the journal


class RunStarted(Base):
    """A triage process took the lock."""

    type: Literal["run_started"] = "run_started"
    run_id: str
    trace: str
    platform: str | None
    analyst: str
    host: str
    pid: int
    resumed: bool = False


class StageStarted(Base):
    """A stage of the triage began: load, prepare, plan, agents, rank, report, validate."""

    type: Literal["stage_started"] = "stage_started"
    stage: str


class StageProgress(Base):
    """How far the stage is; ``total`` 0 = unknown."""

    type: Literal["stage_progress"] = "stage_progress"
    stage: str
    done: int
    total: int
    unit: str = ""


class StageFinished(Base):
    """The stage's outputs are on disk."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: str
    seconds: float
    reused: bool = False  # found complete on resume


class AgentPlanned(Base):
    """The sub-agent will run, because of this rule and number."""

    type: Literal["agent_planned"] = "agent_planned"
    agent: str
    category: str
    tier: Tier
    rule: str
    number: float | None
    unit: str = "%"


class AgentSkipped(Base):
    """The sub-agent will not run, because of this rule and number."""

    type: Literal["agent_skipped"] = "agent_skipped"
    agent: str
    category: str
    tier: Tier
    rule: str
    number: float | None
    unit: str = "%"


class AgentStarted(Base):
    """The sub-agent began to work on the category."""

    type: Literal["agent_started"] = "agent_started"
    agent: str
    category: str
    analyst: str


class AgentProgress(Base):
    """How far the sub-agent is."""

    type: Literal["agent_progress"] = "agent_progress"
    agent: str
    category: str
    done: int
    total: int
    note: str = ""


class AgentText(Base):
    """Text that the sub-agent produced; for showing, never for parsing."""

    type: Literal["agent_text"] = "agent_text"
    agent: str
    category: str
    text: str


class FindingAdded(Base):
    """A finding passed validation and stands in ``file``."""

    type: Literal["finding_added"] = "finding_added"
    agent: str
    category: str
    finding: str  # Finding.id
    tier: Tier
    title: str
    mid: float | None
    file: str


class FindingRejected(Base):
    """A finding failed a check."""

    type: Literal["finding_rejected"] = "finding_rejected"
    agent: str
    category: str
    title: str
    check: str


class AgentRetry(Base):
    """The sub-agent got its failed checks back and tries again."""

    type: Literal["agent_retry"] = "agent_retry"
    agent: str
    category: str
    attempt: int
    reason: str


class AgentFinished(Base):
    """The sub-agent's findings file is on disk."""

    type: Literal["agent_finished"] = "agent_finished"
    agent: str
    category: str
    findings: int
    seconds: float
    reused: bool = False


class AgentFailed(Base):
    """The sub-agent ended without findings; the rest of the run goes on."""

    type: Literal["agent_failed"] = "agent_failed"
    agent: str
    category: str
    reason: str
    cancelled: bool = False


class ReportWritten(Base):
    """The report is on disk."""

    type: Literal["report_written"] = "report_written"
    file: str
    findings: int


class RunFinished(Base):
    """The run ended with a report."""

    type: Literal["run_finished"] = "run_finished"
    seconds: float


class RunFailed(Base):
    """The run ended without a report."""

    type: Literal["run_failed"] = "run_failed"
    reason: str
    cancelled: bool = False


AnyEvent = (
    RunStarted
    | StageStarted
    | StageProgress
    | StageFinished
    | AgentPlanned
    | AgentSkipped
    | AgentStarted
    | AgentProgress
    | AgentText
    | FindingAdded
    | FindingRejected
    | AgentRetry
    | AgentFinished
    | AgentFailed
    | ReportWritten
    | RunFinished
    | RunFailed
)
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])
