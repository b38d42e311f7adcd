"""Which ops the autograd engine runs to compute gradients, and whether a forward op can have made one of them.

The engine surrounds each *node* (``MmBackward0``) with an op of its own that also runs the node's hooks.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracelens_tui.trace.tree import EventTree
from tracelens_tui.trace.types import Kind, Trace

Int64 = NDArray[np.int64]
Bool = NDArray[np.bool_]

_ENGINE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True, slots=True)
class BackwardOps:
    """Which events are the nodes of the autograd graph at work, and which the engine's ops around them."""

    node: Bool
    engine: Bool

    @property
    def some(self) -> bool:
        """Whether there are any."""
        return bool(self.node.any() or self.engine.any())


def backward_ops(trace: Trace, tree: EventTree) -> BackwardOps:
    """Return the backward ops of a trace.

    They are known by the ordinal of the thread that made the node, which only they have, or by the engine's name.
    """
    cpu_op = trace.events["kind"].to_numpy() == Kind.CPU_OP
    by_ordinal = cpu_op & (trace.events["fwd_thread"].to_numpy() > 0)
    engine_names = trace.names.str.starts_with(_ENGINE).to_numpy()
    if not engine_names.any():
        return BackwardOps(by_ordinal, np.zeros(len(trace), bool))
    name = trace.events["name"].to_numpy()
    engine = cpu_op & engine_names[name]
    node = by_ordinal & ~engine
    inner = np.flatnonzero(cpu_op & (tree.parent >= 0) & engine[tree.parent])
    node[inner[name[inner] == _node_names(trace.names)[name[tree.parent[inner]]]]] = True
    return BackwardOps(node, engine)


def _node_names(names: pl.Series) -> Int64:
    """For each name of an op of the engine the code of the name of the node inside, -1 none."""
    codes = pl.DataFrame({"name": names, "code": np.arange(len(names))}).unique("name", keep="first")
    inside = names.to_frame("full").select(name=pl.col("full").str.strip_prefix(_ENGINE))
    return inside.join(codes, on="name", how="left", maintain_order="left")["code"].fill_null(-1).to_numpy()


@dataclass(frozen=True, slots=True)
class MadeBy:
    """Tells from two names whether an op can have made a node.

    The nodes that PyTorch generates are named after the op that makes them, ``aten::mm`` and ``MmBackward0``, and its
    own ops make no others.  Of other nodes and ops the names say nothing.
    """

    _code: Int64  # ascending codes of the names that are known
    _as_op: Int64  # number of the text that names of op and node have in common
    _as_node: Int64
    _builtin: Bool  # PyTorch's own op
    _generated: Bool

    @classmethod
    def of(cls, names: pl.Series, codes: NDArray[np.integer]) -> "MadeBy":
        """Return the test for events with these names (rows of ``names``)."""
        known = np.unique(codes).astype(np.int64)
        text = names.gather(known)
        node = text.str.strip_prefix(_ENGINE)
        stems = pl.concat([_stem(text, "_forward_?$"), _stem(node, r"Backwards?\d*$")])
        number = stems.rank("dense").to_numpy().astype(np.int64)
        return cls(
            known,
            number[: len(known)],
            number[len(known) :],
            text.str.starts_with("aten::").to_numpy(),
            node.str.contains(r"Backward\d+$").to_numpy(),
        )

    def __call__(self, op: NDArray[np.integer], node: NDArray[np.integer]) -> Bool:
        """Return whether ops can have made nodes, both given by the codes of their names, one to one."""
        op, node = np.searchsorted(self._code, op), np.searchsorted(self._code, node)
        named_after = self._as_op[op] == self._as_node[node]
        return named_after | (~self._builtin[op] & ~self._generated[node])


def _stem(names: pl.Series, ending: str) -> pl.Series:
    """The names without name space, ending and underscores, in lower case."""
    plain = names.str.replace(r"(?s)^.*::", "").str.replace(ending, "")
    return plain.str.replace_all("_", "", literal=True).str.to_lowercase()
