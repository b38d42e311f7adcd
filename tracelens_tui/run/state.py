"""What a viewer knows of a run: one frozen value derived from the journal, the lock and the findings files."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tracelens_tui.run.findings import Finding, Tier

Status = Literal["starting", "running", "stale", "crashed", "finished", "failed", "cancelled"]
AgentStatus = Literal["planned", "skipped", "running", "finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class StageState:
    """One stage of the triage."""

    name: str
    started: datetime
    done: int = 0
    total: int = 0
    unit: str = ""
    seconds: float | None = None  # None while it runs
    reused: bool = False


@dataclass(frozen=True, slots=True)
class AgentState:
    """One sub-agent on one category."""

    agent: str
    category: str
    tier: Tier
    status: AgentStatus
    rule: str = ""  # the rule that activated or skipped it
    number: float | None = None  # and the number that decided
    unit: str = "%"
    started: datetime | None = None
    seconds: float | None = None
    done: int = 0
    total: int = 0
    note: str = ""
    text: str = ""  # last text
    findings: int = 0
    retries: int = 0
    reason: str = ""  # of a failure


@dataclass(frozen=True, slots=True)
class RunState:
    """A snapshot of a run; equal snapshots mean there is nothing to repaint."""

    status: Status = "starting"
    run_id: str = ""
    trace: str = ""
    platform: str | None = None
    analyst: str = ""
    host: str = ""
    pid: int = 0
    started: datetime | None = None
    seconds: float | None = None
    reason: str = ""
    heartbeat_age: float | None = None  # seconds, only where the run is stale
    stages: tuple[StageState, ...] = ()
    agents: tuple[AgentState, ...] = ()
    findings: tuple[Finding, ...] = ()  # by rank once ranked, else by arrival
    rejected: tuple[str, ...] = ()
    report: str | None = None  # path of analysis.md, relative to the run directory
    last_seq: int = 0
    problems: tuple[str, ...] = ()  # files and journal lines that could not be read

    @property
    def live(self) -> bool:
        """True while a triage process works on the run."""
        return self.status in {"starting", "running", "stale"}
