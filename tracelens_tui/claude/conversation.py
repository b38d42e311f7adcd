"""One sub-agent's conversation: turns until its findings are accepted, or until a limit or a fault ends it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tracelens_tui.claude.budget import AgentBudget
from tracelens_tui.claude.client import Sender
from tracelens_tui.claude.faults import Fault
from tracelens_tui.claude.prompt import CACHED, system_prompt
from tracelens_tui.claude.reply import Reply, ToolCall
from tracelens_tui.claude.submission import Refused, Submission, read_submission
from tracelens_tui.claude.tools import SUBMIT, ToolError, Tools, tool_list
from tracelens_tui.claude.transcript import Transcript
from tracelens_tui.run.findings import FindingsFile

CALLS_A_TURN = 12
Judge = Callable[[Submission], FindingsFile]
"""Makes the findings file of a submission; raises Refused."""

_ENDINGS = {
    "refusal": "the model declined the task",
    "model_context_window_exceeded": "the conversation outgrew the model's context",
}
_NOTHING = "No findings were handed in. Call submit_findings now."
_CUT = "the reply was cut at its token limit before the arguments ended: hand in something shorter"
_NO_JSON = "the arguments are no JSON object"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a conversation runs with."""

    model: str
    thinking: bool
    skill: str


@dataclass(slots=True)
class Conversation:
    """The turns of one sub-agent on one category."""

    setting: Setting
    sender: Sender
    budget: AgentBudget
    tools: Tools
    transcript: Transcript
    judge: Judge
    messages: list[dict[str, Any]] = field(default_factory=list)
    refusals: int = 0

    async def run(self, first: dict[str, Any]) -> FindingsFile:
        """Return the accepted findings; raises Fault where there will be none."""
        limits = self.budget.limits
        self.messages = [first]
        self.transcript.keep({"system": system_prompt(self.setting.skill)})
        self.transcript.keep(first)
        for turn in range(1, limits.turns + 1):
            reply = await self._ask()
            self.transcript.progress(turn, limits.turns, self.budget.told)
            found = self._take(reply)
            if found is not None:
                return found
        raise Fault(f"no findings were handed in within {limits.turns} turns")

    async def _ask(self) -> Reply:
        """Send the conversation so far and add the reply to it."""
        request: dict[str, Any] = {
            "model": self.setting.model,
            "max_tokens": self.budget.next_output(),
            "system": system_prompt(self.setting.skill),
            "tools": tool_list(),
            "messages": self.messages,
        }
        if self.setting.thinking:
            request["thinking"] = {"type": "adaptive", "display": "summarized"}
        retries = self.sender.retries
        reply = await self.sender.send(
            request,
            self.transcript.text,
            lambda reason: self.transcript.retry(self.sender.retries - retries, reason),
        )
        self.transcript.flush()
        self.transcript.keep({"role": "assistant", "content": reply.content, "stop_reason": reply.stop_reason})
        if reply.content:
            self.messages.append({"role": "assistant", "content": reply.content})
        return reply

    def _take(self, reply: Reply) -> FindingsFile | None:
        """Answer a reply; returns the findings where it handed in good ones."""
        ending = _ENDINGS.get(reply.stop_reason or "")
        if ending is not None:
            raise Fault(ending)
        if reply.stop_reason == "pause_turn":
            return None
        if not reply.calls:
            cut = reply.stop_reason == "max_tokens"
            self._refuse("its reply was cut at the token limit" if cut else "it handed in nothing")
            self._say([{"type": "text", "text": _NOTHING}])
            return None
        results: list[dict[str, Any]] = []
        for index, call in enumerate(reply.calls):
            cut = reply.stop_reason == "max_tokens" and index == len(reply.calls) - 1
            answer = self._answer(call, cut=cut) if index < CALLS_A_TURN else "too many calls in one turn"
            if isinstance(answer, FindingsFile):
                return answer
            results.append(answer if isinstance(answer, dict) else _failed(call, answer))
        self._say(results)
        return None

    def _answer(self, call: ToolCall, *, cut: bool) -> FindingsFile | dict[str, Any] | str:
        """The findings that a call handed in, the result of another call, or why there is none."""
        if cut or call.arguments is None:
            self._refuse("its arguments were cut off" if cut else _NO_JSON)
            return _CUT if cut else _NO_JSON
        if call.name == SUBMIT:
            try:
                return self.judge(read_submission(call.arguments))
            except Refused as refused:
                self._refuse(refused.problems[0], handed_in=True)
                return f"The findings are refused. Correct these faults and submit all findings again:\n{refused}"
        self.transcript.text(f"→ {call.name}")
        try:
            text = self.tools.answer(call.name, call.arguments)
        except ToolError as error:
            return str(error)
        return {"type": "tool_result", "tool_use_id": call.id, "content": f"<data>\n{text}\n</data>"}

    def _refuse(self, reason: str, *, handed_in: bool = False) -> None:
        """Count a fault of the model; raises Fault where it was one too many."""
        self.refusals += 1
        if self.refusals > self.budget.limits.corrections:
            what = "its findings were refused" if handed_in else "it handed in no findings that can be read"
            raise Fault(f"{what} after {self.budget.limits.corrections} corrections: {reason}")
        self.transcript.retry(self.refusals, reason)

    def _say(self, content: list[dict[str, Any]]) -> None:
        """Add the user's turn; the newest one alone is marked for the cache, beside the first."""
        for message in self.messages[1:]:
            for block in message["content"] if message["role"] == "user" else ():
                block.pop("cache_control", None)
        message = {"role": "user", "content": content}
        self.transcript.keep(message)
        content[-1]["cache_control"] = CACHED
        self.messages.append(message)


def _failed(call: ToolCall, reason: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.id, "content": reason, "is_error": True}
