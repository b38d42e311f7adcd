"""One streamed reply of the model, put together from its events."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from tracelens_tui.claude.faults import Passing
from tracelens_tui.claude.prices import Usage
from tracelens_tui.claude.redaction import Redactor

Block = dict[str, Any]
OnText = Callable[[str], None]
"""Told the text of the block that grows, whole, each time something came."""

_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_write": "cache_creation_input_tokens",
    "cache_read": "cache_read_input_tokens",
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants to use; ``arguments`` is None where they are no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None


@dataclass(slots=True)
class Reply:
    """What has come of a reply; ``complete`` once its end has come too."""

    content: list[Block] = field(default_factory=list)
    stop_reason: str | None = None
    complete: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    calls: list[ToolCall] = field(default_factory=list)
    _parts: dict[int, str] = field(default_factory=dict)  # JSON of a tool's arguments, by block

    @property
    def usage(self) -> Usage:
        """What the server has counted so far."""
        return Usage(**{ours: self.counts.get(theirs, 0) for ours, theirs in _USAGE.items()})

    def take(self, event: Block, redact: Redactor) -> str | None:
        """Take an event in and return the text of the block that grew, None where none did.

        Raises Passing for a stream that makes no sense.
        """
        try:
            return self._take(event, redact)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise Passing(f"the stream cannot be understood ({type(error).__name__})") from error

    def _take(self, event: Block, redact: Redactor) -> str | None:
        kind = event["type"]
        if kind == "message_start":
            self._count(event["message"]["usage"])
        elif kind == "content_block_start":
            if event["index"] != len(self.content):
                raise IndexError(event["index"])
            self.content.append(dict(event["content_block"]))
        elif kind == "content_block_delta":
            return self._grow(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._close(event["index"], redact)
        elif kind == "message_delta":
            self.stop_reason = event["delta"].get("stop_reason")
            self._count(event.get("usage") or {})
        elif kind == "message_stop":
            self.complete = True
        return None

    def _count(self, usage: Block) -> None:
        """Counts are totals so far: a later one replaces an earlier one, one that is not told stays."""
        self.counts |= {name: int(usage[name]) for name in _USAGE.values() if usage.get(name) is not None}

    def _grow(self, index: int, delta: Block) -> str | None:
        block = self.content[index]
        kind = delta["type"]
        if kind == "input_json_delta":
            self._parts[index] = self._parts.get(index, "") + delta["partial_json"]
            return None
        name = {"text_delta": "text", "thinking_delta": "thinking"}.get(kind)
        if name is not None:
            block[name] = str(block.get(name, "")) + delta[name]
            return block[name]
        if kind == "signature_delta":
            block["signature"] = delta["signature"]
        return None

    def _close(self, index: int, redact: Redactor) -> None:
        block = self.content[index]
        if block["type"] == "text":
            block["text"] = redact(block["text"])
        if block["type"] != "tool_use":
            return
        arguments = _object(redact(self._parts.get(index, "") or json.dumps(block.get("input") or {})))
        block["input"] = arguments or {}
        self.calls.append(ToolCall(str(block["id"]), str(block["name"]), arguments))


async def read_reply(events: AsyncIterator[Any], reply: Reply, redact: Redactor, on_text: OnText) -> None:
    """Read a stream to its end into ``reply``; raises Passing where it ends too early or makes no sense."""
    async for event in events:
        text = reply.take(event.to_dict() if hasattr(event, "to_dict") else event, redact)
        if text is not None:
            on_text(redact.growing(text))
    if not reply.complete:
        raise Passing("the stream ended before the reply did")


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object in the text, None where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
