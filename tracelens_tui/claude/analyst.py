"""The analyst: one conversation with Claude for each assignment, the rules where it cannot be had."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracelens_tui.claude.budget import AgentBudget, Limits, RunBudget
from tracelens_tui.claude.client import Access, Patience, Sender, access_from
from tracelens_tui.claude.conversation import Conversation, Setting
from tracelens_tui.claude.evidence import Pool
from tracelens_tui.claude.faults import Fault
from tracelens_tui.claude.models import models_of
from tracelens_tui.claude.prices import ModelPrice, load_prices, price_of
from tracelens_tui.claude.prompt import first_message
from tracelens_tui.claude.submission import Refused, Submission, findings_of
from tracelens_tui.claude.tools import Tools
from tracelens_tui.claude.transcript import Transcript
from tracelens_tui.report.findings_check import check_findings
from tracelens_tui.run.findings import FindingsFile, Tier
from tracelens_tui.text import plain
from tracelens_tui.triage.analyst import MakeAnalyst
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.request import ClaudeOptions
from tracelens_tui.triage.rules import RulesAnalyst
from tracelens_tui.triage.session import Session
from tracelens_tui.triage.skills import load_skill

POLL_S = 0.2
REASON_LIMIT = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """What the analyst works with: credentials, models and prices, limits."""

    access: Access
    models: Mapping[Tier, str]
    prices: Mapping[str, ModelPrice]
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    concurrency: int = 4


def plan_of(options: ClaudeOptions) -> Plan:
    """Return the plan of a run; UserError where credentials, the SDK or a price is missing."""
    access = access_from()
    prices = load_prices()
    models = models_of(options, prices)
    for model in models.values():
        price_of(model, prices)
    limits = Limits(run_usd=options.max_usd, run_tokens=options.max_tokens, agent_s=options.agent_timeout_s)
    return Plan(access, models, prices, limits, concurrency=options.concurrency)


class ClaudeAnalyst:
    """Asks Claude about each assignment; its methods may be called from several threads at once."""

    name = "claude"

    def __init__(self, session: Session, plan: Plan) -> None:
        self._session = session
        self._plan = plan
        self._rules = RulesAnalyst()
        self._budget = RunBudget(plan.limits)
        self._places = threading.BoundedSemaphore(plan.concurrency)

    def analyse(self, assignment: Assignment) -> FindingsFile:
        """Return Claude's findings, or those of the rules with the reason; Cancelled where a viewer stopped it."""
        rules = self._rules.analyse(assignment)
        if not rules.findings:
            return rules  # nothing in the category is worth a finding: there is nothing to ask
        while not self._places.acquire(timeout=POLL_S):
            self._check(assignment)
        try:
            return self._asked(assignment, rules)
        finally:
            self._places.release()

    def _asked(self, assignment: Assignment, rules: FindingsFile) -> FindingsFile:
        model = self._plan.models[assignment.agent.tier]
        price = price_of(model, self._plan.prices)
        budget = AgentBudget(self._budget, price)
        sender = Sender(self._plan.access, self._plan.patience, budget.add)
        transcript = Transcript(self._session.run, assignment, self._session.emit, sender.redact)
        pool = Pool(assignment, rules)
        conversation = Conversation(
            setting=Setting(model, price.thinking, load_skill(assignment.agent.id).body),
            sender=sender,
            budget=budget,
            tools=Tools(self._session.run, assignment, pool),
            transcript=transcript,
            judge=lambda submission: self._judged(submission, assignment, rules, pool),
        )
        work = self._bounded(conversation, first_message(assignment, rules, pool), assignment)
        try:
            found = asyncio.run(work)
        except Fault as fault:
            reason = plain(sender.redact(str(fault)), REASON_LIMIT)
            transcript.usage(model, budget, sender.retries, reason)
            return rules.model_copy(update={"fallback_reason": reason})
        transcript.usage(model, budget, sender.retries, "accepted")
        for one in found.set_aside:
            transcript.rejected(one.finding.title, f"set aside by the analyst: {plain(one.reason, REASON_LIMIT)}")
        return found

    def _judged(self, submission: Submission, assignment: Assignment, rules: FindingsFile, pool: Pool) -> FindingsFile:
        """The findings file of a submission that passes every check."""
        file = findings_of(submission, assignment, rules, pool)
        problems = check_findings(file, self._session.run)
        if problems:
            raise Refused(problems)
        return file

    async def _bounded(self, conversation: Conversation, first: dict[str, Any], assignment: Assignment) -> FindingsFile:
        """Run the conversation within its time, and only as long as nobody stops it."""
        seconds = conversation.budget.seconds
        task = asyncio.create_task(conversation.run(first))
        watcher = asyncio.create_task(self._watch(assignment, conversation.transcript.flush))
        try:
            done, _ = await asyncio.wait({task, watcher}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise Fault("its time was up before it handed in findings")
            return (task if task in done else watcher).result()
        finally:
            for one in (task, watcher):
                one.cancel()
            await asyncio.gather(task, watcher, return_exceptions=True)
            await conversation.sender.close()

    async def _watch(self, assignment: Assignment, flush: Callable[[], None]) -> FindingsFile:
        """Never returns; raises Cancelled where a viewer stops the sub-agent or the run."""
        while True:
            await asyncio.sleep(POLL_S)
            self._check(assignment)
            flush()

    def _check(self, assignment: Assignment) -> None:
        self._session.check()
        self._session.check_agent(assignment.agent.id)


def claude_analyst(options: ClaudeOptions) -> MakeAnalyst:
    """Return what makes the analyst of a run; UserError before anything is begun where it cannot work."""
    plan = plan_of(options)
    return lambda session: ClaudeAnalyst(session, plan)
