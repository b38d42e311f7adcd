"""Which rule applies to an operation: the first of its agent whose condition holds."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tracelens_tui.triage.advice import When
from tracelens_tui.triage.facts import OpFacts, RunContext
from tracelens_tui.triage.traits import Facts, traits_of

SIBLING_SIZE = 4.0
"""Ops are compared with those of at most this many times more or less work."""


@dataclass(frozen=True, slots=True)
class Subject:
    """An operation with what was found out about it."""

    op: OpFacts
    run: RunContext
    traits: Mapping[str, Facts]
    best: OpFacts | None  # the most efficient similar op of the category, if it beats this one


def subjects(ops: Sequence[OpFacts], run: RunContext) -> list[Subject]:
    """Return the operations of a category with their traits and their best siblings."""
    best = best_siblings(ops)
    return [Subject(op, run, traits_of(op, run), best.get(op.view.row)) for op in ops]


def best_siblings(ops: Sequence[OpFacts]) -> dict[int, OpFacts]:
    """Return for each row the most efficient op of the same library, precision, bound and similar size that beats it.

    Size is the least time of a call; an efficiency above the roof cannot be believed and counts for nothing.
    """
    groups: dict[tuple[str | None, ...], list[OpFacts]] = {}
    for op in ops:
        if op.roof_us and op.surest:
            groups.setdefault((op.library, op.precision, op.view.bound), []).append(op)
    return {row: best for group in groups.values() for row, best in _best_in(group)}


def _best_in(group: list[OpFacts]) -> Iterator[tuple[int, OpFacts]]:
    group = sorted(group, key=lambda op: (op.roof_us or 0.0, op.view.row))
    size = np.array([op.roof_us for op in group])
    rate = np.array([_rate(op) for op in group])
    low = np.searchsorted(size, size / SIBLING_SIZE, "left")
    high = np.searchsorted(size, size * SIBLING_SIZE, "right")
    for op, first, last in zip(group, low.tolist(), high.tolist(), strict=True):
        place = first + int(rate[first:last].argmax())
        if rate[place] > (op.surest or 0.0):
            yield op.view.row, group[place]


def applies(when: When, subject: Subject) -> bool:
    """True where every condition that is given holds for the operation."""
    return all(check(when, subject) for check in _CHECKS)


def _rate(op: OpFacts) -> float:
    """The efficiency as far as it can be believed: above the roof counts for nothing."""
    return op.surest if op.surest is not None and op.surest <= 1 else 0.0


def _run(when: When, subject: Subject) -> bool:
    run = subject.run
    return (
        when.vendor in (None, run.vendor)
        and (not when.arch or run.arch in when.arch)
        and when.training in (None, run.training)
    )


def _kind(when: When, subject: Subject) -> bool:
    op = subject.op
    return (
        when.modelled in (None, op.efficiency is not None)
        and when.bound in (None, op.view.bound)
        and (not when.library or op.library in when.library)
        and (not when.precision or op.precision in when.precision)
        and (not when.category or op.category in when.category)
    )


def _names(when: When, subject: Subject) -> bool:
    op = subject.op
    kernels = [kernel.name for kernel in op.kernels]
    return (
        (when.op is None or _found(when.op, [op.name]))
        and (when.kernel is None or _found(when.kernel, kernels))
        and (when.no_kernel is None or not _found(when.no_kernel, kernels))
        and (
            when.kernel_share is None or _kernel_percent(op, when.kernel_share.pattern) >= when.kernel_share.min_percent
        )
    )


def _sizes(when: When, subject: Subject) -> bool:
    op = subject.op
    percent = op.view.surest_percent
    pairs = (
        (when.efficiency, percent),
        (when.calls, float(op.view.count)),
        (when.mean_us, op.mean_us),
        (when.roof_us, op.roof_us),
        (when.mib, op.mib),
        (when.share, op.view.percent_of_window),
    )
    return all(wanted is None or wanted.holds(value) for wanted, value in pairs) and all(
        wanted.holds(op.param(name)) for name, wanted in when.params.items()
    )


def _contrast(when: When, subject: Subject) -> bool:
    own, best = subject.op.surest, subject.best
    ratio = _rate(best) / own if best is not None and own else None
    percent = 100 * _rate(best) if best is not None else None
    return (when.sibling is None or when.sibling.holds(ratio)) and (when.best is None or when.best.holds(percent))


def _traits(when: When, subject: Subject) -> bool:
    return all(name in subject.traits for name in when.traits)


_CHECKS: tuple[Callable[[When, Subject], bool], ...] = (_kind, _sizes, _run, _traits, _contrast, _names)


def _kernel_percent(op: OpFacts, pattern: str) -> float:
    """Share of the op's kernel time in kernels whose name matches, in %."""
    total = sum(kernel.time_ms for kernel in op.kernels)
    found = sum(kernel.time_ms for kernel in op.kernels if _compiled(pattern).search(kernel.name))
    return 100 * found / total if total else 0.0


def _found(pattern: str, names: Sequence[str]) -> bool:
    return any(_compiled(pattern).search(name) for name in names)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
