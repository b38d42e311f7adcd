"""Where an op was called from: the Python function, the modules around it, the chain of calls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracelens_tui.text import plain
from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Kind, Trace

NOT_FOUND = "—"
CHAIN_LIMIT = 30
NAME_LIMIT = 200

_MODULE = re.compile(r"^nn\.Module: (.+?)(_\d+)?$")
_FRAME = re.compile(r"\.py\(\d+\): ")
_DISPATCH = re.compile(
    r"torch/(nn/modules/module|_ops|_dynamo/eval_frame|overrides|utils/_contextlib|utils/_device|_functorch/\w+)\.py"
    r"|torch/(autograd|fx|_inductor/graph)\S*\.py"
)
"""Frames that only pass the call on."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a call came from; every name is plain text."""

    path: str  # nearest Python function, "—" where none was recorded
    modules: tuple[str, ...]  # class names of the modules around it, outermost first
    chain: tuple[str, ...]  # the events around it, outermost first, without those that only dispatch


def origins(trace: Trace, tree: EventTree, events: Sequence[int]) -> list[Origin]:
    """Return where each event was called from."""
    chains = [tree.ancestors(event)[::-1] for event in events]
    wanted = sorted({event for chain in chains for event in chain})
    rows = trace.events.select("name", "kind")[wanted]
    names = dict(zip(wanted, trace.names.gather(rows["name"]).to_list(), strict=True))
    kinds = dict(zip(wanted, rows["kind"].to_list(), strict=True))
    return [_origin([(names[event], kinds[event]) for event in chain]) for chain in chains]


def module_class(name: str) -> str | None:
    """Return the class of a module event: ``nn.Module: Linear_3`` -> ``Linear``; None for anything else."""
    found = _MODULE.match(name)
    return plain(found.group(1), NAME_LIMIT) if found else None


def is_user_frame(name: str) -> bool:
    """True for a Python function in a file, unless it only passes calls on."""
    return _FRAME.search(name) is not None and _DISPATCH.search(name) is None


def _origin(chain: list[tuple[str, int]]) -> Origin:
    frames = [name for name, kind in chain if kind == Kind.PYTHON_FUNCTION and is_user_frame(name)]
    modules = tuple(found for name, _ in chain if (found := module_class(name)))
    kept = [name for name, kind in chain if kind != Kind.PYTHON_FUNCTION or is_user_frame(name) or module_class(name)]
    return Origin(
        path=plain(frames[-1], NAME_LIMIT) if frames else " > ".join(modules[:3]) or NOT_FOUND,
        modules=modules,
        chain=tuple(plain(name, NAME_LIMIT) for name in kept[-CHAIN_LIMIT:]),
    )
