"""Advice as data: the rules in ``skills/<agent>/rules.json`` and the conditions that select them.

A rule's texts never hold a quantity (the tests see to that).  They refer to quantities as ``[[name]]``: facts of the
matched operations, facts that a trait provides, or constants that the rule declares with their source.  A name that
nothing provides is an error when the rules are loaded, not when a report is written.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tracelens_tui import resources
from tracelens_tui.run.findings import Confidence
from tracelens_tui.triage.traits import TRAITS

REFERENCE = re.compile(r"\[\[([a-z][a-z0-9_.-]*)\]\]")

MATCH_FACTS = (
    "time",
    "share",
    "efficiency",
    "calls",
    "shapes",
    "op",
    "args",
    "kernel",
    "library",
    "precision",
    "mean",
    "floor",
    "intensity",
    "best",
    "platform",
)
"""Facts of the operations that a rule matched; see ``compute_common.match_facts``."""

Sentences = list[str]


def checked_pattern(text: str | None) -> str | None:
    """Return the text of a regular expression; raises ValueError where it is none."""
    try:
        re.compile(text or "")
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


class Data(BaseModel):
    """Base of the advice files: unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(Data):
    """A closed interval; an open end is left out."""

    min: float = float("-inf")
    max: float = float("inf")

    def holds(self, value: float | None) -> bool:
        """True where the value is known and inside."""
        return value is not None and self.min <= value <= self.max


class KernelShare(Data):
    """Kernels whose name matches take at least this share of the op's kernel time."""

    pattern: str
    min_percent: float


class When(Data):
    """The condition of a rule on one operation: every field that is given must hold."""

    vendor: Literal["AMD", "NVIDIA"] | None = None
    arch: list[str] = []  # one of these platform architectures
    modelled: bool | None = None  # a roofline is known
    bound: Literal["compute", "memory"] | None = None
    library: list[str] = []
    precision: list[str] = []
    category: list[str] = []
    op: str | None = None  # searched in the op's name
    kernel: str | None = None  # searched in the names of its kernels
    no_kernel: str | None = None
    kernel_share: KernelShare | None = None
    efficiency: Range | None = None  # %
    calls: Range | None = None
    mean_us: Range | None = None  # kernel time of one call
    roof_us: Range | None = None  # least time of one call
    mib: Range | None = None  # modelled traffic of one call
    share: Range | None = None  # % of the window
    params: dict[str, Range] = {}
    traits: list[str] = []
    sibling: Range | None = None  # best efficiency among siblings over the op's own
    best: Range | None = None  # that best efficiency, in %
    training: bool | None = None

    @field_validator("op", "kernel", "no_kernel")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        return checked_pattern(pattern)

    @field_validator("traits")
    @classmethod
    def _known(cls, traits: list[str]) -> list[str]:
        unknown = set(traits) - set(TRAITS)
        if unknown:
            raise ValueError(f"unknown traits: {sorted(unknown)}")
        return traits


class Constant(Data):
    """A quantity that a rule's text states, with where it is known from."""

    value: float | int | str
    unit: str = ""
    digits: int = 0
    label: str
    source: str


class RuleText(Data):
    """One piece of advice: what to say, what it rests on, and when it would be wrong."""

    id: Annotated[str, Field(pattern=r"^[A-Z]+-[0-9]{2}[a-z]?$")]
    grade: Literal["cited", "measured", "expert"]  # best ground of the advice
    source: str  # what the advice rests on
    title: str
    observation: str  # a clause that ends the insight
    action: Sentences
    reasoning: Sentences
    resolution: Sentences
    wrong_when: Annotated[Sentences, Field(min_length=1)]
    constants: dict[str, Constant] = {}
    max_confidence: Confidence = "high"

    @property
    def slug(self) -> str:
        """The rule's id as it begins the ids of its evidence."""
        return self.id.lower()

    def texts(self) -> list[str]:
        """Return every text that may hold references."""
        return [self.title, self.observation, *self.action, *self.reasoning, *self.resolution, *self.wrong_when]

    def provided(self) -> set[str]:
        """Return the names that the texts may refer to."""
        return set(self.constants)


class Rule(RuleText):
    """Advice on operations."""

    when: When
    general: bool = False  # for what nothing more specific explains: comes after the rules that all share
    shared: bool = False  # a generic rule that every compute sub-agent has too

    def provided(self) -> set[str]:
        """Return the names that the texts may refer to."""
        return {*MATCH_FACTS, *self.constants, *(name for trait in self.when.traits for name in TRAITS[trait].provides)}


AnyRule = TypeVar("AnyRule", bound=RuleText)


class RuleBook(Data, Generic[AnyRule]):
    """The rules of one sub-agent; the first that applies wins."""

    agent: str
    rules: list[AnyRule]


@cache
def rules_of(agent: str) -> tuple[Rule, ...]:
    """Return the checked rules of a compute sub-agent, in order; raises ValueError where the file is wrong."""
    return checked_rules(agent, RuleBook[Rule])


def checked_rules(agent: str, schema: type[RuleBook[AnyRule]]) -> tuple[AnyRule, ...]:
    """Return the rules of a sub-agent's file, in order; raises ValueError where the file is wrong."""
    path = resources.SKILLS / agent / "rules.json"
    try:
        book = schema.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path} is no valid rule file: {error}") from error
    problems = [problem for rule in book.rules for problem in _problems(rule)]
    ids = [rule.id for rule in book.rules]
    problems += [f"{one} stands twice" for one in sorted({one for one in ids if ids.count(one) > 1})]
    if book.agent != agent:
        problems.append(f"it is the file of {book.agent}")
    if problems:
        raise ValueError(f"{path}: " + "; ".join(problems))
    return tuple(book.rules)


def all_rules(agent: str) -> tuple[Rule, ...]:
    """Return the agent's rules in order: its specific ones, those that all share, its general ones.

    Rules on time without a model come last.
    """
    own = rules_of(agent)
    known = {rule.id for rule in own}
    others = [rule for rule in rules_of("generic") if rule.id not in known]
    shared = [rule for rule in others if rule.shared]
    return (
        *(rule for rule in own if not rule.general),
        *(rule for rule in shared if not rule.general),
        *(rule for rule in own if rule.general),
        *(rule for rule in shared if rule.general),
    )


def qualified(text: str, rule: RuleText) -> str:
    """Return the text with its references turned into evidence ids: ``[[time]]`` -> ``[[g-01.time]]``."""
    return REFERENCE.sub(lambda match: f"[[{rule.slug}.{match.group(1)}]]", text)


def references(texts: Iterable[str]) -> list[str]:
    """Return the names that the texts refer to, each once, in order."""
    return list(dict.fromkeys(name for text in texts for name in REFERENCE.findall(text)))


def _problems(rule: RuleText) -> list[str]:
    """What is wrong with a rule beyond its form."""
    names = rule.provided()
    missing = [name for name in references(rule.texts()) if name not in names]
    return [f"{rule.id} refers to [[{name}]], which nothing provides" for name in missing]
