"""The tools of a conversation: their schemas for the API, and running a call on checked arguments."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from tracelens_tui.claude.evidence import Pool
from tracelens_tui.claude.queries import (
    OperationDetails,
    QueryKernels,
    QueryOperations,
    operation_details,
    query_kernels,
    query_operations,
)
from tracelens_tui.claude.submission import Submission
from tracelens_tui.claude.what_if import RooflineWhatIf, WhatIfs
from tracelens_tui.errors import UserError
from tracelens_tui.run.store import RunDir
from tracelens_tui.text import clip, plain
from tracelens_tui.triage.assignment import Assignment

SUBMIT = "submit_findings"
ANSWER_LIMIT = 24_000
"""Characters of one answer."""

_TOOLS: Mapping[str, type[BaseModel]] = {
    "query_operations": QueryOperations,
    "query_kernels": QueryKernels,
    "operation_details": OperationDetails,
    "roofline_what_if": RooflineWhatIf,
    SUBMIT: Submission,
}


class ToolError(Exception):
    """A call that cannot be answered; the message is for the model."""


class Tools:
    """Answers the questions of one conversation."""

    def __init__(self, run: RunDir, assignment: Assignment, pool: Pool) -> None:
        self._assignment = assignment
        self._pool = pool
        self._what_ifs = WhatIfs(run, assignment)

    def answer(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the answer as JSON text that is data; raises ToolError for what cannot be answered."""
        schema = _TOOLS.get(name)
        if schema is None or name == SUBMIT:
            raise ToolError(f"there is no tool {plain(name, 60)!r}; there are {', '.join(_TOOLS)}")
        try:
            return clip(as_data(self._answer(schema.model_validate(arguments))), ANSWER_LIMIT)
        except ValidationError as error:
            raise ToolError(_faults(error)) from None
        except UserError as error:
            raise ToolError(str(error)) from None

    def _answer(self, asked: BaseModel) -> object:
        match asked:
            case QueryOperations():
                return query_operations(self._assignment, asked)
            case QueryKernels():
                return query_kernels(self._assignment, asked)
            case OperationDetails():
                return operation_details(self._assignment, asked)
            case RooflineWhatIf():
                answer, evidence = self._what_ifs.ask(asked)
                self._pool.add(evidence)
                return answer
            case _:
                raise TypeError(type(asked))


def tool_list() -> list[dict[str, Any]]:
    """Return the tools as the API takes them; the same for every sub-agent, so that they are cached once."""
    return [
        {"name": name, "description": (schema.__doc__ or "").strip(), "input_schema": schema.model_json_schema()}
        for name, schema in _TOOLS.items()
    ]


def as_data(value: object) -> str:
    """Return JSON in which no text can end the element around it: ``<`` and ``>`` are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found[:10])
