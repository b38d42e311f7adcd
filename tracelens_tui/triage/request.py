"""What is asked of a triage, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracelens_tui.trace.scope import Scope

Status = Literal["finished", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class ClaudeOptions:
    """How Claude works on a run: models, and the upper ends of what it may use."""

    model: str | None = None  # None: the best that the installed SDK knows
    tier_models: Mapping[str, str] = field(default_factory=dict)  # tier -> model, where it is another one
    max_usd: float = 10.0
    max_tokens: int = 6_000_000
    agent_timeout_s: float = 300.0
    concurrency: int = 4


@dataclass(frozen=True, slots=True)
class TriageRequest:
    """One triage of one trace."""

    trace: Path
    run_dir: Path | None = None  # None: the default place
    platform: str | None = None  # None: the device that the trace names
    arch: Path | None = None
    device: int | None = None  # None: the busiest
    scope: Scope | None = None  # None: the whole trace
    extensions: tuple[Path, ...] = ()  # Python files with models, categories and platforms
    analyst: Literal["rules", "claude"] = "rules"
    claude: ClaudeOptions | None = None  # with the analyst claude
    resume: bool = False
    use_cache: bool = True


@dataclass(frozen=True, slots=True)
class TriageOutcome:
    """How a triage ended: ``exit_code`` 0 with a report, 3 without."""

    run_dir: Path
    status: Status
    exit_code: int
    message: str = ""
