"""The end of the report: the trace's defects, and how to make the same report again."""

import shlex
from pathlib import PurePath

from tracelens_tui.report.inputs import Inputs
from tracelens_tui.report.markdown import Md, cell, code
from tracelens_tui.text import byte_count, plain


def quality_rows(inputs: Inputs) -> list[tuple[Md, Md, Md]]:
    """Return what was repaired, dropped, impossible or missing: what, how often, and its effect."""
    return [(cell(row.message), Md(f"{row.count:,}"), cell(row.effect)) for row in inputs.quality]


def repeat_rows(inputs: Inputs) -> list[tuple[Md, Md]]:
    """Return what made the report: the trace, the versions, and the command."""
    run = inputs.run
    return [
        (Md("Trace"), cell(f"{_file(inputs)}, {byte_count(run.trace.size)}, fingerprint {run.trace.fingerprint}")),
        (Md("Analyst"), cell(run.analyst)),
        *((cell(name), cell(version)) for name, version in sorted(run.versions.items())),
        (Md("Command"), code(_command(inputs))),
    ]


def _file(inputs: Inputs) -> str:
    return plain(PurePath(inputs.run.trace.path).name, 200)


def _command(inputs: Inputs) -> str:
    """The command, with the options that change the outcome."""
    options = inputs.run.options
    words = ["tracelens-tui", "triage", _file(inputs)]
    for name in ("platform", "arch", "device"):
        if options.get(name) is not None:
            words += [f"--{name}", plain(str(options[name]), 200)]
    scope = options.get("scope")
    if isinstance(scope, str) and "=" in scope:
        kind, value = scope.split("=", 1)
        words += [f"--{kind}", plain(value, 200)]
    if inputs.run.analyst != "rules":
        words += ["--analyst", inputs.run.analyst]
    return shlex.join(words)
