"""What a run and each of its sub-agents may use: tokens, dollars and time, counted as the server reports them.

A request is only sent while there is something left, and asks for no more output than is left.  What is already under
way beside it is not counted in advance, so a run may pass its limit by the requests that are in flight, at most.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from tracelens_tui.claude.faults import Fault
from tracelens_tui.claude.prices import ModelPrice, Usage

LEAST_OUTPUT = 1024
"""A reply needs at least this many tokens to be of use."""
MOST_OUTPUT = 16_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper ends; tokens are of prompt and reply together."""

    run_usd: float = 10.0
    run_tokens: int = 6_000_000
    run_s: float = 3600.0
    agent_share: float = 0.5  # of dollars and tokens that one sub-agent may use on one category
    agent_s: float = 300.0
    turns: int = 16  # requests of one conversation
    corrections: int = 2


class RunBudget:
    """What the whole run has used; shared by the threads of its sub-agents."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._end = clock() + limits.run_s
        self._guard = threading.Lock()
        self._usage = Usage()
        self._usd = 0.0

    def add(self, usage: Usage, usd: float) -> None:
        """Count what a request used."""
        with self._guard:
            self._usage = self._usage.plus(usage)
            self._usd += usd

    @property
    def tokens_left(self) -> int:
        """How many tokens are left."""
        return self.limits.run_tokens - self._usage.total

    @property
    def usd_left(self) -> float:
        """How many dollars are left."""
        return self.limits.run_usd - self._usd

    @property
    def seconds_left(self) -> float:
        """How much of the run's time is left, at least 0."""
        return max(0.0, self._end - self._clock())


class AgentBudget:
    """What one sub-agent has used on one category."""

    def __init__(self, run: RunBudget, price: ModelPrice) -> None:
        self._run = run
        self._price = price
        self.usage = Usage()
        self.usd = 0.0
        self.requests = 0

    @property
    def limits(self) -> Limits:
        """The limits of the run."""
        return self._run.limits

    @property
    def seconds(self) -> float:
        """How long the conversation may take from now."""
        return min(self.limits.agent_s, self._run.seconds_left)

    def add(self, usage: Usage) -> None:
        """Count what a request used, here and for the run."""
        usd = self._price.cost(usage)
        self.usage = self.usage.plus(usage)
        self.usd += usd
        self.requests += 1
        self._run.add(usage, usd)

    def next_output(self) -> int:
        """Return how many tokens the next reply may have; raises Fault where nothing is left."""
        limits = self.limits
        ends = (
            ("the token budget of the run", self._run.tokens_left),
            ("the dollar budget of the run", self._tokens_for(self._run.usd_left)),
            ("the token budget of the sub-agent", int(limits.agent_share * limits.run_tokens) - self.usage.total),
            ("the dollar budget of the sub-agent", self._tokens_for(limits.agent_share * limits.run_usd - self.usd)),
        )
        for what, tokens in ends:
            if tokens < LEAST_OUTPUT:
                raise Fault(f"{what} is used up")
        return min(MOST_OUTPUT, *(tokens for _, tokens in ends))

    def _tokens_for(self, usd: float) -> int:
        """How many output tokens the dollars pay for."""
        dearest = self._price.dearest_output
        return MOST_OUTPUT if dearest == 0 else int(max(0.0, usd) / dearest)

    @property
    def told(self) -> str:
        """What was used, in words."""
        return f"{self.usage.total:,} tokens, ${self.usd:.4f}"
