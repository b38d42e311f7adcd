"""A tiny server for these tests: speaks the Messages streaming API over loopback, one script per category.

A script is a list of turns; each turn is a function from the request to a list of steps: bytes are sent, numbers are
waited for (seconds), ``CUT`` closes the connection.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CUT = object()
Steps = list[Any]
Turn = Callable[[dict[str, Any]], Steps]
USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30, "output_tokens": 1}


@dataclass
class Talker:
    """The server's state: what each category is answered, turn by turn; the last turn repeats."""

    scripts: dict[str, list[Turn]]
    url: str = ""
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def next_turn(self, category: str, request: dict[str, Any], headers: dict[str, str]) -> Turn:
        with self.guard:
            number = sum(one == category for one, _, _ in self.requests)
            self.requests.append((category, request, headers))
        script = self.scripts.get(category) or self.scripts["*"]
        return script[min(number, len(script) - 1)]

    def asked(self, category: str) -> list[dict[str, Any]]:
        return [request for one, request, _ in self.requests if one == category]


@contextmanager
def talking(scripts: dict[str, list[Turn]]) -> Iterator[Talker]:
    """Run a server with these scripts, by category, ``*`` for the others."""
    talker = Talker(scripts)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — the base class names it so
            pass

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            turn = talker.next_turn(category_of(request), request, dict(self.headers))
            self.close_connection = True
            try:
                for step in turn(request):
                    if step is CUT:
                        return
                    if isinstance(step, float):
                        time.sleep(step)
                    else:
                        self.wfile.write(step)
                        self.wfile.flush()
            except OSError:
                pass  # the client has gone

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    talker.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield talker
    finally:
        server.shutdown()
        server.server_close()


def evidence_of(request: dict[str, Any]) -> dict[str, Any]:
    """Return the evidence that a request's first message holds."""
    text = request["messages"][0]["content"][0]["text"]
    found = re.search(r"<evidence>\n(.*)\n</evidence>", text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def category_of(request: dict[str, Any]) -> str:
    return evidence_of(request)["category"]


def status(code: int, kind: str = "api_error", message: str = "no", **headers: str) -> Turn:
    """Answer with an error status."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    lines = [f"HTTP/1.1 {code} X", "content-type: application/json", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda _request: ["\r\n".join([*lines, "", ""]).encode() + body]


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def start(usage: dict[str, int] | None = None) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return event("message_start", message={**message, "stop_sequence": None, "usage": usage or USAGE})


def end(reason: str, output: int = 50) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [event("message_delta", delta=delta, usage={"output_tokens": output}), event("message_stop")]


def text_block(index: int, text: str) -> list[bytes]:
    begin = event("content_block_start", index=index, content_block={"type": "text", "text": ""})
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    grow = [event("content_block_delta", index=index, delta={"type": "text_delta", "text": one}) for one in pieces]
    return [begin, *grow, event("content_block_stop", index=index)]


def tool_block(index: int, name: str, arguments: str, *, stop: bool = True) -> list[bytes]:
    block = {"type": "tool_use", "id": f"toolu_{index}_{len(arguments)}", "name": name, "input": {}}
    begin = event("content_block_start", index=index, content_block=block)
    pieces = [arguments[at : at + 200] for at in range(0, len(arguments), 200)]
    grow = [
        event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": one})
        for one in pieces
    ]
    return [begin, *grow, *([event("content_block_stop", index=index)] if stop else [])]


def uses(name: str, arguments: Any, text: str = "I look at it.") -> Turn:
    """Use a tool; arguments may be made from the request."""

    def turn(request: dict[str, Any]) -> Steps:
        found = arguments(request) if callable(arguments) else arguments
        raw = found if isinstance(found, str) else json.dumps(found)
        return [HEAD, start(), *text_block(0, text), *tool_block(1, name, raw), *end("tool_use")]

    return turn


def says(text: str, reason: str = "end_turn") -> Turn:
    """Say something and stop."""
    return lambda _request: [HEAD, start(), *(text_block(0, text) if text else []), *end(reason)]


def submits(change: Callable[[dict[str, Any]], Any] | None = None) -> Turn:
    """Hand in every candidate in its own words, then changed."""

    def arguments(request: dict[str, Any]) -> dict[str, Any]:
        made = submission(request)
        return made if change is None else (change(made) or made)

    return uses("submit_findings", arguments, text="These are my findings.")


def submission(request: dict[str, Any]) -> dict[str, Any]:
    """The candidates as findings, with a title of our own."""
    texts = ("insight", "action", "identification", "reasoning", "resolution", "confidence", "caveats")
    return {
        "findings": [
            {"candidate": one["id"], "title": f"Ours: {one['title']}"[:120], **{name: one[name] for name in texts}}
            for one in evidence_of(request)["candidates"]
        ],
        "rejected": [],
    }
