"""Every fault of server, network and model for one sub-agent: the others go on, the report is whole and names it."""

import socket
import time

import pytest

from tests.claude.running import KEY, findings, plan, triage
from tests.claude.speaking import (
    CUT,
    HEAD,
    end,
    event,
    says,
    start,
    status,
    submits,
    talking,
    text_block,
    tool_block,
    uses,
)
from tracelens_tui.report.validate import validate_run


def stream(*steps):
    return lambda _request: [HEAD, start(), *steps]


ERROR = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
BAD_REQUEST = event("error", error={"type": "invalid_request_error", "message": "too odd"})
HALF = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "abc"})[:30]

FAULTS = {
    "401": (status(401, "authentication_error", f"invalid x-api-key {KEY}"), "the API refused the key (status 401: "),
    "403": (status(403, "permission_error"), "the key may not do this (status 403: no)"),
    "400": (status(400, "invalid_request_error", "bad"), "the API refused the request (status 400: bad)"),
    "429": (status(429, "rate_limit_error", retry_after="0.01"), "the rate limit is reached (status 429: no) (3 att"),
    "429 for an hour": (status(429, "rate_limit_error", retry_after="3600"), "asks to wait for longer than a triage"),
    "500": (status(500), "the API failed (status 500: no) (3 attempts)"),
    "529": (status(529, "overloaded_error"), "the API is overloaded (status 529: no) (3 attempts)"),
    "error in the stream": (stream(ERROR), "the API reported overloaded_error in the stream: Overloaded (3 attempts)"),
    "refusal in the stream": (stream(BAD_REQUEST), "the API reported invalid_request_error in the stream: too odd"),
    "cut between events": (stream(*text_block(0, "abc"), CUT), "the stream ended before the reply did (3 attempts)"),
    "cut in an event": (stream(*text_block(0, "abc")[:1], HALF, CUT), "the stream ended before the reply did (3 att"),
    "no headers": (lambda _request: [CUT], "the API cannot be reached"),
    "silence": (stream(*text_block(0, "abc"), 5.0), "no bytes came for too long (3 attempts)"),
    "not JSON": (stream(b"event: message_delta\ndata: {oops\n\n"), "the answer cannot be understood (JSONDecodeError)"),
    "nonsense": (stream(event("content_block_delta", index=7, delta={"type": "text_delta", "text": "a"})), "(IndexE"),
    "max_tokens in a call": (
        stream(*tool_block(0, "submit_findings", '{"findings": [', stop=False), *end("max_tokens")),
        "it handed in no findings that can be read after 2 corrections: its reply was cut at the token limit",
    ),
    "max_tokens, call closed": (
        stream(*tool_block(0, "submit_findings", '{"findings": ['), *end("max_tokens")),
        "after 2 corrections: its arguments were cut off",
    ),
    "invalid JSON": (uses("submit_findings", '{"findings": [,'), "the arguments are no JSON object"),
    "unknown tool": (uses("rm_rf", {}), "no findings were handed in within 16 turns"),
    "wrong arguments": (uses("query_operations", {"limit": 10**9}), "no findings were handed in within 16 turns"),
    "endless loop": (uses("query_kernels", {}), "no findings were handed in within 16 turns"),
    "refusal": (says("No.", "refusal"), "the model declined the task"),
    "context": (says("", "model_context_window_exceeded"), "the conversation outgrew the model's context"),
    "empty": (says(""), "after 2 corrections: it handed in nothing"),
    "words only": (says("All is well."), "after 2 corrections: it handed in nothing"),
    "wrong schema": (uses("submit_findings", {"results": 1}), "its findings were refused after 2 corrections"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_one_sub_agent(name, trace, tmp_path, monkeypatch):
    turn, words = FAULTS[name]
    with talking({"gemm": [turn], "*": [submits()]}) as server:
        outcome = triage(trace, tmp_path / "run", plan(server, monkeypatch))
    assert outcome.exit_code == 0, outcome.message
    assert validate_run(outcome.run_dir) == []
    found = findings(outcome.run_dir)
    assert words in (found["gemm"].fallback_reason or "")
    assert (found["gemm"].analyst, len(found["gemm"].findings)) == ("rules", 1)
    others = [file for category, file in found.items() if file.findings and category != "gemm"]
    assert [(file.analyst, file.fallback_reason) for file in others] == [("claude", None)] * 3
    report = (outcome.run_dir / "analysis.md").read_text()
    assert "| GEMM | compute | the rules analyst stood in: " in report
    assert report.count("stood in") == 1
    written = "".join(path.read_text(errors="replace") for path in outcome.run_dir.rglob("*") if path.is_file())
    assert KEY not in written
    assert "Traceback" not in written


def test_a_fault_that_passes_is_not_told_as_one(trace, tmp_path, monkeypatch):
    script = [status(529, "overloaded_error"), stream(ERROR), submits()]
    with talking({"gemm": script, "*": [submits()]}) as server:
        outcome = triage(trace, tmp_path / "run", plan(server, monkeypatch))
    file = findings(outcome.run_dir)["gemm"]
    assert (outcome.exit_code, file.analyst, file.fallback_reason) == (0, "claude", None)


def test_the_server_s_own_wait_is_kept(trace, tmp_path, monkeypatch):
    times = []

    def timed(turn):
        def wrapped(request):
            times.append(time.monotonic())
            return turn(request)

        return wrapped

    script = [timed(status(429, "rate_limit_error", retry_after="0.4")), timed(submits())]
    with talking({"gemm": script, "*": [submits()]}) as server:
        triage(trace, tmp_path / "run", plan(server, monkeypatch))
    assert times[1] - times[0] >= 0.4  # never earlier than it was asked for


@pytest.mark.parametrize("address", ["refused", "unknown"])
def test_a_server_that_is_not_there(address, trace, tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening: refused
        host = f"127.0.0.1:{taken.getsockname()[1]}" if address == "refused" else "no-such-host.invalid"

        class Nowhere:
            url = f"http://{host}"

        outcome = triage(trace, tmp_path / "run", plan(Nowhere, monkeypatch))  # type: ignore[arg-type]
    assert outcome.exit_code == 0, outcome.message
    assert validate_run(outcome.run_dir) == []
    reasons = [file.fallback_reason for file in findings(outcome.run_dir).values() if file.findings]
    assert len(reasons) == 4
    assert all(reason is not None and "the API cannot be reached" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_usd": 0.0}, "the dollar budget of the run is used up"),
        ({"max_tokens": 1500}, "the token budget of the sub-agent is used up"),
        ({"agent_timeout_s": 0.3}, "its time was up before it handed in findings"),
    ],
)
def test_budgets(options, words, trace, tmp_path, monkeypatch):
    slow = stream(*text_block(0, "abc"), 0.3, event("ping"), 0.3, event("ping"), 0.3, *end("end_turn"))
    with talking({"*": [slow, submits()]}) as server:
        outcome = triage(trace, tmp_path / "run", plan(server, monkeypatch, **options))
    assert outcome.exit_code == 0, outcome.message
    reasons = [file.fallback_reason for file in findings(outcome.run_dir).values() if file.findings]
    assert reasons == [words] * 4
