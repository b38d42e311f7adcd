"""What Claude hands in, and what becomes of it: words are Claude's, every number is the evidence's.

A submission speaks of *candidates*, the findings that the rules made of the same evidence.  Each one must appear: as a
finding of its own, merged into another, or rejected with a reason.  Impact, operations, bound, library and tables are
taken over from the candidates; an added finding gets them from the rows of the metrics that it names.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError

from tracelens_tui.claude.evidence import Pool
from tracelens_tui.run.category_files import ImpactEstimate
from tracelens_tui.run.findings import Confidence, Finding, FindingsFile, Impact, Operation, Schema, SetAside
from tracelens_tui.text import plain
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.compute_common import cited
from tracelens_tui.triage.impact import MIN_MID, UNKNOWN

Prose = Annotated[str, Field(min_length=1, max_length=2000)]
_SHOWN = 20  # problems in one answer
_LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")


class Submitted(Schema):
    """One finding in Claude's words.  Quantities are references such as [[all.time]]; no digits anywhere else."""

    candidate: str | None = Field(
        default=None, description="id of the candidate that this finding is about; null for a finding that you add"
    )
    merges: list[str] = Field(default=[], description="ids of other candidates that this finding takes in (compute)")
    rows: list[int] = Field(default=[], description="only for a finding that you add: rows of its operations")
    title: Annotated[str, Field(min_length=1, max_length=120)]
    insight: Prose = Field(description="one sentence: what is wrong, with its size")
    action: Prose = Field(description="one or two sentences: what to do")
    identification: Prose
    reasoning: Prose
    resolution: Prose
    confidence: Confidence
    caveats: list[Prose] = Field(default=[], max_length=6)


class Rejected(Schema):
    """A candidate that is not worth a finding, and why."""

    candidate: str
    reason: Prose


class Submission(Schema):
    """All findings of the category, most important first, and the candidates that were set aside."""

    findings: Annotated[list[Submitted], Field(max_length=40)]
    rejected: list[Rejected] = Field(default=[], max_length=40)


class Refused(Exception):
    """A submission that is not accepted: one line for each fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        more = [f"- and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("\n".join([*(f"- {problem}" for problem in problems[:_SHOWN]), *more]))
        self.problems = tuple(problems)


def read_submission(arguments: Mapping[str, object]) -> Submission:
    """Return the submission; raises Refused with the place of each fault of its form."""
    try:
        return Submission.model_validate(arguments)
    except ValidationError as error:
        raise Refused(
            tuple(
                f"{'.'.join(str(part) for part in one['loc']) or 'the submission'}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)
            )
        ) from None


def findings_of(submission: Submission, assignment: Assignment, rules: FindingsFile, pool: Pool) -> FindingsFile:
    """Return the findings file that a submission makes; raises Refused where it does not fit the candidates."""
    candidates = {finding.id: finding for finding in rules.findings}
    problems = tuple(_coverage(submission, candidates)) + tuple(_additions(submission, assignment, candidates))
    if problems:
        raise Refused(problems)
    numbers = iter(range(1, 1 + len(candidates) + len(submission.findings)))
    fresh = (name for number in numbers if (name := f"{assignment.category}-{number}") not in candidates)
    findings = [
        _added(one, next(fresh), assignment, pool) if one.candidate is None else _taken(one, candidates, pool)
        for one in submission.findings
    ]
    return rules.model_copy(
        update={
            "analyst": "claude",
            "findings": findings,
            "set_aside": [_set_aside(one, candidates[one.candidate], pool) for one in submission.rejected],
        }
    )


def _coverage(submission: Submission, candidates: Mapping[str, Finding]) -> Iterator[str]:
    """Whether each candidate has exactly one place."""
    named = [
        *(one.candidate for one in submission.findings if one.candidate is not None),
        *(name for one in submission.findings for name in one.merges),
        *(one.candidate for one in submission.rejected),
    ]
    for name, count in Counter(named).items():
        if name not in candidates:
            yield f"there is no candidate {plain(name, 60)!r}; there are {', '.join(candidates)}"
        elif count > 1:
            yield f"candidate {name} appears {count} times; it must appear once: as a finding, merged or rejected"
    for name in candidates:
        if name not in named:
            yield f"candidate {name} is missing: make it a finding, merge it into another, or reject it with a reason"
    yield from _misuse(submission, candidates)


def _misuse(submission: Submission, candidates: Mapping[str, Finding]) -> Iterator[str]:
    """Whether findings merge and name rows only where they may."""
    for one in submission.findings:
        base = candidates.get(one.candidate) if one.candidate is not None else None
        where = one.candidate or f"the added finding {plain(one.title, 60)!r}"
        if one.merges and (base is None or base.tier != "compute"):
            yield f"{where}: only a compute candidate can take in others"
        if one.rows and one.candidate is not None:
            yield f"{where}: rows are for findings that you add; a candidate keeps its own"


def _additions(submission: Submission, assignment: Assignment, candidates: Mapping[str, Finding]) -> Iterator[str]:
    """Whether the added findings have operations that nobody else speaks of and something to win."""
    named = (name for one in submission.findings for name in (one.candidate, *one.merges) if name is not None)
    kept = [name for name in named if name in candidates]
    taken = {operation.row for name in kept for operation in candidates[name].operations}
    known = {op.view.row for op in assignment.ops}
    for one in submission.findings:
        if one.candidate is not None:
            continue
        where = f"the added finding {plain(one.title, 60)!r}"
        if assignment.metrics is None:
            yield f"{where}: findings can be added to compute categories only"
        elif not one.rows:
            yield f"{where}: names no rows; give the rows of its operations"
        for row in dict.fromkeys(one.rows):
            if row not in known:
                yield f"{where}: row {row} is no operation of {assignment.category}"
            elif row in taken:
                yield f"{where}: the operation of row {row} belongs to another finding; no time counts twice"
        mid = _impact_of_rows(one.rows, assignment).mid
        if mid is not None and mid < MIN_MID:
            yield f"{where}: its operations can win too little of the window for a finding"
        taken |= set(one.rows)


def _taken(one: Submitted, candidates: Mapping[str, Finding], pool: Pool) -> Finding:
    """A candidate, or several in one, in Claude's words."""
    base = candidates[str(one.candidate)]
    others = [candidates[name] for name in one.merges]
    merged: dict[str, object] = {}
    if others:
        every = [base, *others]
        merged = {
            "impact": _sum([finding.impact for finding in every]),
            "operations": _unique(operation for finding in every for operation in finding.operations),
            "bound": base.bound if len({finding.bound for finding in every}) == 1 else "unknown",
            "library": base.library if len({finding.library for finding in every}) == 1 else None,
        }
    confidence = min((one.confidence, *_ceilings([base, *others])), key=_LEVELS.index)
    return _worded(base.model_copy(update=merged), one, confidence, pool)


