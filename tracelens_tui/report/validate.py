"""Is a run directory what it claims to be?  Form and every value, from the report back to the tables."""

from pathlib import Path

from tracelens_tui import __version__
from tracelens_tui.errors import UserError
from tracelens_tui.report.check_equal import same_text
from tracelens_tui.report.check_sources import source_problems
from tracelens_tui.report.check_structure import structure_problems
from tracelens_tui.report.check_values import value_problems
from tracelens_tui.report.document import Document
from tracelens_tui.report.inputs import Inputs, read_inputs
from tracelens_tui.report.machine import report_json
from tracelens_tui.report.render import report_markdown
from tracelens_tui.run.analysis_file import AnalysisJson
from tracelens_tui.run.store import CHART, REPORT, REPORT_JSON, RunDir

PROGRAM = "tracelens-tui"
_SHOWN_LINES = 20


def validate_run(path: Path) -> list[str]:
    """Return the problems of a run and its report, one line each; [] for a valid one.

    UserError where the path is no run directory.
    """
    if not path.is_dir():
        raise UserError(f"{path}: there is no such run directory")
    run = RunDir(path)
    info = run.info
    problems = _changed_files(run)
    try:
        inputs = read_inputs(run)
    except UserError as error:
        return [*problems, str(error)]
    problems += source_problems(run, inputs)
    if not run.exists(REPORT):
        return [*problems, f"{REPORT}: the file is missing"]
    try:
        text = run.report.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [*problems, f"{REPORT}: cannot be read: {error}"]
    problems += _report_problems(text, inputs, run, same_program=info.versions.get(PROGRAM) == __version__)
    return problems + _machine_problems(run, inputs)


def _changed_files(run: RunDir) -> list[str]:
    return [
        f"{name}: " + ("changed since it was finished" if run.exists(name) else "the file is missing")
        for name in run.info.files
        if not run.finished(name)
    ]


def _report_problems(text: str, inputs: Inputs, run: RunDir, *, same_program: bool) -> list[str]:
    """The report's form, then its values, then, where this very program wrote it, every character."""
    document = Document(text)
    problems = structure_problems(document)
    try:
        if not problems:
            problems = value_problems(document, inputs)
        if not problems and same_program:
            problems = differences(text, report_markdown(inputs, chart=run.exists(CHART)))
    except UserError as error:  # a finding's text refers to evidence that it has not
        problems = [f"cannot be compared with the findings: {error}"]
    return [f"{REPORT}: {problem}" for problem in problems]


def differences(text: str, wanted: str) -> list[str]:
    """Return the lines in which a text is not the wanted one."""
    found, expected = text.split("\n"), wanted.split("\n")
    lines = [
        problem
        for number, (line, other) in enumerate(zip(found, expected, strict=False), 1)
        for problem in same_text(f"line {number}", line, other)
    ]
    if not lines and len(found) != len(expected):
        return [f"has {len(found)} lines, its sources give {len(expected)}"]
    return lines[:_SHOWN_LINES]


def _machine_problems(run: RunDir, inputs: Inputs) -> list[str]:
    """``analysis.json`` against the same sources."""
    if not run.exists(REPORT_JSON):
        return [f"{REPORT_JSON}: the file is missing"]
    try:
        found = run.read_json(REPORT_JSON, AnalysisJson).model_dump()
    except UserError as error:
        return [str(error)]
    try:
        wanted = report_json(inputs).model_dump()
    except UserError as error:
        return [f"{REPORT_JSON}: cannot be compared with the findings: {error}"]
    return [f"{REPORT_JSON}: {problem}" for problem in unequal("", found, wanted)]


def unequal(place: str, found: object, wanted: object) -> list[str]:
    """Return the places where two JSON documents differ, as paths with both values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return [p for key in wanted for p in unequal(f"{place}.{key}", found.get(key), wanted[key])]
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [p for i, (a, b) in enumerate(zip(found, wanted, strict=True)) for p in unequal(f"{place}[{i}]", a, b)]
    if found != wanted:
        return [f"{place.lstrip('.')} is {found!r}, its sources give {wanted!r}"]
    return []
