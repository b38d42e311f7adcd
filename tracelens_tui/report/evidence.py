"""Prose and its numbers: ``[[id]]`` becomes the value of an evidence item, and nothing else may be a number.

The rule, checked by :func:`bare_numbers`: outside ``[[id]]`` references a digit may stand only in a *name*, that is a
run of letters, digits and underscores that begins with a letter or underscore, joined to the next such run by ``::``,
``.`` or ``-``: ``bf16``, ``MI300X``, ``aten::conv2d``, ``P1``, ``sm_90``; a capitalised one may end in a hyphen and a
version of one or two digits: ``FlashAttention-3``.  Anything else that holds a digit is a bare number: ``37 %``,
``2x``, ``1x1``, ``16-byte``, ``CUDA 12``.  In a code span (between backticks) numbers may also be the
value after ``=`` or stand in round or square brackets, as in ``VLLM_ROCM_USE_AITER=1`` or ``transpose(1, 2)``.  Digits
of other scripts, fractions and superscripts count as digits, and so does a number word before a unit ("forty percent").
"""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import Evidence
from tracelens_tui.text import plain

REFERENCE = re.compile(r"\[\[([a-z][a-z0-9_.-]*)\]\]")
CODE = re.compile(r"`([^`]*)`")

_NAME = re.compile(r"[A-Z]\w*[A-Za-z]-\d{1,2}(?![\w%.,-])(?!\s?%)|[^\W\d]\w*(?:(?:::|[.-])[^\W\d]\w*)*")
_NUMBER = re.compile(r"[-+]?\d[\w.,]*\s?%?")
_SETTING = re.compile(r"=[-+]?\d[\d._]*(?:e[-+]?\d+)?\b")
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_WORDS = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand|million|billion)(?:[\s-]+(?:hundred|thousand|million|billion|and|\w+))?"
    r"[\s-]*(?:%|per\s?cent|fold\b|times\s+(?:faster|slower|more|less|longer|shorter|as)\b|"
    r"(?:nano|micro|milli)?seconds?\b|[nmµμ]s\b|[kmgt]i?b\b|t?flops?\b|(?:kilo|mega|giga|tera)bytes?\b)",
    re.IGNORECASE,
)


def resolve(prose: str, evidence: Iterable[Evidence]) -> str:
    """Return the prose with each ``[[id]]`` replaced by the item's value and unit, as plain text.

    UserError where an id is not among the evidence.
    """
    items = {item.id: item for item in evidence}
    return plain(substituted(prose, items, shown))


def substituted(prose: str, items: Mapping[str, Evidence], show: Callable[[Evidence], str]) -> str:
    """Return the prose with each reference replaced by what ``show`` makes of its item."""

    def replacement(match: re.Match[str]) -> str:
        item = items.get(match[1])
        if item is None:
            raise UserError(f"the text refers to [[{match[1]}]], which is not among its evidence: {plain(prose, 80)}")
        return show(item)

    return REFERENCE.sub(replacement, prose)


def references(prose: str) -> list[str]:
    """Return the ids that the prose refers to, in order, with repetitions."""
    return REFERENCE.findall(prose)


def shown(item: Evidence) -> str:
    """Return the item's value with its unit: ``1,412 calls``, ``12.3 %``; names as plain text."""
    if isinstance(item.value, str):
        return plain(item.value)
    number = number_text(item.value, item.digits)
    separator = "" if item.unit in {"", "x", "×"} else " "
    return f"{number}{separator}{item.unit}"


def number_text(value: float, digits: int) -> str:
    """Return a number with thousands separators; more decimals than asked where it would read as zero."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        raise UserError(f"{value} is not a quantity that can be printed")
    if value and abs(value) < 0.5 * 10.0**-digits:
        digits = min(9, -math.floor(math.log10(abs(value))))
    return f"{value + 0.0:,.{digits}f}"


def bare_numbers(prose: str) -> list[str]:
    """Return the numbers that stand in the prose without evidence; see the module's docstring for the rule."""
    return [found for part in _parts(prose) for found in part]


def malformed_references(prose: str) -> bool:
    """True where double brackets are left once the references are taken out."""
    rest = REFERENCE.sub(" ", CODE.sub(" ", prose))
    return "[[" in rest or "]]" in rest


def _parts(prose: str) -> Iterator[list[str]]:
    text = unicodedata.normalize("NFKC", REFERENCE.sub(" ", prose))
    for index, part in enumerate(CODE.split(text)):  # text and code alternate
        if index % 2:
            yield _numbers(_without_settings(part))
        else:
            yield [*(match[0] for match in _WORDS.finditer(part)), *_numbers(part)]


def _numbers(text: str) -> list[str]:
    rest = _NAME.sub(" ", text)
    return [match[0].strip() for match in _NUMBER.finditer(rest)] or [c for c in rest if c.isnumeric()]


def _without_settings(code: str) -> str:
    """The code without the numbers that are values of settings or stand in brackets."""
    if "%" in code or not _NAME.search(code):
        return code
    rest = _SETTING.sub(" ", code)
    while (peeled := _BRACKETS.sub(" ", rest)) != rest:  # brackets from the inside out
        rest = peeled
    return rest
