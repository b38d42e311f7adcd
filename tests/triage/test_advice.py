"""The rule files: form, references, numbers, claims, and that every operation gets some advice."""

import json

import pytest

from tests.triage.making import context, op_facts
from tracelens_tui import resources
from tracelens_tui.report.evidence import bare_numbers, malformed_references
from tracelens_tui.report.findings_check import TITLE_LIMIT
from tracelens_tui.report.forbidden import forbidden_claims
from tracelens_tui.triage import advice
from tracelens_tui.triage.agents import AGENTS
from tracelens_tui.triage.idle_advice import idle_rules
from tracelens_tui.triage.match import applies, subjects
from tracelens_tui.triage.multi_kernel_advice import transfer_rules

COMPUTE = [agent.id for agent in AGENTS if agent.tier == "compute"]
RULES = [rule for agent in COMPUTE for rule in advice.rules_of(agent)] + [*idle_rules(), *transfer_rules()]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_texts_hold_no_number_and_no_claim(rule):
    for text in rule.texts():
        assert bare_numbers(text) == []
        assert forbidden_claims(text) == []
        assert not malformed_references(text)
    assert len(rule.title) < TITLE_LIMIT - len(" (middle band)")
    assert not rule.observation.endswith(".")
    assert all(text.endswith(".") for text in [*rule.action, *rule.reasoning, *rule.resolution, *rule.wrong_when])


@pytest.mark.parametrize("agent", COMPUTE)
@pytest.mark.parametrize("vendor", ["AMD", "NVIDIA", None])
@pytest.mark.parametrize("bound", ["compute", "memory"])
@pytest.mark.parametrize("efficiency", [0.05, 0.45, 0.75, 0.95, None])
def test_every_operation_gets_advice(agent, vendor, bound, efficiency):
    op = op_facts("custom::op", efficiency=efficiency, bound=bound if efficiency else None, kernels=("some_kernel",))
    [subject] = subjects([op], context(vendor=vendor, arch=""))
    assert any(applies(rule.when, subject) for rule in advice.all_rules(agent))


def test_time_without_a_model_falls_to_the_generic_rules():
    assert [rule.id for rule in advice.all_rules("gemm")][-1] == "U-01"
    assert [rule.id for rule in advice.all_rules("generic")].count("U-01") == 1


def rule(**changes):
    texts = {"title": "T", "observation": "o", "action": ["A."], "reasoning": ["R."], "resolution": ["S."]}
    return {"id": "X-01", "grade": "expert", "source": "s", "when": {}, "wrong_when": ["W."], **texts, **changes}


def load(tmp_path, monkeypatch, *rules, agent="some"):
    folder = tmp_path / "some"
    folder.mkdir()
    (folder / "rules.json").write_text(json.dumps({"agent": agent, "rules": list(rules)}))
    monkeypatch.setattr(resources, "SKILLS", tmp_path)
    advice.rules_of.cache_clear()
    return advice.rules_of("some")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([rule(action=["Pad to [[padded]]."])], r"X-01 refers to \[\[padded\]\], which nothing provides"),
        ([rule(), rule()], "X-01 stands twice"),
        ([rule(wrong_when=[])], "wrong_when"),
        ([rule(when={"traits": ["nonsense"]})], "unknown traits"),
        ([rule(when={"op": "("})], "op"),
        ([rule(extra=1)], "extra"),
    ],
)
def test_a_wrong_file_is_told_at_once(tmp_path, monkeypatch, rules, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, monkeypatch, *rules)


def test_a_trait_provides_its_facts(tmp_path, monkeypatch):
    [loaded] = load(tmp_path, monkeypatch, rule(action=["Pad to [[padded]]."], when={"traits": ["misaligned"]}))
    assert advice.qualified(loaded.action[0], loaded) == "Pad to [[x-01.padded]]."


def test_a_file_of_another_agent_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="it is the file of other"):
        load(tmp_path, monkeypatch, rule(), agent="other")


@pytest.fixture(autouse=True)
def fresh():
    """No rule file of another test is remembered."""
    yield
    advice.rules_of.cache_clear()
