"""What a conversation leaves in ``agents/<id>/``: the transcript, what it used, and its text in the journal.

Nothing is written that still holds a credential: every text passes the redactor.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from tracelens_tui.claude.budget import AgentBudget
from tracelens_tui.claude.redaction import Redactor
from tracelens_tui.run import events as ev
from tracelens_tui.run.findings import SCHEMA_VERSION, Schema
from tracelens_tui.run.store import AGENTS, RunDir
from tracelens_tui.text import plain
from tracelens_tui.triage.assignment import Assignment

TEXT_INTERVAL_S = 0.2
"""Texts of one sub-agent reach the journal at most five times a second."""
TEXT_LIMIT = 240


class UsageFile(Schema):
    """``agents/<id>/<category>_usage.json``: tokens as the server counted them, and what they cost."""

    schema_version: int = SCHEMA_VERSION
    agent: str
    category: str
    model: str
    requests: int
    retries: int
    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    cost_usd: float
    outcome: str  # "accepted", or why the rules stood in


class Transcript:
    """The record of one conversation."""

    def __init__(
        self,
        run: RunDir,
        assignment: Assignment,
        emit: Callable[[ev.AnyEvent], None],
        redact: Redactor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._agent, self._category = assignment.agent.id, assignment.category
        self._emit = emit
        self._redact = redact
        self._clock = clock
        self._lines: list[str] = []
        self._next_text = -1.0
        self._held: str | None = None

    def keep(self, entry: Mapping[str, Any]) -> None:
        """Add an entry and write the transcript anew."""
        line = json.dumps(_reduced(entry), ensure_ascii=False, separators=(",", ":"))
        self._lines.append(self._redact(line))
        self._run.write_text(f"{AGENTS}/{self._agent}/{self._category}_transcript.jsonl", "\n".join(self._lines) + "\n")

    def text(self, text: str) -> None:
        """Tell what the sub-agent is writing, unless something was told just before."""
        now = self._clock()
        if now < self._next_text:
            self._held = text
            return
        self._next_text = now + TEXT_INTERVAL_S
        self._held = None
        shown = plain(self._redact(text)).strip()
        if shown:
            tail = shown if len(shown) <= TEXT_LIMIT else f"…{shown[-TEXT_LIMIT:]}"
            self._emit(ev.AgentText(agent=self._agent, category=self._category, text=tail))

    def flush(self) -> None:
        """Tell the last text that was held back, if its time has come; call it when the sub-agent pauses."""
        if self._held is not None:
            self.text(self._held)

    def progress(self, turn: int, turns: int, used: str) -> None:
        """Tell how far the conversation is and what it has cost."""
        self._emit(ev.AgentProgress(agent=self._agent, category=self._category, done=turn, total=turns, note=used))

    def retry(self, attempt: int, reason: str) -> None:
        """Tell that a request or a submission is tried again."""
        text = plain(self._redact(reason), 300)
        self._emit(ev.AgentRetry(agent=self._agent, category=self._category, attempt=attempt, reason=text))

    def rejected(self, title: str, check: str) -> None:
        """Tell that a candidate was set aside."""
        event = ev.FindingRejected(agent=self._agent, category=self._category, title=plain(title, 120), check=check)
        self._emit(event)

    def usage(self, model: str, budget: AgentBudget, retries: int, outcome: str) -> None:
        """Write what the conversation used."""
        used = budget.usage
        file = UsageFile(
            agent=self._agent,
            category=self._category,
            model=model,
            requests=budget.requests,
            retries=retries,
            input_tokens=used.input,
            output_tokens=used.output,
            cache_creation_input_tokens=used.cache_write,
            cache_read_input_tokens=used.cache_read,
            cost_usd=budget.usd,
            outcome=self._redact(outcome),
        )
        self._run.write_json(f"{AGENTS}/{self._agent}/{self._category}_usage.json", file)


def _reduced(value: Any) -> Any:  # noqa: ANN401 — any JSON
    """The entry without what only the API needs, such as signatures and cache marks."""
    if isinstance(value, Mapping):
        drop = {"signature", "cache_control"}
        return {name: _reduced(one) for name, one in value.items() if name not in drop}
    if isinstance(value, list):
        return [_reduced(one) for one in value]
    return value
