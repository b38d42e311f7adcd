"""The five options that choose a part of the trace, for every command that reads one."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import typer

from tracelens_tui.trace.scope import KINDS, Scope, ScopeKind

Result = TypeVar("Result")

_HELP: dict[ScopeKind, tuple[str, str]] = {
    "step": ("N", "Only ProfilerStep#N."),
    "steps": ("A-B", "Only the steps A to B, both included."),
    "annotation": ("NAME", "Only the annotations of that name, or of names that match such as 'forward*'."),
    "time": ("A-B", "Only what starts in that time after the window's start, such as 300-450 (ms) or 1.2s-1.5s."),
    "node": ("UID", "Only the event at that position in the file and what lies below it."),
}


def scope_options(command: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command the five options instead of its keyword parameter ``scope``, a Scope or None.

    UserError where two options are given or one has a value that it cannot have.
    """

    @wraps(command)
    def with_scope(*args: Any, **given: Any) -> Result:  # noqa: ANN401 - the command's own parameters
        values: dict[ScopeKind, str | None] = {kind: given.pop(kind) for kind in KINDS}
        return command(*args, **given, scope=Scope.of_options(values))

    own = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "scope"]
    added = [_parameter(kind) for kind in KINDS]
    with_scope.__signature__ = inspect.Signature([*own, *added])  # pyright: ignore[reportAttributeAccessIssue]
    return with_scope


def _parameter(kind: ScopeKind) -> inspect.Parameter:
    metavar, text = _HELP[kind]
    option = typer.Option(f"--{kind}", metavar=metavar, help=text)
    return inspect.Parameter(
        kind, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )
