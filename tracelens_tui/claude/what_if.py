"""The roofline of an operation with another data type or other shapes: computed, kept in the run, citable."""

import json
from dataclasses import replace
from typing import Literal

from pydantic import Field

from tracelens_tui.claude.queries import Answer, op_of
from tracelens_tui.errors import UserError
from tracelens_tui.perf.parse import op_args
from tracelens_tui.perf.platforms import load_platform
from tracelens_tui.perf.registry import cost_of
from tracelens_tui.perf.roofline import roof_of
from tracelens_tui.perf.types import Dims, OpArgs, Roof
from tracelens_tui.report.sources import read_csv, same
from tracelens_tui.run.findings import SCHEMA_VERSION, Evidence, Schema
from tracelens_tui.run.store import AGENTS, RunDir, ops_file
from tracelens_tui.triage.assignment import Assignment
from tracelens_tui.triage.facts import OpFacts

MOST = 12
"""What-ifs of one conversation."""
NS_PER_US = 1e3
DType = Literal["fp32", "fp16", "bf16", "fp8"]
_NAMES: dict[DType, str] = {"fp32": "float", "fp16": "c10::Half", "bf16": "c10::BFloat16", "fp8": "c10::Float8_e4m3fn"}
_FLOATING = frozenset({*_NAMES.values(), "double", "c10::Float8_e5m2", "c10::Float8_e4m3fnuz", "c10::Float8_e5m2fnuz"})


class RooflineWhatIf(Schema):
    """The least time of one call if the operation had another data type or other shapes.  The answer may be cited."""

    row: int
    dtype: DType | None = Field(default=None, description="type of all floating-point arguments")
    dims: list[list[int]] | None = Field(
        default=None, max_length=32, description="shape of every argument, [] for a scalar; as many as recorded"
    )


class WhatIf(Schema):
    """One computed case."""

    row: int
    dtype: str | None
    dims: list[list[int]] | None
    bound: str
    floor_us: float  # least time of one call as supposed
    recorded_floor_us: float
    mean_us: float  # what a call takes now


class WhatIfFile(Schema):
    """``agents/<id>/<category>_what_if.json``."""

    schema_version: int = SCHEMA_VERSION
    category: str
    cases: list[WhatIf]


class WhatIfs:
    """The cases of one conversation."""

    def __init__(self, run: RunDir, assignment: Assignment) -> None:
        self._run = run
        self._assignment = assignment
        self._cases: list[WhatIf] = []

    def ask(self, asked: RooflineWhatIf) -> tuple[Answer, list[Evidence]]:
        """Return the answer and what may be cited of it; UserError where it cannot be computed."""
        if len(self._cases) >= MOST:
            raise UserError(f"no more than {MOST} cases can be computed")
        if asked.dtype is None and asked.dims is None:
            raise UserError("give another dtype, other dims, or both")
        op = op_of(self._assignment, asked.row)
        args = self._recorded(op)
        before = self._roof(args, "as recorded")
        if op.roof_us is None or not same(before.time_ns / NS_PER_US, op.roof_us):
            raise UserError(f"the roofline of row {asked.row} cannot be computed anew from its arguments alone")
        after = self._roof(_supposed(args, asked), "as supposed")
        case = WhatIf(
            row=asked.row,
            dtype=asked.dtype,
            dims=asked.dims,
            bound=after.bound,
            floor_us=after.time_ns / NS_PER_US,
            recorded_floor_us=op.roof_us,
            mean_us=op.mean_us,
        )
        self._cases.append(case)
        path = f"{AGENTS}/{self._assignment.agent.id}/{self._assignment.category}_what_if.json"
        self._run.write_json(path, WhatIfFile(category=self._assignment.category, cases=self._cases))
        items = _evidence(len(self._cases), path, case)
        return {"bound": case.bound, "citable": {item.id: item.value for item in items}, "unit": "µs"}, items

    def _recorded(self, op: OpFacts) -> OpArgs:
        rows = read_csv(self._run.absolute(ops_file(self._assignment.category)))
        row = next(one for one in rows if one["row"] == str(op.view.row))
        columns = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
        dims, types, strides, concrete = (row.get(name, "") for name in columns)
        return op_args(op.name, dims, types, strides, concrete, [kernel.name for kernel in op.kernels])

    def _roof(self, args: OpArgs, how: str) -> Roof:
        platform = self._assignment.run.platform
        if platform is None:
            raise UserError("the GPU's peak rates are not known")
        cost = cost_of(args)
        roof = None if cost is None else roof_of(cost, load_platform(platform))
        if roof is None:
            raise UserError(f"no roofline can be computed for {op_name(args)} {how}")
        return roof


def op_name(args: OpArgs) -> str:
    """Return the operation's name, quoted."""
    return json.dumps(args.name[:80])


def _supposed(args: OpArgs, asked: RooflineWhatIf) -> OpArgs:
    if asked.dtype is not None:
        name = _NAMES[asked.dtype]
        args = replace(args, types=tuple(name if one in _FLOATING else one for one in args.types))
    if asked.dims is not None:
        if len(asked.dims) != len(args.dims):
            raise UserError(f"the operation has {len(args.dims)} arguments, and dims has {len(asked.dims)}")
        if any(side < 0 or side > 1 << 40 for shape in asked.dims for side in shape):
            raise UserError("a side of a shape lies between 0 and 2**40")
        dims: Dims = tuple(tuple(shape) for shape in asked.dims)
        args = replace(args, dims=dims, strides=())
    return args


def _evidence(number: int, path: str, case: WhatIf) -> list[Evidence]:
    labels = {
        "floor": ("least time of one call as supposed", "floor_us"),
        "recorded_floor": ("least time of one call as recorded", "recorded_floor_us"),
        "mean": ("mean time of one call", "mean_us"),
    }
    return [
        Evidence(
            id=f"w{number}.{name}",
            label=label,
            value=getattr(case, field),
            unit="µs",
            digits=1,
            source=path,
            key=f"cases[{number - 1}].{field}",
        )
        for name, (label, field) in labels.items()
    ]
