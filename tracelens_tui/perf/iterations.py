"""What the name of a serving iteration says about its batch.

vLLM, SGLang and ATOM mark each iteration with an annotation.  The detailed spelling gives, for the requests in prefill
(context) and those in decode (generation), sums over the requests: ``sq`` of query tokens, ``sk`` of key tokens,
``sqsq`` of sq², ``sqsk`` of sq·sk.  The plain spelling gives only how many query tokens there are.
"""

import re
from dataclasses import dataclass

_LONGEST = 1024
_NUMBER = r"\D{0,3}(\d{1,18})"
_SUMS = re.compile(rf"sq{_NUMBER}\D*?sk{_NUMBER}\D*?sqsq{_NUMBER}\D*?sqsk{_NUMBER}")
_VLLM = re.compile(r"^execute_(?:\w*?_)?context_(\d{1,9})\(([^()]*)\)_generation_(\d{1,9})\(([^()]*)\)")
_KEYED = re.compile(r"\b([cg])_(sqsq|sqsk|sq|sk)=(\d{1,18})")
_SGLANG = re.compile(r"^step\[(EXTEND|DECODE|MIXED|TARGET_VERIFY|IDLE)\b([^\]]*)\]")
_ATOM = re.compile(r"^(prefill|decode)\[([^\]]*)\]")
_TOKENS = re.compile(r"\b(?:toks|tokens|tok)=(\d{1,18})")
_REQUESTS = re.compile(r"\bbs=(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of an iteration that are in one phase; the sums are None where the name does not give them."""

    sq: int  # query tokens
    sk: int | None = None  # key tokens
    sqsq: int | None = None  # sum of squares of the query tokens
    sqsk: int | None = None  # sum of query times key tokens


_NOTHING = Requests(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a serving engine."""

    context: Requests
    generation: Requests

    @property
    def tokens(self) -> int:
        """Tokens that go through the model."""
        return self.context.sq + self.generation.sq


def iteration_of(name: str) -> Iteration | None:
    """Return what an annotation says about its batch, None for any other name."""
    text = name[:_LONGEST]
    for reader in (_vllm, _sglang, _atom):
        found = reader(text)
        if found is not None:
            return found
    return None


def _vllm(text: str) -> Iteration | None:
    """``execute_[…_]context_<requests>(…)_generation_<requests>(…)``."""
    found = _VLLM.search(text)
    if found is None:
        return None
    context, generation = _requests(found[1], found[2]), _requests(found[3], found[4])
    return None if context is None or generation is None else Iteration(context, generation)


def _requests(count: str, inside: str) -> Requests | None:
    """The sums in the brackets, else the first number: tokens."""
    if int(count) == 0:
        return _NOTHING
    sums = _SUMS.search(inside)
    if sums is not None:
        return Requests(*(int(number) for number in sums.groups()))
    tokens = re.match(r"\s*(\d{1,18})", inside)
    return None if tokens is None else Requests(int(tokens[1]))


def _sglang(text: str) -> Iteration | None:
    """``step[DECODE bs=32 …]``, in detail with ``c_sq=… c_sk=… … g_sq=…``."""
    found = _SGLANG.search(text)
    return None if found is None else _phases(found[2], decode=found[1] == "DECODE")


def _atom(text: str) -> Iteration | None:
    """``prefill[bs=… tok=…]`` or ``decode[…]``."""
    found = _ATOM.search(text)
    return None if found is None else _phases(found[2], decode=found[1] == "decode")


def _phases(inside: str, *, decode: bool) -> Iteration | None:
    sums = {(phase, name): int(number) for phase, name, number in _KEYED.findall(inside)}
    if sums:
        return Iteration(_keyed(sums, "c"), _keyed(sums, "g"))
    tokens = _TOKENS.search(inside) or (_REQUESTS.search(inside) if decode else None)
    if tokens is None:
        return None
    requests = Requests(int(tokens[1]))
    return Iteration(_NOTHING, requests) if decode else Iteration(requests, _NOTHING)


def _keyed(sums: dict[tuple[str, str], int], phase: str) -> Requests:
    """The sums of one phase; a phase that is not mentioned has no requests."""
    if not any(key[0] == phase for key in sums) or sums.get((phase, "sq")) == 0:
        return _NOTHING
    return Requests(
        sums.get((phase, "sq"), 0), sums.get((phase, "sk")), sums.get((phase, "sqsq")), sums.get((phase, "sqsk"))
    )
