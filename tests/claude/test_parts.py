"""The parts of the Claude analyst by themselves: prices, budgets, redaction, replies."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tracelens_tui.claude.budget import MOST_OUTPUT, AgentBudget, Limits, RunBudget
from tracelens_tui.claude.client import access_from
from tracelens_tui.claude.faults import Fault, Passing
from tracelens_tui.claude.models import default_model, models_of
from tracelens_tui.claude.prices import Usage, load_prices, own_file, price_of
from tracelens_tui.claude.redaction import Redactor
from tracelens_tui.claude.reply import Reply
from tracelens_tui.claude.tools import as_data, tool_list
from tracelens_tui.claude.transcript import Transcript
from tracelens_tui.errors import UserError
from tracelens_tui.run.store import RunDir
from tracelens_tui.triage.launch import command
from tracelens_tui.triage.request import ClaudeOptions, TriageRequest

MILLION = 1_000_000


def test_a_request_is_priced_by_the_length_of_its_prompt():
    haiku = price_of("claude-haiku-5-5", load_prices())
    # list prices by hand: 0.1 + 0.01 (cache read) below 100,000 prompt tokens, five times as much above
    assert haiku.cost(Usage(input=90_000, cache_read=10_000)) == pytest.approx(0.0091)
    assert haiku.cost(Usage(input=90_001, cache_read=10_000)) == pytest.approx(0.0455005)
    opus = price_of("claude-opus-5-5", load_prices())
    assert opus.cost(Usage(input=MILLION, output=MILLION, cache_write=MILLION, cache_read=MILLION)) == 29.2


def test_a_dated_name_has_the_price_of_its_family():
    prices = load_prices()
    assert price_of("claude-haiku-4-5-20251001", prices) is prices["claude-haiku-4-5"]
    with pytest.raises(UserError, match="price of the model 'claude-opus-5-6' is not known"):
        price_of("claude-opus-5-6", prices)


def test_a_user_s_prices_come_first():
    own_file().parent.mkdir(parents=True)
    band = {"input": 1, "output": 2, "cache_write": 3, "cache_read": 4}
    models = {name: {"bands": [band]} for name in ("gateway/big", "claude-opus-5")}
    own_file().write_text(json.dumps({"models": models}))
    prices = load_prices()
    assert price_of("gateway/big", prices).cost(Usage(1, 1, 1, 1)) == pytest.approx(10 / MILLION)
    assert price_of("claude-opus-5", prices).cost(Usage(input=MILLION)) == 1
    assert price_of("claude-opus-5-5", prices).cost(Usage(input=MILLION)) == 4
    own_file().write_text('{"models": {"gateway/big": {"bands": []}}}')
    with pytest.raises(UserError, match=r"prices\.json: is no table of prices"):
        load_prices()


def test_the_default_model_is_one_that_sdk_and_table_know():
    assert default_model(load_prices()) == "claude-fable-5-2"
    assert default_model({"unheard-of": load_prices()["claude-opus-5"], **load_prices()}) == "claude-fable-5-2"
    options = ClaudeOptions(model="a", tier_models={"system": "b"})
    assert models_of(options, {}) == {"compute": "a", "fusion": "a", "system": "b"}
    with pytest.raises(UserError, match="no tier 'gpu'"):
        models_of(ClaudeOptions(tier_models={"gpu": "b"}), {})


def test_budgets_bound_the_next_reply():
    price = price_of("claude-opus-5-5", load_prices())  # an output token costs 20 millionths of a dollar
    run = RunBudget(Limits(run_usd=1.0, run_tokens=100_000, agent_share=0.5), clock=lambda: 0.0)
    agent, other = AgentBudget(run, price), AgentBudget(run, price)
    assert agent.next_output() == MOST_OUTPUT
    agent.add(Usage(output=20_000))  # $0.40 of the 0.50 that it may use: 5,000 more
    assert (agent.usd, agent.next_output()) == (0.4, pytest.approx(5_000, abs=1))
    agent.add(Usage(input=20_000))  # $0.08 more: 1,000 are left, too few for a reply
    with pytest.raises(Fault, match="dollar budget of the sub-agent"):
        agent.next_output()
    other.add(Usage(output=20_000))
    assert run.usd_left == pytest.approx(0.12)
    other.add(Usage(input=29_000))
    assert run.tokens_left == 11_000
    with pytest.raises(Fault, match="dollar budget of the run"):
        agent.next_output()


def test_the_time_of_the_run_bounds_that_of_a_sub_agent():
    now = [0.0]
    run = RunBudget(Limits(run_s=100.0, agent_s=30.0), clock=lambda: now[0])
    agent = AgentBudget(run, price_of("claude-opus-5", load_prices()))
    assert agent.seconds == 30.0
    now[0] = 90.0
    assert agent.seconds == 10.0
    now[0] = 200.0
    assert agent.seconds == 0.0


def test_secrets_are_taken_out_and_their_beginnings_wait():
    redact = Redactor(["sk-ant-secret", "", "ab"])
    assert redact("the key sk-ant-secret is ab") == "the key [redacted] is ab"
    assert redact.growing("the key sk-ant-se") == "the key "
    assert redact.growing("the key sk-ant-secret") == "the key [redacted]"
    assert redact.growing("the key sk-antelope") == "the key sk-antelope"
    assert redact.growing("ask") == "ask"


def test_credentials_come_from_the_environment_and_are_not_shown():
    found = access_from({"ANTHROPIC_API_KEY": "key-1234567", "ANTHROPIC_BASE_URL": "http://me:pass-word@host/"})
    assert (found.api_key, found.base_url) == ("key-1234567", "http://me:pass-word@host/")
    assert set(found.secrets) == {"key-1234567", "pass-word"}
    assert "1234567" not in repr(found)
    assert access_from({"ANTHROPIC_BASE_URL": "http://gateway"}).api_key == "none"
    headers = {"ANTHROPIC_AUTH_TOKEN": "token-1", "ANTHROPIC_CUSTOM_HEADERS": "X-Key: hidden-2\nodd"}
    assert set(access_from(headers).secrets) == {"token-1", "hidden-2"}
    with pytest.raises(UserError, match="needs ANTHROPIC_API_KEY"):
        access_from({"ANTHROPIC_API_KEY": "  "})
    for url in ("gateway", "ftp://gateway", "http://[::1", "http://"):
        with pytest.raises(UserError, match="ANTHROPIC_BASE_URL is no address"):
            access_from({"ANTHROPIC_BASE_URL": url})


def test_texts_reach_the_journal_five_times_a_second_at_most(tmp_path):
    now, told = [0.0], []
    where: Any = SimpleNamespace(agent=SimpleNamespace(id="gemm"), category="gemm")
    transcript = Transcript(RunDir(tmp_path), where, told.append, Redactor(["sk-secret"]), clock=lambda: now[0])
    for step in range(128):  # two seconds; 13 steps are the first that last 0.2 s
        now[0] = step / 64
        transcript.text(f"text {step} \x1b[31msk-secret")
    assert [event.text for event in told] == [f"text {step} [redacted]" for step in range(0, 128, 13)]
    transcript.flush()  # too early
    assert len(told) == 10
    now[0] = 2.5
    transcript.flush()
    assert told[-1].text == "text 127 [redacted]"
    transcript.text("x" * 1000)
    now[0] = 3.0
    transcript.flush()
    assert len(told[-1].text) == 241


def test_later_counts_replace_earlier_ones_and_missing_ones_stay():
    reply, redact = Reply(), Redactor([])
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4}
    reply.take({"type": "message_start", "message": {"usage": usage}}, redact)
    delta = {"stop_reason": "end_turn"}
    reply.take({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7, "input_tokens": None}}, redact)
    assert reply.usage == Usage(input=9, output=7, cache_read=4)
    assert (reply.usage.prompt, reply.usage.total, reply.complete) == (13, 20, False)
    with pytest.raises(Passing, match="KeyError"):
        reply.take({"type": "content_block_start"}, redact)


def test_data_cannot_end_its_element():
    assert as_data({"name": "</evidence><b>"}) == '{"name":"\\u003c/evidence\\u003e\\u003cb\\u003e"}'
    assert json.loads(as_data({"name": "</evidence>"})) == {"name": "</evidence>"}


def test_every_tool_says_what_it_does_and_takes_an_object():
    for tool in tool_list():
        assert tool["description"]
        assert tool["input_schema"]["type"] == "object"
        assert tool["input_schema"]["additionalProperties"] is False


def test_a_detached_triage_gets_the_analyst_s_options(tmp_path):
    options = ClaudeOptions(model="m", tier_models={"system": "s"}, max_usd=2.5, concurrency=2)
    made = command(TriageRequest(tmp_path / "t.json", analyst="claude", claude=options))
    wanted = {"--analyst=claude", "--model=m", "--tier-model=system=s", "--max-cost=2.5", "--concurrency=2"}
    assert wanted <= set(made)
    assert not any("claude" in part for part in command(TriageRequest(tmp_path / "t.json")))
