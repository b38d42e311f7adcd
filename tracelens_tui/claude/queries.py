"""What the tools answer: bounded questions about the category, from the files of the run directory only."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field, JsonValue

from tracelens_tui.claude.evidence import operation_ids
from tracelens_tui.errors import UserError
from tracelens_tui.run.findings import Schema
from tracelens_tui.text import plain
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.facts import OpFacts

Answer = dict[str, JsonValue]

NAME_LIMIT = 160
_KERNELS_OF_ONE = 12
_CHAIN = 12

Limit = Field(default=10, ge=1, le=25, description="how many to return")


class QueryOperations(Schema):
    """The operations of the category: filtered, sorted, the first few.  Ids in the answer may be cited."""

    sort_by: Literal["time", "calls", "share", "efficiency", "gap"] = "time"
    ascending: bool = False
    name_contains: str = Field(default="", max_length=100)
    bound: Literal["compute", "memory"] | None = None
    min_share: float = Field(default=0.0, ge=0, le=100, description="least share of the window in %")
    limit: int = Limit


class QueryKernels(Schema):
    """The kernels of the category over all of its operations: filtered, sorted, the first few."""

    sort_by: Literal["time", "calls"] = "time"
    name_contains: str = Field(default="", max_length=100)
    limit: int = Limit


class OperationDetails(Schema):
    """All that is recorded of one operation: shapes, strides, parameters, kernels, call chain, spread of its calls."""

    row: int


def query_operations(assignment: Assignment, asked: QueryOperations) -> Answer:
    """Return the operations that were asked for, with the ids under which their quantities may be cited."""
    if assignment.metrics is None:
        raise UserError("a system category has no operations: its evidence is all there is")
    wanted = asked.name_contains.lower()
    facts = {op.view.row: op for op in assignment.ops}
    found = [
        one
        for one in assignment.metrics.operations
        if wanted in one.name.lower()
        and (asked.bound is None or one.efficiency.bound_type == asked.bound)
        and (one.percent_of_total or 0.0) >= asked.min_share
    ]
    keys: Mapping[str, Callable[[OpFacts], float | None]] = {
        "time": lambda op: op.view.time_ms,
        "calls": lambda op: op.view.count,
        "share": lambda op: op.view.percent_of_window,
        "efficiency": lambda op: op.view.efficiency_percent,
        "gap": lambda op: None if op.surest is None else op.exposed_ms * max(0.0, 1 - op.surest),
    }
    key, sign = keys[asked.sort_by], 1 if asked.ascending else -1

    def order(row: int) -> tuple[float, int]:
        value = key(facts[row])
        return (math.inf if value is None else sign * value, row)  # unknown last either way

    found.sort(key=lambda one: order(one.row))
    return {
        "matching": len(found),
        "operations": [
            {
                "row": one.row,
                "args": plain(one.args, NAME_LIMIT),
                "bound": one.efficiency.bound_type,
                "library": one.library,
                "citable": {name: _short(value) for name, value in operation_ids(one).items()},
            }
            for one in found[: asked.limit]
        ],
    }


def query_kernels(assignment: Assignment, asked: QueryKernels) -> Answer:
    """Return the kernels that were asked for with their time and calls; not citable."""
    sums: dict[str, tuple[float, int, list[int]]] = {}
    for op in assignment.ops:
        for kernel in op.kernels:
            time, count, rows = sums.get(kernel.name, (0.0, 0, []))
            sums[kernel.name] = (time + kernel.time_ms, count + kernel.count, [*rows, op.view.row])
    wanted = asked.name_contains.lower()
    found = [(name, *rest) for name, rest in sums.items() if wanted in name.lower()]
    found.sort(key=lambda one: (-one[1] if asked.sort_by == "time" else -one[2], one[0]))
    return {
        "matching": len(found),
        "kernels": [
            {"name": plain(name, NAME_LIMIT), "time_ms": round(time, 6), "calls": count, "rows": _ints(rows[:10])}
            for name, time, count, rows in found[: asked.limit]
        ],
    }


def operation_details(assignment: Assignment, asked: OperationDetails) -> Answer:
    """Return what is recorded of the operation; raises UserError where the category has no such row."""
    if assignment.metrics is None:
        raise UserError("a system category has no operations: its evidence is all there is")
    op = op_of(assignment, asked.row)
    metrics = next(one for one in assignment.metrics.operations if one.row == op.view.row)
    return {
        "row": op.view.row,
        "citable": {name: _short(value) for name, value in operation_ids(metrics).items()},
        "args": plain(metrics.args, 400),
        "input_dims": plain(metrics.input_dims, 400),
        "input_types": plain(metrics.input_type, 400),
        "strides": plain(str(op.strides), 400),
        "parameters": {plain(name, 40): _short(value) for name, value in list(op.params.items())[:40]},
        "mean_us": round(op.mean_us, 6),
        "roof_us": None if op.roof_us is None else round(op.roof_us, 6),
        "bytes_per_call": op.bytes,
        "spread": metrics.cov,
        "exposed_ms": op.exposed_ms,
        "kernels": [
            {"name": plain(kernel.name, NAME_LIMIT), "time_ms": round(kernel.time_ms, 6), "calls": kernel.count}
            for kernel in op.kernels[:_KERNELS_OF_ONE]
        ],
        "module_chain": [plain(one, NAME_LIMIT) for one in metrics.module_chain[:_CHAIN]],
        "call_chain": [plain(one, NAME_LIMIT) for one in metrics.call_chain[:_CHAIN]],
        "warning": metrics.efficiency_warning,
    }


def op_of(assignment: Assignment, row: int) -> OpFacts:
    """Return the operation of a row; UserError where the category has none."""
    for op in assignment.ops:
        if op.view.row == row:
            return op
    raise UserError(f"row {row} is no operation of {assignment.category}")


def _short(value: object) -> JsonValue:
    """A quantity or a name, bounded."""
    if isinstance(value, bool | int | float):
        return value
    return plain(str(value), NAME_LIMIT)


def _ints(values: Sequence[int]) -> list[JsonValue]:
    return list(values)