def _ceilings(findings: Sequence[Finding]) -> list[Confidence]:
    """What limits the confidence: data that needs a warning first made the rules' own low."""
    return ["low" for finding in findings if finding.confidence == "low"]


def _added(one: Submitted, name: str, assignment: Assignment, pool: Pool) -> Finding:
    """A finding of Claude's own about operations that no candidate speaks of."""
    by_row = {op.view.row: op for op in assignment.ops}
    members = [by_row[row] for row in dict.fromkeys(one.rows)]
    bounds = {op.view.bound or "unknown" for op in members}
    libraries = {op.library for op in members}
    finding = Finding(
        id=name,
        agent=assignment.agent.id,
        analyst="claude",
        tier=assignment.agent.tier,
        category=assignment.category,
        title="-",
        library=libraries.pop() if len(libraries) == 1 else None,
        bound=members[0].view.bound or "unknown" if len(bounds) == 1 else "unknown",
        confidence="low",
        impact=_impact_of_rows(one.rows, assignment),
        operations=[op.view for op in members],
        insight="-",
        action="-",
        identification="-",
        reasoning="-",
        resolution="-",
        evidence=[],
    )
    ranged = assignment.run.gated or any(op.ranged for op in members)
    return _worded(finding, one, "low" if ranged else min((one.confidence, "medium"), key=_LEVELS.index), pool)


def _worded(finding: Finding, one: Submitted, confidence: Confidence, pool: Pool) -> Finding:
    """The finding with Claude's words and the evidence that they refer to."""
    worded = finding.model_copy(
        update={
            "analyst": "claude",
            "title": one.title.strip(),
            "insight": one.insight.strip(),
            "action": one.action.strip(),
            "identification": one.identification.strip(),
            "reasoning": one.reasoning.strip(),
            "resolution": one.resolution.strip(),
            "caveats": [text.strip() for text in one.caveats],
            "confidence": confidence,
            "evidence": pool.of(finding.id),
        }
    )
    return cited(worded)


def _set_aside(one: Rejected, finding: Finding, pool: Pool) -> SetAside:
    return SetAside(finding=finding, reason=one.reason.strip(), evidence=pool.cited(finding.id, one.reason))


def _impact_of_rows(rows: Sequence[int], assignment: Assignment) -> Impact:
    """The sum of what the operations can win, as the category's metrics have it."""
    found: Sequence[ImpactEstimate] = assignment.metrics.impact_estimates if assignment.metrics else ()
    own = [one for one in found if one.row in set(rows)]
    rated = any(op.surest is not None and op.surest <= 1 for op in assignment.ops if op.view.row in set(rows))
    if not own and not rated:
        return UNKNOWN
    return Impact(
        low=math.fsum(one.impact_score_low for one in own),
        mid=math.fsum(one.impact_score for one in own),
        high=math.fsum(one.impact_score_high for one in own),
    )


def _sum(impacts: Sequence[Impact]) -> Impact:
    """The impacts together; those that cannot be computed add nothing."""
    known = [impact for impact in impacts if impact.mid is not None]
    if not known:
        return UNKNOWN
    return Impact(
        low=math.fsum(impact.low or 0.0 for impact in known),
        mid=math.fsum(impact.mid or 0.0 for impact in known),
        high=math.fsum(impact.high or 0.0 for impact in known),
    )


def _unique(operations: Iterator[Operation]) -> list[Operation]:
    return list({operation.row: operation for operation in operations}.values())
